#include "tellegen/results/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/results/html.h"

namespace tellegen {
namespace {

constexpr double width = 480.0, left = 62.0, right = 10.0, top = 10.0, bottom = 46.0;
constexpr int columns_drawn = 816;  // two for each unit: enough for a fine screen
constexpr int colours = 6;
constexpr double infinity = std::numeric_limits<double>::infinity();

// An axis from data to units of the picture.
struct FigureAxis {
  double low = infinity, high = -infinity;
  double from = 0.0, to = 1.0;
  bool logarithmic = false;

  bool fits(double value) const { return std::isfinite(value) && (!logarithmic || value > 0.0); }
  double scaled(double value) const { return logarithmic ? std::log10(value) : value; }
  void include(double value) {
    if (!fits(value)) return;
    low = std::min(low, scaled(value));
    high = std::max(high, scaled(value));
  }
  void settle(double margin) {
    if (!(low <= high)) low = 0.0, high = 1.0;
    const double size = std::max(std::abs(low), std::abs(high));
    // What differs by rounding only is one value.
    if (high - low <= 1e-9 * size || high == low) {
      const double room = logarithmic ? 0.5 : (size > 0.0 ? 0.01 * size : 1.0);
      low -= room, high += room;
    }
    const double room = margin * (high - low);
    low -= room, high += room;
  }
  double place(double value) const { return from + (scaled(value) - low) / (high - low) * (to - from); }
};

// A number of an axis, no longer than its neighbours ask for.
std::string tick_text(double value, double step) {
  if (std::abs(value) < 1e-9 * step) return "0";
  const double size = std::max(std::abs(value), step);
  if (size >= 1e6 || step < 1e-5) return fmt::format("{:.3g}", value);
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

// 1e-08 as 1e-8.
std::string decade_text(double value) {
  std::string text = fmt::format("{:g}", value);
  if (const auto e = text.find('e'); e != std::string::npos) {
    if (text[e + 1] == '+') text.erase(e + 1, 1);
    const std::size_t digits = e + (text[e + 1] == '-' ? 2 : 1);
    if (text[digits] == '0') text.erase(digits, 1);
  }
  return text;
}

struct Tick {
  double place;
  std::string text;
};

std::vector<Tick> ticks_of(const FigureAxis& axis, int count) {
  std::vector<Tick> ticks;
  if (!axis.logarithmic) {
    const std::vector<double> at = axis_ticks(axis.low, axis.high, count);
    const double step = at.size() > 1 ? at[1] - at[0] : 1.0;
    for (double value : at) ticks.push_back({axis.place(value), tick_text(value, step)});
    return ticks;
  }
  const int first = static_cast<int>(std::ceil(axis.low - 1e-9)),
            last = static_cast<int>(std::floor(axis.high + 1e-9));
  const bool few = last - first < 2;
  const int stride = std::max(1, (last - first + count) / count);
  for (int decade = first - 1; decade <= last; ++decade)
    for (double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1.0 && !few) continue;
      if (factor == 1.0 && (decade - first) % stride != 0) continue;
      const double value = factor * std::pow(10.0, decade), scaled = std::log10(value);
      if (scaled < axis.low - 1e-9 || scaled > axis.high + 1e-9) continue;
      ticks.push_back({axis.place(value), decade_text(value)});
    }
  return ticks;
}

class FigureWriter {
 public:
  explicit FigureWriter(const Figure& figure) : figure_(figure), height_(figure.height) {
    x_.from = left, x_.to = width - right, x_.logarithmic = figure.log_x;
    y_.from = height_ - bottom, y_.to = top, y_.logarithmic = figure.log_y;
    for (const FigureBand& band : figure.bands) {
      for (double x : band.x) x_.include(x);
      for (double y : band.low) y_.include(y);
      for (double y : band.high) y_.include(y);
    }
    for (const FigureLine& line : figure.lines) {
      for (double x : line.x) x_.include(x);
      for (double y : line.y) y_.include(y);
    }
    if (figure.y_range.first < figure.y_range.second) {
      y_.low = y_.scaled(figure.y_range.first), y_.high = y_.scaled(figure.y_range.second);
      clipped_ = true;
    } else {
      y_.settle(0.05);
    }
    x_.settle(0.0);
  }

