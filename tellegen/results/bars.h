// Bars from zero, one group for each name, as a figure of an HTML page: indices of sensitivity, scores. Names
// stand above their bars, so they may be long; each bar has its number.
#pragma once

#include <string>
#include <vector>

namespace tellegen {

struct BarFigure {
  struct Series {
    std::string name;
    std::vector<double> values;     // one for each name; not a number: no bar
    std::vector<double> low, high;  // ends of an interval, or nothing
  };
  std::string title, caption;
  std::vector<std::string> names;
  std::vector<Series> series;
};

std::string to_html(const BarFigure& figure);
std::string to_svg(const BarFigure& figure);

}  // namespace tellegen
