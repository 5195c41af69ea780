// Numbers of a grid as coloured cells of an HTML page: a result over two parameters, or correlations. The
// colours grow lighter with the value and read the same in grey (viridis); with `diverging` they run from
// blue through white to red, for numbers around zero. A cell without a value is hatched, a marked one has a
// cross.
//
// Where there is room each cell shows its number. Of more than `most_cells` rows or columns only as many are
// drawn, evenly taken, and the caption says so.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tellegen {

struct HeatMap {
  struct Point {
    std::string name;
    double column, row;  // in cells: 0 is the middle of the first one
  };
  std::string title, caption;
  std::string x_label, y_label;               // empty: the names say it
  std::vector<std::string> x, y;              // names of the columns and rows; the first row is at the top
  std::vector<double> z;                      // row by row; not a number: hatched
  std::vector<bool> marked;                   // as z, or empty
  std::string mark_name;                      // what a cross says
  bool diverging = false;                     // and then from -largest to largest
  std::pair<double, double> range{0.0, 0.0};  // of the colours; both zero: that of the values
  std::vector<Point> points;
};

constexpr std::size_t most_cells = 150;

std::string to_html(const HeatMap& map);
std::string to_svg(const HeatMap& map);

}  // namespace tellegen
