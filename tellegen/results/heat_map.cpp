#include "tellegen/results/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tellegen/results/html.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

constexpr double map_width = 480.0,
                 letter = 7.6;  // of a digit, at the size of small figure texts on a small screen

using Colour = std::array<double, 3>;

// Viridis and a blue-white-red of equal ends, at evenly spaced values.
constexpr std::array<Colour, 6> sequential{
    {{68, 1, 84}, {65, 68, 135}, {42, 120, 142}, {34, 168, 132}, {122, 209, 81}, {253, 231, 37}}};
constexpr std::array<Colour, 5> around_zero{
    {{33, 102, 172}, {146, 197, 222}, {247, 247, 247}, {244, 165, 130}, {178, 24, 43}}};

template <std::size_t N>
Colour between_colours(const std::array<Colour, N>& colours, double part) {
  const double at = std::clamp(part, 0.0, 1.0) * (N - 1);
  const std::size_t k = std::min<std::size_t>(static_cast<std::size_t>(at), N - 2);
  Colour mixed;
  for (int c = 0; c < 3; ++c)
    mixed[c] = colours[k][c] + (at - static_cast<double>(k)) * (colours[k + 1][c] - colours[k][c]);
  return mixed;
}

std::string colour_text(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(std::lround(colour[0])),
                     static_cast<int>(std::lround(colour[1])), static_cast<int>(std::lround(colour[2])));
}

std::vector<std::size_t> drawn_cells(std::size_t count) {
  const std::size_t shown = std::min(count, most_cells);
  std::vector<std::size_t> cells;
  for (std::size_t k = 0; k < shown; ++k)
    cells.push_back(shown < 2 ? 0 : (k * (count - 1) + (shown - 1) / 2) / (shown - 1));
  return cells;
}

class HeatMapWriter {
 public:
  explicit HeatMapWriter(const HeatMap& map)
      : map_(map), columns_(drawn_cells(map.x.size())), rows_(drawn_cells(map.y.size())) {
    std::tie(low_, high_) = map.range;
    if (low_ == 0.0 && high_ == 0.0) {
      low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
      for (const double z : map.z)
        if (std::isfinite(z)) low_ = std::min(low_, z), high_ = std::max(high_, z);
      if (!(low_ <= high_)) low_ = high_ = 0.0;
    }
    if (map.diverging) {
      high_ = std::max(std::abs(low_), std::abs(high_));
      low_ = -high_;
    }
    std::size_t longest = 0;
    for (const std::string& name : map.y) longest = std::max(longest, name.size());
    left_ = std::clamp(letter * static_cast<double>(longest) + 12.0, 34.0, 170.0);
    cell_x_ = (map_width - left_ - 4.0) / static_cast<double>(std::max<std::size_t>(1, columns_.size()));
    const double most = 300.0 / static_cast<double>(std::max<std::size_t>(1, rows_.size()));
    cell_y_ = std::clamp(std::min(cell_x_, most), 2.0, 34.0);
    std::size_t wide = 0;
    for (const std::string& name : map.x) wide = std::max(wide, name.size());
    upright_ = letter * static_cast<double>(wide) > cell_x_ - 4.0 && named_every(columns_.size()) == 1;
    bottom_ = upright_ ? std::min(150.0, 6.0 + letter * static_cast<double>(wide)) : 18.0;
    height_ =
        cell_y_ * static_cast<double>(rows_.size()) + 6.0 + bottom_ + (map.x_label.empty() ? 2 : 16) + 34;
  }

