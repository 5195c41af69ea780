// Pictures by the program gnuplot: what all of them share.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tellegen {

// Runs the script made for `picture`, where gnuplot is to write; an existing `path` is replaced only by a
// complete picture. By the extension: .svg or .png. Throws std::runtime_error where gnuplot is missing or
// fails.
void draw_picture(const std::filesystem::path& path,
                  const std::function<std::string(const std::filesystem::path& picture, bool png)>& script);

// A text as a script has it, in quotes.
std::string gnuplot_text(const std::string& text);

inline constexpr int title_height = 44;

// The colour of the k-th curve.
std::string plot_colour(std::size_t k);

}  // namespace tellegen
