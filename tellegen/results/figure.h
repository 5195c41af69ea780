// Curves as a figure of an HTML page: lines, bands of confidence, a dashed truth, levels; axes with their
// units, plain or logarithmic. Drawn here, as SVG: no other program is needed.
//
// A curve longer than the picture can show keeps the lowest and the highest value of each column of pixels,
// so no peak is lost. A value that is not a number interrupts the curve.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tellegen {

struct FigureLine {
  enum class Look { line, thin, truth, level, steps, dots } look = Look::line;
  std::string name;  // in the legend; empty: not there
  std::vector<double> x, y;
  int colour = 0;
  bool points = false;  // each value is marked, too; of dots there is nothing else
};

struct FigureBand {
  std::string name;
  std::vector<double> x, low, high;
  int colour = 0;
};

struct Figure {
  std::string title, caption;
  std::string x_label, y_label;  // with their units
  bool log_x = false, log_y = false;
  std::vector<FigureBand> bands;  // below the lines
  std::vector<FigureLine> lines;
  int height = 270;                             // where 480 is the width
  std::pair<double, double> y_range{0.0, 0.0};  // both zero: as the values ask for
};

std::string to_html(const Figure& figure);
std::string to_svg(const Figure& figure, bool alone = false);  // alone: a file by itself

// Which of the values are kept where `columns` pixel columns are drawn from `low` to `high`, in order.
std::vector<std::size_t> thinned(const std::vector<double>& x, const std::vector<double>& y, double low,
                                 double high, int columns);

// Round numbers that divide an axis, about `count` of them.
std::vector<double> axis_ticks(double low, double high, int count);

}  // namespace tellegen
