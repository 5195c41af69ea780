// The scene at its first time as a picture: parallel projection, so that equal lengths stay equal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tellegen/results/html.h"
#include "tellegen/results/scene.h"

namespace tellegen {
namespace {

constexpr double picture_width = 640.0, picture_height = 480.0, picture_margin = 30.0;

struct Painted {
  double depth = 0.0;
  std::string svg;
};

class ScenePainter {
 public:
  explicit ScenePainter(const Scene& scene) : scene_(scene) {
    towards_ = unit_vector(scene.view);
    right_ = unit_vector(cross(scene.up, towards_));
    upward_ = cross(towards_, right_);
    light_ = unit_vector(0.9 * towards_ + 0.9 * upward_ - 0.45 * right_);
    fit();
  }

  std::string svg() {
    for (const SceneSolid& solid : scene_.solids) paint(solid);
    for (const SceneLine& line : scene_.lines) paint(line);
    std::stable_sort(painted_.begin(), painted_.end(),
                     [](const Painted& a, const Painted& b) { return a.depth < b.depth; });
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" role=\"img\" "
        "aria-label=\"{2}\">\n"
        "<style>{3}svg .solid {{ stroke-width: 0.5; stroke-linejoin: round; }} svg .bar {{ fill: none; "
        "stroke-linecap: round; }} svg .j {{ fill: var(--soft); stroke: var(--soft); }}\n</style>\n"
        "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"var(--card)\"/>\n",
        picture_width, picture_height, escaped(scene_.title), figure_style());
    for (const Painted& p : painted_) text += p.svg;
    return text + names() + axes() + "</svg>\n";
  }

 private:
  const FramePose& pose(int frame) const { return scene_.pose(0, frame); }
  Point3 seen(const Point3& p) const {
    const Point3 q = p - centre_;
    return {picture_width / 2 + scale_ * dot(q, right_), picture_height / 2 - scale_ * dot(q, upward_),
            dot(q, towards_)};
  }

  // So large that all of it is just in the picture.
  void fit() {
    double left = 1e300, right = -1e300, low = 1e300, high = -1e300;
    const auto include = [&](const Point3& p) {
      left = std::min(left, dot(p, right_)), right = std::max(right, dot(p, right_));
      low = std::min(low, dot(p, upward_)), high = std::max(high, dot(p, upward_));
    };
    for (const SceneSolid& solid : scene_.solids)
      for (const Point3& p : solid.mesh.points) include(pose(solid.frame)(p));
    for (const SceneLine& line : scene_.lines) {
      include(pose(line.from)(line.from_point));
      include(pose(line.to)(line.to_point));
    }
    if (!(left <= right)) left = low = -0.5, right = high = 0.5;
    scale_ = std::min((picture_width - 2 * picture_margin) / std::max(right - left, 1e-9),
                      (picture_height - 2 * picture_margin) / std::max(high - low, 1e-9));
    centre_ = (left + right) / 2 * right_ + (low + high) / 2 * upward_;
  }

  static std::string colour_class(int colour, bool line) {
    return colour < 0 ? "j" : fmt::format("{}{}", line ? "s" : "f", colour % 6);
  }

  void paint(const SceneSolid& solid) {
    std::vector<Point3> world, flat;
    for (const Point3& p : solid.mesh.points) {
      world.push_back(pose(solid.frame)(p));
      flat.push_back(seen(world.back()));
    }
    for (const auto& face : solid.mesh.faces) {
      const Point3 normal =
          unit_vector(cross(world[face[1]] - world[face[0]], world[face[2]] - world[face[1]]));
      if (dot(normal, towards_) <= 0.0) continue;
      std::string corners;
      double depth = 0.0;
      for (const int k : face) {
        corners += fmt::format("{:.1f},{:.1f} ", flat[k][0], flat[k][1]);
        depth += flat[k][2] / static_cast<double>(face.size());
      }
      // Between white (light) and black (shadow), over the colour that the page has.
      const double brightness = std::max(0.0, dot(normal, light_));
      painted_.push_back(
          {depth, fmt::format("<polygon class=\"solid {0} {1}\" points=\"{2}\"/><polygon class=\"solid\" "
                              "points=\"{2}\" fill=\"#000\" stroke=\"#000\" opacity=\"{3:.2f}\"/>\n",
                              colour_class(solid.colour, false), colour_class(solid.colour, true), corners,
                              0.45 * (1.0 - brightness))});
    }
  }

