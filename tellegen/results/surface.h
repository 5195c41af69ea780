// A value over two others as a picture, by the program gnuplot: colours with contour lines, and marked
// points.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct Surface {
  struct Mark {
    std::string name;
    double x, y;
  };
  std::string title, x_label, y_label, z_label;
  std::vector<double> x, y;
  std::vector<double> z;  // row by row, one row for each y; NaN: a hole
  std::vector<Mark> marks;
};

std::string to_html(const Surface& surface);  // a heat map of a page

void write_surface(const std::filesystem::path& path, const Surface& surface);  // as write_plot()

std::string surface_script(const std::filesystem::path& picture, bool png, const Surface& surface);

}  // namespace tellegen
