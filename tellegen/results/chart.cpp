#include "tellegen/results/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tellegen/results/gnuplot.h"

namespace tellegen {
namespace {

constexpr int panel_width = 420, wide_panel = 900, chart_panel_height = 320;
constexpr std::size_t most_named = 8;  // curves in a legend

std::string block_name(std::size_t panel, std::size_t series) {
  return fmt::format("$p{}s{}", panel, series);
}

// x y low high, a line each; a missing value is an empty line, which interrupts a curve.
std::string data_block(const ChartPanel& panel, const ChartSeries& series) {
  std::string text;
  const bool bars = panel.what == ChartPanel::What::bars;
  for (std::size_t k = 0; k < series.y.size(); ++k) {
    const double y = series.y[k];
    if (!std::isfinite(y)) {
      text += bars ? fmt::format("{} 0 0 0\n", k) : "\n";
      continue;
    }
    const auto end = [&](const std::vector<double>& ends) {
      return k < ends.size() && std::isfinite(ends[k]) ? ends[k] : y;
    };
    text += fmt::format("{:.9g} {:.7g} {:.7g} {:.7g}\n", bars ? static_cast<double>(k) : series.x[k], y,
                        end(series.low), end(series.high));
  }
  return text;
}

bool has_points(const ChartPanel& panel) {
  for (const ChartSeries& series : panel.series)
    for (const double y : series.y)
      if (std::isfinite(y)) return true;
  return false;
}

std::string bars_of(std::size_t p, const ChartPanel& panel) {
  // Side by side within 0.8 of the distance of two names.
  const double width = 0.8 / static_cast<double>(panel.series.size());
  std::string text = fmt::format("set boxwidth {:.4f}\nset style fill solid 0.85 noborder\n", width);
  text += "set xtics (";
  for (std::size_t k = 0; k < panel.names.size(); ++k)
    text += fmt::format("{}{} {}", k == 0 ? "" : ", ", gnuplot_text(panel.names[k]), k);
  text += fmt::format(")\nset xrange [-0.6:{:.1f}]\n", static_cast<double>(panel.names.size()) - 0.4);
  text += "set xzeroaxis lt 1 lw 1 lc rgb '#555555'\nplot ";
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const ChartSeries& series = panel.series[s];
    const double shift = (static_cast<double>(s) + 0.5) * width - 0.4;
    text += fmt::format("{}{} using ($1{:+.4f}):2 with boxes lc rgb '{}' title {}", s == 0 ? "" : ", ",
                        block_name(p, s), shift, plot_colour(s), gnuplot_text(series.name));
    if (!series.low.empty())
      text += fmt::format(", {} using ($1{:+.4f}):2:3:4 with yerrorbars lw 1.3 ps 0 lc rgb '#222222' notitle",
                          block_name(p, s), shift);
  }
  return text + "\n";
}

std::string curves_of(std::size_t p, const ChartPanel& panel) {
  std::string text = "set xtics autofreq\nset xrange [*:*] noextend\n";
  text += "set format x '%g'\n";
  if (panel.log_x) text += "set logscale x\n";
  text += "plot ";
  const bool points = panel.what == ChartPanel::What::points;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const std::string& name = panel.series[s].name;
    // Too many for a legend: the first and the last say in which order the others stand.
    const bool named =
        !name.empty() && (panel.series.size() <= most_named || s == 0 || s + 1 == panel.series.size());
    const std::string colour = panel.series.size() <= most_named
                                   ? plot_colour(s)
                                   : fmt::format("#{:02x}72{:02x}", s * 213 / (panel.series.size() - 1),
                                                 178 - s * 178 / (panel.series.size() - 1));
    text += fmt::format("{}{} using 1:2 with {} lc rgb '{}' {}", s == 0 ? "" : ", ", block_name(p, s),
                        !points                          ? "linespoints pt 7 ps 0.35 lw 1.6"
                        : panel.series[s].x.size() > 100 ? "points pt 7 ps 0.3"
                                                         : "points pt 7 ps 0.8",
                        colour, named ? "title " + gnuplot_text(name) : "notitle");
  }
  text += "\n";
  if (panel.log_x) text += "unset logscale x\n";
  return text;
}

}  // namespace

std::string chart_script(const std::filesystem::path& picture, bool png, const Chart& chart) {
  const int columns = std::max(1, std::min(chart.columns, static_cast<int>(chart.panels.size())));
  const int rows = (static_cast<int>(chart.panels.size()) + columns - 1) / columns;
  const int width = columns == 1 ? wide_panel : columns * panel_width;
  const int height = title_height + rows * chart_panel_height;
  std::string text;
  for (std::size_t p = 0; p < chart.panels.size(); ++p)
    for (std::size_t s = 0; s < chart.panels[p].series.size(); ++s)
      text += fmt::format("{} << EOD\n{}EOD\n", block_name(p, s),
                          data_block(chart.panels[p], chart.panels[p].series[s]));
  text += fmt::format("set terminal {} size {},{} noenhanced font 'sans,{}' background '#ffffff'{}\n",
                      png ? "pngcairo" : "svg", width, height, png ? 10 : 13, png ? "" : " dynamic");
  text += "set output " + gnuplot_text(picture.string()) + "\nset encoding utf8\nset multiplot\n";
  text += "set border 3 lw 1 lc rgb '#555555'\nset tics nomirror out scale 0.6 tc rgb '#333333'\n";
  text += "set grid xtics ytics lt 1 lw 0.6 lc rgb '#dddddd'\n";
  text += "set key noautotitle above left horizontal Left reverse samplen 1.8 tc rgb '#333333'\n";
  text += fmt::format("set label 1 {} at screen {:.5f},{:.5f} left font ',{}' tc rgb '#111111'\n",
                      gnuplot_text(chart.title), 20.0 / width, 1.0 - 22.0 / height, png ? 13 : 17);
  for (std::size_t p = 0; p < chart.panels.size(); ++p) {
    const ChartPanel& panel = chart.panels[p];
    const int column = static_cast<int>(p) % columns, row = static_cast<int>(p) / columns;
    const double high = static_cast<double>(chart_panel_height) / height, wide = 1.0 / columns;
    text += fmt::format("set size {:.5f},{:.5f}\nset origin {:.5f},{:.5f}\n", wide, high, column * wide,
                        (rows - 1 - row) * high);
    text += fmt::format("set xlabel {} tc rgb '#333333'\nset ylabel {} tc rgb '#333333'\n",
                        gnuplot_text(panel.x_label), gnuplot_text(panel.y_label));
    // Without a range of its own gnuplot refuses a panel that has nothing to show.
    text += has_points(panel) ? "set yrange [*:*]\n" : "set yrange [-1:1]\n";
    text += panel.what == ChartPanel::What::bars ? bars_of(p, panel) : curves_of(p, panel);
    text += "unset label 1\n";
  }
  return text + "unset multiplot\nunset output\n";
}

void write_chart(const std::filesystem::path& path, const Chart& chart) {
  if (chart.panels.empty()) throw std::runtime_error("cannot plot: there are no results");
  draw_picture(path, [&](const std::filesystem::path& picture, bool png) {
    return chart_script(picture, png, chart);
  });
}

}  // namespace tellegen
