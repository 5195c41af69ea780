// A trajectory as a picture, by the program gnuplot: one panel for each unit, stacked over a common time
// axis; a reference, where there is one, dashed on top of the columns it shares.
//
// Curves longer than the picture can show are thinned to the lowest and highest value of each pixel column:
// no peak is lost, and a million rows still make a small file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tellegen/results/trajectory.h"

namespace tellegen {

struct PlotOptions {
  std::string title = {};
  std::vector<std::string> columns = {};  // to draw; empty: all
  const Trajectory* reference = nullptr;  // matched by column name
  int width = 900;
  int height = 0;  // 0: by the number of panels
};

// By the extension: .svg or .png. Throws std::runtime_error where gnuplot is missing or fails; an existing
// picture is then untouched.
void write_plot(const std::filesystem::path& path, const Trajectory& trajectory,
                const PlotOptions& options = {});

// The program handed to gnuplot; `output` is the picture it writes.
std::string plot_script(const std::filesystem::path& output, bool png, const Trajectory& trajectory,
                        const PlotOptions& options);

}  // namespace tellegen