  // A coil between two points; a straight line in pieces, which are sorted by themselves.
  std::vector<Point3> points_of(const SceneLine& line) const {
    const Point3 a = pose(line.from)(line.from_point), span = pose(line.to)(line.to_point) - a;
    const bool coil = line.look == SceneLine::Look::spring && dot(span, span) > 0.0;
    const Point3 along = unit_vector(span), first = any_across(along), second = cross(along, first);
    const int count = coil ? 96 : 6;
    std::vector<Point3> points;
    for (int k = 0; k <= count; ++k) {
      const double part = static_cast<double>(k) / count,
                   angle = 2 * std::numbers::pi * 8 * (part - 0.1) / 0.8;
      const double radius = !coil || part < 0.1 || part > 0.9 ? 0.0 : 0.022 * scene_.part_size;
      points.push_back(a + part * span + radius * (std::cos(angle) * first + std::sin(angle) * second));
    }
    return points;
  }

  void paint(const SceneLine& line) {
    const std::vector<Point3> points = points_of(line);
    const double thick = std::max(1.5, 0.010 * scene_.part_size * scale_);
    for (std::size_t k = 0; k + 1 < points.size(); ++k) {
      const Point3 p = seen(points[k]), q = seen(points[k + 1]);
      painted_.push_back(
          {(p[2] + q[2]) / 2,
           fmt::format("<path class=\"bar {}\" stroke-width=\"{:.1f}\" d=\"M{:.1f} {:.1f}L{:.1f} "
                       "{:.1f}\"/>\n",
                       colour_class(line.colour, true),
                       line.look == SceneLine::Look::bar ? thick : std::max(1.0, 0.35 * thick), p[0], p[1],
                       q[0], q[1])});
    }
  }

  std::string names() const {
    std::string text;
    for (const SceneSolid& solid : scene_.solids) {
      if (!solid.named) continue;
      Point3 sum{};
      for (const Point3& p : solid.mesh.points) sum = sum + seen(pose(solid.frame)(p));
      const double share = 1.0 / static_cast<double>(solid.mesh.points.size());
      text += fmt::format(
          "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" stroke=\"var(--card)\" "
          "stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
          share * sum[0], share * sum[1] - 8, escaped(solid.name));
    }
    return text;
  }

  std::string axes() const {
    constexpr double x = 40, y = picture_height - 40, length = 26;
    std::string text;
    const std::array<std::pair<const char*, int>, 3> axes{{{"x", 1}, {"y", 2}, {"z", 0}}};
    for (std::size_t i = 0; i < 3; ++i) {
      const double across = length * right_[i], up = length * upward_[i];
      text += fmt::format(
          "<path class=\"bar s{0}\" stroke-width=\"2\" d=\"M{1:.1f} {2:.1f}l{3:.1f} {4:.1f}\"/><text "
          "x=\"{5:.1f}\" y=\"{6:.1f}\" text-anchor=\"middle\">{7}</text>\n",
          axes[i].second, x, y, across, -up, x + 1.35 * across, y - 1.35 * up + 4, axes[i].first);
    }
    return text;
  }

  const Scene& scene_;
  Point3 towards_, right_, upward_, light_, centre_{};
  double scale_ = 1.0;
  std::vector<Painted> painted_;
};

}  // namespace

std::string to_svg(const Scene& scene) { return ScenePainter(scene).svg(); }

}  // namespace tellegen
