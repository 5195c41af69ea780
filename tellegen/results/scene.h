// A mechanism to look at: solids and lines on frames that move. As one page that plays the motion, and as a
// picture of one position.
//
// Solids are polygons, made here once; whoever draws them turns their corners, sorts the polygons by their
// distance and fills them from the farthest to the nearest (the painter's algorithm), brighter where they
// face the light. It disappoints where long polygons pass through each other.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tellegen/results/figure.h"

namespace tellegen {

using Point3 = std::array<double, 3>;

inline Point3 operator+(const Point3& a, const Point3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Point3 operator-(const Point3& a, const Point3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Point3 operator*(double s, const Point3& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const Point3& a, const Point3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Point3 cross(const Point3& a, const Point3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Point3 unit_vector(const Point3& a);    // zero stays zero
Point3 any_across(const Point3& axis);  // of length 1, at a right angle to an axis

// Where a frame is, along the datum's axes.
struct FramePose {
  Point3 position{};
  std::array<Point3, 3> rotation{Point3{1, 0, 0}, Point3{0, 1, 0}, Point3{0, 0, 1}};  // rows: frame to datum

  Point3 operator()(const Point3& own) const {
    return position + Point3{dot(rotation[0], own), dot(rotation[1], own), dot(rotation[2], own)};
  }
};

// Polygons whose corners go round counter-clockwise, seen from outside.
struct Mesh {
  std::vector<Point3> points;
  std::vector<std::vector<int>> faces;
};

// A profile, (along the axis, radius) from its beginning to its end, turned about the axis. Profiles that
// begin and end on the axis or at one point are closed surfaces.
Mesh turned_solid(const std::vector<std::array<double, 2>>& profile, const Point3& origin, const Point3& axis,
                  int sides = 16);
Mesh box_solid(const Point3& centre, const Point3& size);
Mesh sphere_solid(const Point3& centre, double radius);

struct SceneSolid {
  std::string name;
  int frame = 0;
  int colour = 0;      // of its rigid body; -1: of a joint
  bool named = false;  // its name is worth reading in the picture
  Mesh mesh;
};

// Straight, between points of two frames.
struct SceneLine {
  enum class Look { bar, thin, spring } look = Look::bar;
  int from = 0, to = 0;
  Point3 from_point{}, to_point{};
  int colour = -1;
};

struct Scene {
  std::string title;
  std::vector<std::string> frames;  // the first is the datum
  std::vector<SceneSolid> solids;
  std::vector<SceneLine> lines;
  std::vector<int> trails;  // frames whose path is drawn
  Point3 up{0, 1, 0};
  Point3 centre{};
  double size = 1.0;       // of the mechanism, in any position of the run
  double part_size = 1.0;  // of the mechanism at the start: markers and lines take their measure from it
  Point3 view{1, 1, 1};    // towards the eye, at first
  std::vector<double> t;
  std::vector<FramePose> poses;  // row by row: t.size() x frames.size()

  const FramePose& pose(std::size_t row, int frame) const {
    return poses[row * frames.size() + static_cast<std::size_t>(frame)];
  }
};

// A file by itself: the scene at its first time.
std::string to_svg(const Scene& scene);

// A page that needs nothing else: the motion, with figures beside it.
std::string to_html(const Scene& scene, const std::vector<Figure>& figures);

}  // namespace tellegen
