#include "tellegen/results/figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/results/test_html.h"

namespace tellegen {
namespace figure_test {

const double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Figure, thinning_keeps_every_peak_and_few_rows) {
  std::vector<double> x, y;
  for (int k = 0; k < 1000000; ++k) {
    x.push_back(k);
    y.push_back(std::sin(k * 0.7));
  }
  y[123456] = 9.0;
  y[777777] = -8.0;
  const auto kept = thinned(x, y, 0.0, 999999.0, 800);
  EXPECT_LE(kept.size(), 1700u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 123456u));
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 777777u));
}

TEST(Figure, thinning_leaves_a_short_curve_alone) {
  EXPECT_EQ(thinned({0, 1, 2, 3}, {1, 5, 2, 2}, 0.0, 3.0, 800), (std::vector<std::size_t>{0, 1, 2, 3}));
}

// The path of the first line; a regular expression would overflow the stack on a long one.
std::string first_line(const std::string& svg) {
  const std::string before = "class=\"line s0\" d=\"";
  const auto at = svg.find(before);
  if (at == std::string::npos) return "";
  return svg.substr(at + before.size(), svg.find('"', at + before.size()) - at - before.size());
}

TEST(Figure, a_hole_interrupts_the_curve) {
  Figure figure;
  figure.lines.push_back({FigureLine::Look::line, "a", {0, 1, 2, 3, 4}, {1, 2, nan, 2, 1}, 0, false});
  const std::string svg = to_svg(figure);
  EXPECT_EQ(count(first_line(svg), "M"), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Figure, a_hole_in_a_long_curve_is_seen_too) {
  FigureLine line;
  for (int k = 0; k < 100000; ++k) {
    line.x.push_back(k);
    line.y.push_back(k > 40000 && k < 60000 ? nan : std::cos(k));
  }
  Figure figure;
  figure.lines.push_back(line);
  const std::string svg = to_svg(figure);
  EXPECT_EQ(count(first_line(svg), "M"), 2u);
}

TEST(Figure, ticks_are_round_and_inside) {
  EXPECT_EQ(axis_ticks(0.0, 5.0, 5), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  for (double tick : axis_ticks(342.7, 381.2, 5)) {
    EXPECT_GE(tick, 342.7);
    EXPECT_LE(tick, 381.2);
    EXPECT_NEAR(std::remainder(tick, 10.0), 0.0, 1e-9);
  }
  EXPECT_TRUE(axis_ticks(1.0, 1.0, 5).empty());
}

TEST(Figure, has_axes_legend_band_truth_and_caption) {
  Figure figure;
  figure.title = "T1 [K] <junction>";
  figure.caption = "RMS error 0.21 K";
  figure.x_label = "t [s]";
  figure.bands.push_back({"95 % band", {0, 1, 2}, {379, 380, 380}, {381, 382, 382}, 0});
  figure.lines.push_back({FigureLine::Look::line, "estimate", {0, 1, 2}, {380, 381, 381}, 0, false});
  figure.lines.push_back({FigureLine::Look::truth, "truth", {0, 1, 2}, {380, 381, 381.5}, 0, false});
  const std::string html = to_html(figure);
  EXPECT_EQ(tag_fault(html), "");
  EXPECT_EQ(outside_reference(html), "");
  for (const char* text : {"T1 [K] &lt;junction&gt;", "RMS error 0.21 K", "t [s]", ">380<", ">381<",
                           "95 % band", "class=\"line truth\"", "class=\"band f0\""})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST(Figure, logarithmic_axes_leave_out_what_they_cannot_show) {
  Figure figure;
  figure.log_y = true;
  figure.lines.push_back({FigureLine::Look::line, "a", {0, 1, 2, 3}, {100.0, 0.0, 1.0, 1e-8}, 0, false});
  const std::string svg = to_svg(figure);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_NE(svg.find(">1e-8<"), std::string::npos) << svg;
}

TEST(Figure, without_values_or_with_one_there_are_axes_all_the_same) {
  Figure figure;
  figure.lines.push_back({FigureLine::Look::line, "a", {}, {}, 0, false});
  EXPECT_EQ(tag_fault(to_html(figure)), "");
  figure.lines.push_back({FigureLine::Look::line, "b", {1.0}, {5.0}, 0, true});
  const std::string html = to_html(figure);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_NE(html.find("<circle"), std::string::npos);
}

TEST(Figure, alone_it_carries_its_colours) {
  const std::string svg = to_svg(Figure{}, true);
  EXPECT_EQ(tag_fault(svg), "");
  EXPECT_NE(svg.find("xmlns"), std::string::npos);
  EXPECT_NE(svg.find("--c0"), std::string::npos);
}

}  // namespace figure_test
}  // namespace tellegen
