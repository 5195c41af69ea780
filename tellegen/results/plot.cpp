#include "tellegen/results/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tellegen/results/gnuplot.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

constexpr int panel_height = 240, legend_row = 20, legend_gap = 12, axis_height = 52;
constexpr int left_margin = 92, right_margin = 24;

struct Panel {
  std::string unit;
  std::vector<std::size_t> columns;
};

std::vector<Panel> panels_of(const Trajectory& trajectory, const std::vector<std::string>& wanted) {
  std::vector<std::size_t> columns;
  if (wanted.empty())
    for (std::size_t c = 0; c < trajectory.columns(); ++c) columns.push_back(c);
  for (const std::string& name : wanted) {
    const auto column = trajectory.find(name);
    if (!column) throw std::runtime_error(fmt::format("cannot plot '{}': there is no such column", name));
    columns.push_back(*column);
  }
  if (columns.empty()) throw std::runtime_error("cannot plot: there are no columns");
  std::vector<Panel> panels;
  for (std::size_t c : columns) {
    const std::string unit = c < trajectory.units.size() ? trajectory.units[c] : "";
    auto panel = std::find_if(panels.begin(), panels.end(), [&](const Panel& p) { return p.unit == unit; });
    if (panel == panels.end()) panel = panels.insert(panels.end(), Panel{unit, {}});
    panel->columns.push_back(c);
  }
  return panels;
}

// One curve as a gnuplot data block. Each group of rows that falls on one pixel keeps its lowest and its
// highest row, in order; a missing value is an empty line, which interrupts the curve.
std::string curve(const Trajectory& trajectory, std::size_t column, int pixels) {
  std::string text;
  auto point = [&](std::size_t r) {
    if (std::isfinite(trajectory.at(r, column)))
      text += fmt::format("{:.9g} {:.7g}\n", trajectory.t[r], trajectory.at(r, column));
    else
      text += "\n";
  };
  const std::size_t rows = trajectory.rows();
  const std::size_t group = std::max<std::size_t>(1, rows / (2 * pixels));
  if (group <= 2) {
    for (std::size_t r = 0; r < rows; ++r) point(r);
    return text;
  }
  for (std::size_t first = 0; first < rows; first += group) {
    const std::size_t last = std::min(first + group, rows);
    std::size_t low = first, high = first;
    for (std::size_t r = first; r < last; ++r) {
      const double value = trajectory.at(r, column);
      if (!std::isfinite(trajectory.at(low, column)) || value < trajectory.at(low, column)) low = r;
      if (!std::isfinite(trajectory.at(high, column)) || value > trajectory.at(high, column)) high = r;
    }
    point(std::min(low, high));
    if (low != high) point(std::max(low, high));
  }
  return text;
}

class PlotWriter {
 public:
  PlotWriter(const Trajectory& trajectory, const PlotOptions& options)
      : trajectory_(trajectory), options_(options), panels_(panels_of(trajectory, options.columns)) {}

