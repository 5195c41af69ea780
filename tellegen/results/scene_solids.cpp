#include <algorithm>
#include <cmath>
#include <numbers>

#include "tellegen/results/scene.h"

namespace tellegen {

Point3 unit_vector(const Point3& a) {
  const double length = std::sqrt(dot(a, a));
  return length > 0.0 ? (1.0 / length) * a : a;
}

Point3 any_across(const Point3& axis) {
  const Point3 other = std::abs(axis[0]) < 0.6 ? Point3{1, 0, 0} : Point3{0, 1, 0};
  return unit_vector(cross(axis, other));
}

Mesh turned_solid(const std::vector<std::array<double, 2>>& profile, const Point3& origin, const Point3& axis,
                  int sides) {
  const Point3 along = unit_vector(axis), first = any_across(along), second = cross(along, first);
  Mesh mesh;
  std::vector<std::vector<int>> rings;  // of one point, where the profile meets the axis
  for (const auto& [distance, radius] : profile) {
    std::vector<int>& ring = rings.emplace_back();
    for (int k = 0; k < (radius > 0.0 ? sides : 1); ++k) {
      const double angle = 2 * std::numbers::pi * k / sides;
      ring.push_back(static_cast<int>(mesh.points.size()));
      mesh.points.push_back(origin + distance * along +
                            radius * (std::cos(angle) * first + std::sin(angle) * second));
    }
  }
  for (std::size_t r = 0; r + 1 < rings.size(); ++r) {
    const auto &a = rings[r], &b = rings[r + 1];
    if (a.size() == 1 && b.size() == 1) continue;
    if (profile[r][0] == profile[r + 1][0] && (a.size() == 1 || b.size() == 1)) {  // a disc is one polygon
      std::vector<int> disc = a.size() == 1 ? b : a;
      if (a.size() == 1) disc = {disc.rbegin(), disc.rend()};
      mesh.faces.push_back(std::move(disc));
      continue;
    }
    const std::size_t count = std::max(a.size(), b.size());
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t next = (k + 1) % count;
      std::vector<int> face{a[k % a.size()]};
      if (a.size() > 1) face.push_back(a[next]);
      face.push_back(b[next % b.size()]);
      if (b.size() > 1) face.push_back(b[k]);
      mesh.faces.push_back(std::move(face));
    }
  }
  return mesh;
}

// Sides in tiles, so that what stands on one is not sorted behind its middle.
Mesh box_solid(const Point3& centre, const Point3& size) {
  constexpr int tiles = 4;
  Mesh mesh;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (const double side : {-0.5, 0.5}) {
      const std::size_t first = (axis + 1) % 3, second = (axis + 2) % 3;
      const int corner = static_cast<int>(mesh.points.size());
      for (int a = 0; a <= tiles; ++a)
        for (int b = 0; b <= tiles; ++b) {
          Point3& p = mesh.points.emplace_back(centre);
          p[axis] += side * size[axis];
          p[first] += (static_cast<double>(a) / tiles - 0.5) * size[first];
          p[second] += (static_cast<double>(b) / tiles - 0.5) * size[second];
        }
      for (int a = 0; a < tiles; ++a)
        for (int b = 0; b < tiles; ++b) {
          const int at = corner + a * (tiles + 1) + b, next = at + tiles + 1;
          mesh.faces.push_back(side > 0.0 ? std::vector{at, next, next + 1, at + 1}
                                          : std::vector{at, at + 1, next + 1, next});
        }
    }
  return mesh;
}

Mesh sphere_solid(const Point3& centre, double radius) {
  constexpr int bands = 8;
  std::vector<std::array<double, 2>> profile;
  for (int k = 0; k <= bands; ++k) {
    const double angle = std::numbers::pi * k / bands;
    profile.push_back({-radius * std::cos(angle), k % bands == 0 ? 0.0 : radius * std::sin(angle)});
  }
  return turned_solid(profile, centre, {0, 0, 1});
}

}  // namespace tellegen
