// A chart as figures of a page, where gnuplot would draw it for a file.
#include <algorithm>

#include "tellegen/results/bars.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/figure.h"
#include "tellegen/results/heat_map.h"
#include "tellegen/results/html.h"
#include "tellegen/results/surface.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

std::string bars_html(const ChartPanel& panel) {
  BarFigure figure{panel.y_label, "", panel.names, {}};
  for (const ChartSeries& series : panel.series)
    figure.series.push_back({series.name, series.y, series.low, series.high});
  if (std::any_of(panel.series.begin(), panel.series.end(),
                  [](const ChartSeries& s) { return !s.low.empty(); }))
    figure.caption = "Thin lines: intervals that hold 95 % of a bootstrap.";
  return to_html(figure);
}

std::string curves_html(const ChartPanel& panel) {
  Figure figure;
  figure.y_label = panel.y_label;
  figure.x_label = panel.x_label;
  figure.log_x = panel.log_x;
  int colour = 0;
  for (const ChartSeries& series : panel.series) {
    FigureLine line{FigureLine::Look::line, series.name, series.x, series.y, colour++, series.x.size() <= 60};
    if (panel.what == ChartPanel::What::points) line.look = FigureLine::Look::dots;
    figure.lines.push_back(std::move(line));
  }
  return to_html(figure);
}

// The cell at which a value stands, between two of them where it lies between.
double cell_of(const std::vector<double>& values, double value) {
  if (values.size() < 2) return 0.0;
  return (value - values.front()) / (values.back() - values.front()) * static_cast<double>(values.size() - 1);
}

}  // namespace

std::string to_html(const Chart& chart) {
  std::vector<std::string> figures;
  for (const ChartPanel& panel : chart.panels)
    figures.push_back(panel.what == ChartPanel::What::bars ? bars_html(panel) : curves_html(panel));
  return side_by_side(figures);
}

std::string to_html(const Surface& surface) {
  HeatMap map;
  map.title = surface.z_label;
  map.x_label = surface.x_label;
  map.y_label = surface.y_label;
  for (const double x : surface.x) map.x.push_back(brief_number(x, 3));
  const std::size_t rows = surface.y.size(), columns = surface.x.size();
  for (std::size_t r = rows; r-- > 0;) {  // upward, as in any picture
    map.y.push_back(brief_number(surface.y[r], 3));
    for (std::size_t c = 0; c < columns; ++c) map.z.push_back(surface.z[r * columns + c]);
  }
  for (const Surface::Mark& mark : surface.marks)
    map.points.push_back(
        {mark.name, cell_of(surface.x, mark.x), static_cast<double>(rows - 1) - cell_of(surface.y, mark.y)});
  return to_html(map);
}

}  // namespace tellegen
