#include "tellegen/results/scene.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tellegen/results/test_html.h"

namespace tellegen {
namespace scene_test {

// Of a closed surface whose polygons are seen counter-clockwise from outside: a sixth of the sum of
// determinants.
double volume_of(const Mesh& mesh) {
  double sum = 0.0;
  for (const auto& face : mesh.faces)
    for (std::size_t k = 1; k + 1 < face.size(); ++k)
      sum += dot(mesh.points[face[0]], cross(mesh.points[face[k]], mesh.points[face[k + 1]]));
  return sum / 6.0;
}

// A polygon of so many sides has so much of the circle's area.
double share_of_circle(int sides) {
  return sides / (2 * std::numbers::pi) * std::sin(2 * std::numbers::pi / sides);
}

TEST(Solids, are_closed_and_look_outward) {
  const double circle = std::numbers::pi * share_of_circle(16);
  const Point3 axis{0.6, 0.0, 0.8}, origin{3, -1, 2};
  EXPECT_NEAR(volume_of(box_solid(origin, {1, 2, 3})), 6.0, 1e-12);
  EXPECT_NEAR(volume_of(turned_solid({{0, 0}, {0, 2}, {5, 2}, {5, 0}}, origin, axis)), 20 * circle, 1e-9);
  EXPECT_NEAR(volume_of(turned_solid({{0, 0}, {0, 2}, {6, 0}}, origin, axis)), 8 * circle, 1e-9);
  EXPECT_NEAR(volume_of(turned_solid({{0, 1}, {0, 2}, {5, 2}, {5, 1}, {0, 1}}, origin, axis)), 15 * circle,
              1e-9);
  EXPECT_NEAR(volume_of(sphere_solid(origin, 2.0)), 32.0 / 3.0 * std::numbers::pi, 2.5);
}

TEST(Solids, lie_where_a_frame_places_them) {
  FramePose pose;
  pose.position = {1, 2, 3};
  pose.rotation = {Point3{0, -1, 0}, Point3{1, 0, 0}, Point3{0, 0, 1}};  // a quarter turn about z
  const Point3 placed = pose({1, 0, 0});
  EXPECT_NEAR(placed[0], 1.0, 1e-15);
  EXPECT_NEAR(placed[1], 3.0, 1e-15);
}

Scene swinging_box() {
  Scene scene;
  scene.title = "Box <1> & \"more\"";
  scene.frames = {"datum", "tip"};
  scene.solids.push_back({"box", 1, 0, true, box_solid({}, {0.2, 0.2, 0.2})});
  scene.lines.push_back({SceneLine::Look::spring, 0, 1, {}, {}, -1});
  scene.lines.push_back({SceneLine::Look::bar, 0, 1, {}, {}, 0});
  scene.trails = {1};
  for (int row = 0; row < 3; ++row) {
    scene.t.push_back(0.5 * row);
    scene.poses.emplace_back();
    scene.poses.emplace_back().position = {std::sin(row), -std::cos(row), 0};
  }
  return scene;
}

TEST(ScenePicture, shows_polygons_lines_and_names_and_needs_nothing_else) {
  const std::string svg = to_svg(swinging_box());
  EXPECT_EQ(tag_fault(svg), "");
  EXPECT_NE(svg.find("<polygon"), std::string::npos);
  EXPECT_NE(svg.find(">box</text>"), std::string::npos);
  EXPECT_NE(svg.find("Box &lt;1&gt; &amp; &quot;more&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(ScenePage, holds_motion_and_player_and_fetches_nothing) {
  Figure figure;
  figure.y_label = "x [m]";
  figure.lines.push_back({FigureLine::Look::line, "x", {0, 0.5, 1}, {0, 1, 0}, 0, false});
  const std::string page = to_html(swinging_box(), {figure});
  for (const char* mark : {"http:", "https:", "<link", "<img", "<iframe", "@import", "url(", "src="})
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
  for (const char* needed : {"<canvas", "id=\"time\"", "\"frames\":[\"datum\",\"tip\"]",
                             "requestAnimationFrame", "Box &lt;1&gt;", "x [m]", "width=device-width"})
    EXPECT_NE(page.find(needed), std::string::npos) << needed;
  // A frame that stands still has one row.
  EXPECT_NE(page.find("\"motion\":[\n[0,0,0,1,0,0,0],\n[0,-1,0,1,0,0,0,0.841471,"), std::string::npos);
}

}  // namespace scene_test
}  // namespace tellegen