  std::string script(const fs::path& output, bool png) {
    const int top = options_.title.empty() ? 8 : title_height;
    int legends = 0;
    for (const Panel& panel : panels_) legends += legend_height(panel);
    const int count = static_cast<int>(panels_.size());
    height_ = options_.height > 0 ? options_.height : top + count * panel_height + legends + axis_height;
    const int each = std::max(40, (height_ - top - legends - axis_height) / count);

    for (std::size_t p = 0; p < panels_.size(); ++p) add_data(p);
    text_ +=
        fmt::format("set terminal {} size {},{} noenhanced font 'sans,{}' background '#ffffff'{}\n",
                    png ? "pngcairo" : "svg", options_.width, height_, png ? 10 : 13, png ? "" : " dynamic");
    text_ += "set output " + gnuplot_text(output.string()) + "\n";
    text_ += "set encoding utf8\nset multiplot\n";
    text_ += "set border 3 lw 1 lc rgb '#555555'\nset tics nomirror out scale 0.6 tc rgb '#333333'\n";
    text_ += "set grid xtics ytics lt 1 lw 0.6 lc rgb '#dddddd'\n";
    text_ += fmt::format("set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n",
                         double(left_margin) / options_.width, 1.0 - double(right_margin) / options_.width);
    text_ +=
        "set key noautotitle left bottom horizontal Left reverse samplen 2.2 tc rgb '#333333' maxrows 8\n";
    set_time_range();
    if (!options_.title.empty())
      text_ += fmt::format("set label 1 {} at screen {:.5f},{:.5f} left font ',{}' tc rgb '#111111'\n",
                           gnuplot_text(options_.title), double(left_margin) / options_.width, from_top(22),
                           png ? 13 : 17);
    int y = top;
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      y += legend_height(panels_[p]);
      add_panel(p, y, y + each - legend_gap);
      y += each;
    }
    return text_ + "unset multiplot\nunset output\n";
  }

 private:
  double from_top(int pixels) const { return 1.0 - double(pixels) / height_; }

  // Entries per row of the legend, by the longest name; gnuplot breaks rows by a like rule.
  int legend_height(const Panel& panel) const {
    std::size_t longest = 9;
    for (std::size_t c : panel.columns) longest = std::max(longest, trajectory_.names[c].size());
    const int entry = 55 + 9 * static_cast<int>(longest);
    const int per_row = std::max(1, (options_.width - left_margin - right_margin) / entry);
    const int entries = static_cast<int>(panel.columns.size()) + (has_reference(panel) ? 1 : 0);
    return legend_gap + legend_row * ((entries + per_row - 1) / per_row);
  }

  bool has_reference(const Panel& panel) const {
    return options_.reference && std::any_of(panel.columns.begin(), panel.columns.end(), [&](std::size_t c) {
             return options_.reference->find(trajectory_.names[c]).has_value();
           });
  }

  void add_data(std::size_t p) {
    for (std::size_t c : panels_[p].columns) {
      text_ += fmt::format("$d{} << EOD\n{}EOD\n", c, curve(trajectory_, c, options_.width));
      if (!options_.reference) continue;
      if (const auto r = options_.reference->find(trajectory_.names[c]))
        text_ += fmt::format("$r{} << EOD\n{}EOD\n", c, curve(*options_.reference, *r, options_.width));
    }
  }

  bool has_points(const Panel& panel) const {
    for (std::size_t r = 0; r < trajectory_.rows(); ++r)
      for (std::size_t c : panel.columns)
        if (std::isfinite(trajectory_.at(r, c))) return true;
    return false;
  }

  void set_time_range() {
    if (trajectory_.rows() < 2 || !(trajectory_.t.front() < trajectory_.t.back())) return;
    text_ += fmt::format("set xrange [{:.17g}:{:.17g}]\n", trajectory_.t.front(), trajectory_.t.back());
  }

  void add_panel(std::size_t p, int top, int bottom) {
    const Panel& panel = panels_[p];
    const bool last = p + 1 == panels_.size();
    text_ += fmt::format("set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n", from_top(top),
                         from_top(bottom));
    text_ += fmt::format("set key at screen {:.5f},{:.5f} width 1\n", double(left_margin) / options_.width,
                         from_top(top - 4));
    text_ +=
        last ? "set xlabel 't [s]' tc rgb '#333333'\nset format x '%g'\n" : "unset xlabel\nset format x ''\n";
    // Not a ylabel: its place would follow the width of the numbers, out of the picture for long ones.
    text_ += fmt::format("set label 2 {} at screen {:.5f},{:.5f} center rotate by 90 tc rgb '#333333'\n",
                         gnuplot_text(panel.unit.empty() ? "" : "[" + panel.unit + "]"),
                         18.0 / options_.width, from_top((top + bottom) / 2));
    // Without a range of its own gnuplot refuses a panel that has nothing to show.
    text_ += has_points(panel) ? "set yrange [*:*]\n" : "set yrange [-1:1]\n";
    std::vector<std::string> curves;
    for (std::size_t k = 0; k < panel.columns.size(); ++k) {
      const std::size_t c = panel.columns[k];
      curves.push_back(fmt::format("$d{} using 1:2 with lines lw 1.8 lc rgb '{}' title {}", c, plot_colour(k),
                                   gnuplot_text(trajectory_.names[c])));
    }
    bool named = false;
    for (std::size_t c : panel.columns) {
      if (!options_.reference || !options_.reference->find(trajectory_.names[c])) continue;
      curves.push_back(fmt::format("$r{} using 1:2 with lines lw 1.3 dt (14,12) lc rgb '#222222' {}", c,
                                   named ? "notitle" : "title 'reference'"));
      named = true;
    }
    text_ += "plot ";
    for (std::size_t k = 0; k < curves.size(); ++k) text_ += (k == 0 ? "" : ", ") + curves[k];
    text_ += "\nunset label 1\n";
  }

  const Trajectory& trajectory_;
  const PlotOptions& options_;
  std::vector<Panel> panels_;
  std::string text_;
  int height_ = 0;
};

}  // namespace

std::string plot_script(const fs::path& output, bool png, const Trajectory& trajectory,
                        const PlotOptions& options) {
  return PlotWriter(trajectory, options).script(output, png);
}

void write_plot(const fs::path& path, const Trajectory& trajectory, const PlotOptions& options) {
  if (trajectory.rows() == 0) throw std::runtime_error("cannot plot: there are no rows");
  draw_picture(path, [&](const fs::path& picture, bool png) {
    return plot_script(picture, png, trajectory, options);
  });
}

}  // namespace tellegen
