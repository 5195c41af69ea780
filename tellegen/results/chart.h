// Results of a study as a picture, by the program gnuplot: curves and clouds of points over a parameter, and
// bars side by side for names. Panels stand in columns, row by row.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct ChartSeries {
  std::string name;
  std::vector<double> x, y;       // of bars: no x, one y for each name
  std::vector<double> low, high;  // of bars: the interval's ends, or nothing
};

struct ChartPanel {
  enum class What { lines, points, bars } what = What::lines;
  std::string x_label, y_label;
  bool log_x = false;
  std::vector<std::string> names;  // of bars
  std::vector<ChartSeries> series;
};

struct Chart {
  std::string title;
  std::vector<ChartPanel> panels;
  int columns = 1;
};

// Figures of a page: curves, points and bars as figure.h and bars.h draw them.
std::string to_html(const Chart& chart);

void write_chart(const std::filesystem::path& path, const Chart& chart);  // as write_plot()

std::string chart_script(const std::filesystem::path& picture, bool png, const Chart& chart);

}  // namespace tellegen