  std::string svg(bool alone) {
    // Inside a page the name of the language is known.
    std::string text = fmt::format("<svg{} viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n",
                                   alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height_,
                                   escaped(figure_.title.empty() ? figure_.y_label : figure_.title));
    if (alone)
      text += fmt::format("<style>{}</style>\n<rect width=\"{:g}\" height=\"{:g}\" fill=\"var(--card)\"/>\n",
                          figure_style(), width, height_);
    text += axes();
    for (const FigureBand& band : figure_.bands) text += band_path(band);
    for (const FigureLine& line : figure_.lines) text += line_path(line);
    return text + "</svg>\n";
  }

 private:
  std::string axes() const {
    std::string text;
    const double floor = height_ - bottom;
    for (const Tick& tick : ticks_of(y_, 5))
      text += fmt::format(
          "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          left, tick.place, width - right, left - 6, tick.place + 4.5, tick.text);
    for (const Tick& tick : ticks_of(x_, 6))
      text += fmt::format(
          "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
          "text-anchor=\"{4}\">{5}</text>\n",
          tick.place, top, floor, floor + 17, tick.place > width - right - 12 ? "end" : "middle", tick.text);
    text += fmt::format("<path class=\"frame\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left, top, floor,
                        width - right);
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                        (left + width - right) / 2, height_ - 8, escaped(figure_.x_label));
    return text;
  }

  double x_at(double value) const { return x_.place(value); }
  double y_at(double value) const {
    const double at = y_.place(value);
    return clipped_ ? std::clamp(at, top, height_ - bottom) : at;
  }
  bool drawable(double x, double y) const { return x_.fits(x) && y_.fits(y); }

  double low_x() const { return x_.logarithmic ? std::pow(10.0, x_.low) : x_.low; }
  double high_x() const { return x_.logarithmic ? std::pow(10.0, x_.high) : x_.high; }
  std::vector<std::size_t> kept(const std::vector<double>& x, const std::vector<double>& y) const {
    if (!x_.logarithmic) return thinned(x, y, low_x(), high_x(), columns_drawn);
    std::vector<double> scaled(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) scaled[k] = x[k] > 0.0 ? std::log10(x[k]) : x_.low;
    return thinned(scaled, y, x_.low, x_.high, columns_drawn);
  }

  // Of a cloud of points, evenly taken: more would not be seen, and a page of them would not open.
  static std::vector<std::size_t> some_of(std::size_t count) {
    constexpr std::size_t most = 4000;
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < std::min(count, most); ++k)
      chosen.push_back(count <= most ? k : k * count / most);
    return chosen;
  }

  std::string line_path(const FigureLine& line) const {
    std::string d, marks;
    bool drawing = false;
    const bool dots = line.look == FigureLine::Look::dots;
    for (std::size_t k : dots ? some_of(line.x.size()) : kept(line.x, line.y)) {
      if (!drawable(line.x[k], line.y[k])) {
        drawing = false;
        continue;
      }
      const double x = x_at(line.x[k]), y = y_at(line.y[k]);
      if (drawing && line.look == FigureLine::Look::steps) d += fmt::format("H{:.1f}", x);
      d += fmt::format("{}{:.1f} {:.1f}", drawing ? 'L' : 'M', x, y);
      if (line.points || dots)
        marks += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"/>",
                             line.colour % colours, x, y);
      drawing = true;
    }
    if (d.empty() || dots) return marks;
    using Look = FigureLine::Look;
    const std::string look = line.look == Look::truth   ? "line truth"
                             : line.look == Look::level ? fmt::format("line level s{}", line.colour % colours)
                             : line.look == Look::thin  ? fmt::format("line thin s{}", line.colour % colours)
                                                        : fmt::format("line s{}", line.colour % colours);
    return fmt::format("<path class=\"{}\" d=\"{}\"/>{}\n", look, d, marks);
  }

  std::string band_path(const FigureBand& band) const {
    std::string text;
    // Stretches without a hole; the outermost values of each column of pixels.
    for (std::size_t begin = 0; begin < band.x.size();) {
      const auto fine = [&](std::size_t k) {
        return drawable(band.x[k], band.low[k]) && drawable(band.x[k], band.high[k]);
      };
      if (!fine(begin)) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      while (end < band.x.size() && fine(end)) ++end;
      std::string there, back;
      std::vector<std::pair<double, double>> below;
      std::size_t k = begin;
      while (k < end) {
        const double x = x_at(band.x[k]);
        double low = band.low[k], high = band.high[k];
        const double column = std::floor(x * 2.0);
        std::size_t next = k + 1;
        for (; next < end && std::floor(x_at(band.x[next]) * 2.0) == column; ++next) {
          low = std::min(low, band.low[next]);
          high = std::max(high, band.high[next]);
        }
        there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? 'M' : 'L', x, y_at(high));
        below.emplace_back(x, y_at(low));
        k = next;
      }
      for (auto at = below.rbegin(); at != below.rend(); ++at)
        back += fmt::format("L{:.1f} {:.1f}", at->first, at->second);
      text += fmt::format("<path class=\"band f{}\" d=\"{}{}Z\"/>\n", band.colour % colours, there, back);
      begin = end;
    }
    return text;
  }

  const Figure& figure_;
  double height_;
  FigureAxis x_, y_;
  bool clipped_ = false;
};

