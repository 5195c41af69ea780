#include "tellegen/results/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/results/bars.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/surface.h"
#include "tellegen/results/test_html.h"

namespace tellegen {
namespace heat_map_test {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(HeatMap, cells_have_numbers_holes_are_hatched_and_marks_explained) {
  HeatMap map;
  map.title = "eta <1>";
  map.x = {"1", "2", "3"};
  map.y = {"a", "b"};
  map.z = {0.5, std::nan(""), 0.7, 0.8, 0.9, 1.0};
  map.marked = {true, false, false, false, false, false};
  map.mark_name = "below the demanded torque";
  const std::string html = to_html(map);
  EXPECT_EQ(tag_fault(html), "");
  EXPECT_EQ(occurrences(html, "<rect x="), 6u + 60u);  // cells, and the scale of colours
  for (const char* text :
       {">0.5<", ">1<", "eta &lt;1&gt;", "Hatched: no value.", "Crossed: below the demanded torque.",
        "#440154", "#fde725"})  // the lowest and the highest value have the ends of the scale
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(HeatMap, around_zero_nothing_is_white_and_the_ends_are_alike) {
  HeatMap map;
  map.x = map.y = {"R", "C"};
  map.z = {1.0, 0.0, 0.0, -0.5};
  map.diverging = true;
  const std::string svg = to_svg(map);
  EXPECT_NE(svg.find("#f7f7f7"), std::string::npos);
  EXPECT_NE(svg.find(">-1<"), std::string::npos) << "the scale is the same to both sides";
}

TEST(HeatMap, of_a_large_map_some_cells_are_drawn_and_it_is_said) {
  HeatMap map;
  for (int k = 0; k < 400; ++k) map.x.push_back(std::to_string(k));
  map.y = {"a", "b", "c"};
  map.z.assign(1200, 1.0);
  const std::string html = to_html(map);
  EXPECT_EQ(occurrences(html, "<rect x="), 450u + 60u);
  EXPECT_NE(html.find("150 of 400 columns"), std::string::npos);
}

TEST(Bars, negative_ones_go_the_other_way_and_missing_ones_are_left_out) {
  BarFigure figure{"scores", "", {"R", "C", "L"}, {{"", {2.0, -1.0, std::nan("")}, {}, {}}}};
  const std::string html = to_html(figure);
  EXPECT_EQ(tag_fault(html), "");
  EXPECT_EQ(occurrences(html, "<rect class="), 2u);
  for (const char* text : {">-1<", ">2<", ">L<"}) EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Chart, becomes_figures_of_a_page) {
  Chart chart{"", {}, 1};
  chart.panels.push_back(
      {ChartPanel::What::points, "R", "v", false, {}, {{"front", {1, 2}, {3, 4}, {}, {}}}});
  chart.panels.push_back({ChartPanel::What::lines, "R", "v", true, {}, {{"v", {1, 10}, {3, 4}, {}, {}}}});
  const std::string html = to_html(chart);
  EXPECT_EQ(tag_fault(html), "");
  EXPECT_EQ(occurrences(html, "<figure>"), 2u);
  EXPECT_EQ(occurrences(html, "class=\"line"), 2u);  // the curve and its key: points have none
}

TEST(Surface, becomes_a_map_with_its_first_row_below) {
  const Surface surface{"", "R", "C", "cost", {1, 2}, {5, 6}, {1.5, 2.5, 3.5, 4.5}, {{"after", 2, 5}}};
  const std::string html = to_html(surface);
  EXPECT_LT(html.find(">3.5<"), html.find(">1.5<"));
  EXPECT_NE(html.find("White circle: after."), std::string::npos);
}

}  // namespace heat_map_test
}  // namespace tellegen