  std::string svg() const {
    std::string text = fmt::format("<svg viewBox=\"0 0 {:g} {:.1f}\" role=\"img\" aria-label=\"{}\">\n",
                                   map_width, height_, escaped(map_.title));
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t c = 0; c < columns_.size(); ++c) text += cell(r, c);
    text += names();
    for (std::size_t k = 0; k < map_.points.size(); ++k) {
      const HeatMap::Point& point = map_.points[k];
      const double x = left_ + (point.column + 0.5) * cell_x_, y = 4.0 + (point.row + 0.5) * cell_y_;
      text += fmt::format(
          "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4.5\" fill=\"{2}\" stroke=\"#000\" "
          "stroke-width=\"1.5\"><title>{3}</title></circle>\n",
          x, y, k % 2 == 0 ? "#fff" : "#f33", escaped(point.name));
    }
    return text + scale() + "</svg>\n";
  }

  std::string caption() const {
    std::string text = map_.caption;
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
    if (std::any_of(map_.z.begin(), map_.z.end(), [](double z) { return !std::isfinite(z); }))
      add("Hatched: no value.");
    if (std::find(map_.marked.begin(), map_.marked.end(), true) != map_.marked.end())
      add(fmt::format("Crossed: {}.", map_.mark_name));
    for (std::size_t k = 0; k < map_.points.size(); ++k)
      add(fmt::format("{} circle: {}.", k % 2 == 0 ? "White" : "Red", map_.points[k].name));
    if (columns_.size() < map_.x.size() || rows_.size() < map_.y.size())
      add(fmt::format("{} of {} rows and {} of {} columns are drawn.", rows_.size(), map_.y.size(),
                      columns_.size(), map_.x.size()));
    return text;
  }

 private:
  // Every which name of an axis is written.
  static std::size_t named_every(std::size_t count) { return (count + 23) / 24; }

  Colour colour_of(double z) const {
    const double part = high_ > low_ ? (z - low_) / (high_ - low_) : 0.5;
    return map_.diverging ? between_colours(around_zero, part) : between_colours(sequential, part);
  }

  std::string cell(std::size_t r, std::size_t c) const {
    const std::size_t at = rows_[r] * map_.x.size() + columns_[c];
    const double z = map_.z[at], x = left_ + static_cast<double>(c) * cell_x_,
                 y = 4.0 + static_cast<double>(r) * cell_y_;
    const std::string place = fmt::format("x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", x,
                                          y, cell_x_ + 0.3, cell_y_ + 0.3);
    const bool small = columns_.size() * rows_.size() <= 2500;  // tips for each cell would double a large map
    const std::string tip =
        small ? fmt::format("<title>{}, {}: {}</title>", escaped(map_.x[columns_[c]]),
                            escaped(map_.y[rows_[r]]), std::isfinite(z) ? brief_number(z, 5) : "no value")
              : "";
    std::string text;
    if (!std::isfinite(z)) {
      text = fmt::format(
          "<rect {} fill=\"none\" stroke=\"var(--line)\">{}</rect>"
          "<path class=\"wire\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n",
          place, tip, x, y + cell_y_, x + cell_x_, y);
      return text;
    }
    const Colour colour = colour_of(z);
    const double light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
    const std::string ink = light > 140 ? "#000" : "#fff";
    text = fmt::format("<rect {} fill=\"{}\">{}</rect>", place, colour_text(colour), tip);
    const std::string number = map_.diverging ? fmt::format("{:.2f}", z) : brief_number(z, 3);
    if (cell_y_ >= 15.0 && letter * static_cast<double>(number.size()) + 3.0 <= cell_x_)
      text += fmt::format(
          "<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
          "style=\"fill:{}\">{}</text>",
          x + cell_x_ / 2, y + cell_y_ / 2 + 4.0, ink, number);
    if (at < map_.marked.size() && map_.marked[at])
      text += fmt::format(
          "<path fill=\"none\" stroke=\"{}\" stroke-opacity=\"0.55\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}M{:.1f} "
          "{:.1f}L{:.1f} "
          "{:.1f}\"/>",
          ink, x + 2, y + 2, x + cell_x_ - 2, y + cell_y_ - 2, x + 2, y + cell_y_ - 2, x + cell_x_ - 2,
          y + 2);
    return text + "\n";
  }

  std::string names() const {
    std::string text;
    const double floor = 4.0 + cell_y_ * static_cast<double>(rows_.size());
    const std::size_t every = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(14.0 / cell_y_)));
    for (std::size_t r = 0; r < rows_.size(); r += every)
      text += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                          left_ - 5, 4.0 + (static_cast<double>(r) + 0.5) * cell_y_ + 4.0,
                          escaped(shortened(map_.y[rows_[r]])));
    std::size_t wide = 1;
    for (const std::string& name : map_.x) wide = std::max(wide, name.size());
    const std::size_t step =
        upright_ ? 1
                 : std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(
                                                (letter * static_cast<double>(wide) + 8.0) / cell_x_)));
    for (std::size_t c = 0; c < columns_.size(); c += step) {
      const double x = left_ + (static_cast<double>(c) + 0.5) * cell_x_;
      text += upright_
                  ? fmt::format(
                        "<text class=\"small\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\" "
                        "text-anchor=\"end\">{}</text>\n",
                        x + 4.0, floor + 5.0, escaped(shortened(map_.x[columns_[c]])))
                  : fmt::format(
                        "<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                        x, floor + 15.0, escaped(map_.x[columns_[c]]));
    }
    if (!map_.x_label.empty())
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                          (left_ + map_width) / 2, floor + bottom_ + 14.0, escaped(map_.x_label));
    return text;
  }

  static std::string shortened(const std::string& name) {
    return name.size() <= 24 ? name : name.substr(0, 23) + "…";
  }

  // The colours from the lowest to the highest value.
  std::string scale() const {
    std::string text;
    const double y = height_ - 26.0, from = left_, to = map_width - 60.0, step = (to - from) / 60.0;
    for (int k = 0; k < 60; ++k)
      text += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"8\" fill=\"{}\"/>",
                          from + k * step, y, step + 0.3,
                          colour_text(map_.diverging ? between_colours(around_zero, (k + 0.5) / 60.0)
                                                     : between_colours(sequential, (k + 0.5) / 60.0)));
    text += fmt::format(
        "\n<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
        "<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        from, y + 22.0, brief_number(low_, 4), to, y + 22.0, brief_number(high_, 4));
    return text;
  }

  const HeatMap& map_;
  std::vector<std::size_t> columns_, rows_;
  double low_ = 0.0, high_ = 0.0, left_ = 0.0, cell_x_ = 1.0, cell_y_ = 1.0, bottom_ = 0.0, height_ = 0.0;
  bool upright_ = false;
};

}  // namespace

std::string to_svg(const HeatMap& map) { return HeatMapWriter(map).svg(); }

std::string to_html(const HeatMap& map) {
  const HeatMapWriter writer(map);
  std::string html = "<figure>\n";
  if (!map.title.empty()) html += "<p class=\"figure-title\">" + escaped(map.title) + "</p>\n";
  if (!map.y_label.empty()) html += "<p class=\"legend\">Rows: " + escaped(map.y_label) + "</p>\n";
  html += writer.svg();
  const std::string caption = writer.caption();
  if (!caption.empty()) html += "<figcaption>" + escaped(caption) + "</figcaption>\n";
  return html + "</figure>\n";
}

}  // namespace tellegen