std::string key(std::string_view drawing, const std::string& name) {
  return fmt::format("<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\">{}</svg>{}</li>\n", drawing,
                     escaped(name));
}

std::string legend(const Figure& figure) {
  std::string text;
  using Look = FigureLine::Look;
  for (const FigureLine& line : figure.lines) {
    if (line.name.empty()) continue;
    if (line.look == Look::dots) {
      text += key(fmt::format("<circle class=\"f{}\" cx=\"13\" cy=\"6\" r=\"3.5\"/>", line.colour % colours),
                  line.name);
      continue;
    }
    const char* look = line.look == Look::truth ? "truth" : line.look == Look::level ? "level" : "";
    text += key(fmt::format("<path class=\"line {} {}\" d=\"M0 6H26\"/>", look,
                            line.look == Look::truth ? "" : fmt::format("s{}", line.colour % colours)),
                line.name);
  }
  for (const FigureBand& band : figure.bands)
    if (!band.name.empty())
      text += key(
          fmt::format("<rect class=\"band f{}\" y=\"1\" width=\"26\" height=\"10\"/>", band.colour % colours),
          band.name);
  return text.empty() ? "" : "<ul class=\"legend\">\n" + text + "</ul>\n";
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low) || count < 1) return ticks;
  const double raw = (high - low) / count, decade = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10.0 * decade;
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= raw * (1.0 - 1e-9)) {
      step = factor * decade;
      break;
    }
  const auto first = static_cast<long long>(std::ceil(low / step - 1e-9)),
             last = static_cast<long long>(std::floor(high / step + 1e-9));
  for (long long k = first; k <= last && k - first < 100; ++k) ticks.push_back(static_cast<double>(k) * step);
  return ticks;
}

std::vector<std::size_t> thinned(const std::vector<double>& x, const std::vector<double>& y, double low,
                                 double high, int columns) {
  const std::size_t count = std::min(x.size(), y.size());
  std::vector<std::size_t> kept;
  const auto column_of = [&](std::size_t k) { return std::floor((x[k] - low) / (high - low) * columns); };
  for (std::size_t begin = 0; begin < count;) {
    const double column = column_of(begin);
    std::size_t lowest = begin, highest = begin, end = begin, hole = count;
    for (; end < count && !(column_of(end) != column); ++end) {
      if (!std::isfinite(y[end])) {
        if (hole == count) hole = end;
        continue;
      }
      if (!std::isfinite(y[lowest]) || y[end] < y[lowest]) lowest = end;
      if (!std::isfinite(y[highest]) || y[end] > y[highest]) highest = end;
    }
    if (end == begin) end = begin + 1;  // x is not a number
    // Of a hole one row is enough to interrupt the curve, where all of the column is a hole.
    kept.push_back(std::min(lowest, highest));
    if (lowest != highest) kept.push_back(std::max(lowest, highest));
    if (hole < count && hole != kept.back() && !std::isfinite(y[end - 1])) kept.push_back(end - 1);
    begin = end;
  }
  return kept;
}

std::string to_svg(const Figure& figure, bool alone) { return FigureWriter(figure).svg(alone); }

std::string to_html(const Figure& figure) {
  std::string html = "<figure>\n";
  const std::string title = figure.y_label.empty() || figure.y_label == figure.title ? figure.title
                            : figure.title.empty()                                   ? figure.y_label
                                                   : figure.title + ", " + figure.y_label;
  if (!title.empty()) html += "<p class=\"figure-title\">" + escaped(title) + "</p>\n";
  html += legend(figure) + to_svg(figure);
  if (!figure.caption.empty()) html += "<figcaption>" + escaped(figure.caption) + "</figcaption>\n";
  return html + "</figure>\n";
}

}  // namespace tellegen
