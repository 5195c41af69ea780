#include "tellegen/results/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/results/figure.h"
#include "tellegen/results/html.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

constexpr double bars_width = 480.0, number_room = 66.0, bar_height = 14.0, name_height = 18.0;
constexpr int bar_colours = 6;

}  // namespace

std::string to_svg(const BarFigure& figure) {
  double low = 0.0, high = 0.0;
  const auto include = [&](double value) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  };
  for (const BarFigure::Series& series : figure.series)
    for (const auto* list : {&series.values, &series.low, &series.high})
      for (const double value : *list) include(value);
  if (low == high) high = 1.0;
  const double from = 6.0, to = bars_width - number_room;
  const auto place = [&](double value) { return from + (value - low) / (high - low) * (to - from); };
  const double group = name_height + bar_height * static_cast<double>(figure.series.size()) + 5.0;
  const double floor = 4.0 + group * static_cast<double>(figure.names.size());
  std::string text = fmt::format("<svg viewBox=\"0 0 {:g} {:.1f}\" role=\"img\" aria-label=\"{}\">\n",
                                 bars_width, floor + 24.0, escaped(figure.title));
  for (const double tick : axis_ticks(low, high, 5))
    text += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} 4V{1:.1f}\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" "
        "text-anchor=\"middle\">{3}</text>\n",
        std::max(place(tick), 6.0), floor, floor + 17.0, brief_number(tick + 0.0, 4));
  for (std::size_t n = 0; n < figure.names.size(); ++n) {
    double y = 4.0 + group * static_cast<double>(n) + name_height;
    text += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", from, y - 4.0,
                        escaped(figure.names[n]));
    for (std::size_t s = 0; s < figure.series.size(); ++s, y += bar_height) {
      const BarFigure::Series& series = figure.series[s];
      const double value = n < series.values.size() ? series.values[n] : std::nan("");
      if (!std::isfinite(value)) continue;
      text +=
          fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                      s % bar_colours, place(std::min(0.0, value)), y,
                      std::max(0.6, place(std::abs(value)) - place(0.0)), bar_height - 2.0);
      if (n < series.low.size() && n < series.high.size() && std::isfinite(series.low[n]) &&
          std::isfinite(series.high[n]))
        text += fmt::format("<path class=\"plate\" style=\"stroke-width:1\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>",
                            place(series.low[n]), y + bar_height / 2 - 1.0, place(series.high[n]));
      text += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                          bars_width - 4.0, y + bar_height - 2.0, brief_number(value + 0.0, 3));
    }
  }
  return text + fmt::format("<path class=\"frame\" d=\"M{:.1f} 4V{:.1f}\"/>\n</svg>\n", place(0.0), floor);
}

std::string to_html(const BarFigure& figure) {
  std::string html = "<figure>\n";
  if (!figure.title.empty()) html += "<p class=\"figure-title\">" + escaped(figure.title) + "</p>\n";
  std::string keys;
  for (std::size_t s = 0; s < figure.series.size(); ++s)
    if (!figure.series[s].name.empty())
      keys += fmt::format(
          "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\"><rect class=\"f{}\" y=\"2\" "
          "width=\"26\" height=\"8\"/></svg>{}</li>\n",
          s % bar_colours, escaped(figure.series[s].name));
  if (!keys.empty()) html += "<ul class=\"legend\">\n" + keys + "</ul>\n";
  html += to_svg(figure);
  if (!figure.caption.empty()) html += "<figcaption>" + escaped(figure.caption) + "</figcaption>\n";
  return html + "</figure>\n";
}

}  // namespace tellegen
