#include "tellegen/results/plot.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace plot_test {

Trajectory waves(int rows) {
  Trajectory t{{"n2.v", "n3_x.v", "r1's i"}, {"V", "V", "A"}, {}, {}};
  for (int r = 0; r < rows; ++r) {
    const double x = 10.0 * r / rows;
    t.append(x, std::array{std::sin(x), std::cos(x), std::exp(-x)});
  }
  return t;
}

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

bool has_gnuplot() { return std::system("gnuplot --version > /dev/null 2>&1") == 0; }

TEST(Plot, OnePanelForEachUnit) {
  const std::string script = plot_script("a.svg", false, waves(10), {});
  EXPECT_EQ(count(script, "\nplot "), 2);
  EXPECT_EQ(count(script, "'[V]'"), 1);
  EXPECT_EQ(count(script, "'[A]'"), 1);
}

TEST(Plot, NamesAreQuotedForGnuplot) {
  EXPECT_EQ(count(plot_script("a.svg", false, waves(10), {}), "title 'r1''s i'"), 1);
}

TEST(Plot, TheReferenceIsDashedOverTheColumnsItShares) {
  const Trajectory reference{{"n2.v", "other"}, {"", ""}, {0, 10}, {0, 1, 2, 3}};
  const std::string script = plot_script("a.svg", false, waves(10), {.reference = &reference});
  EXPECT_EQ(count(script, "title 'reference'"), 1);
  EXPECT_EQ(count(script, "dt (14,12)"), 1);
}

TEST(Plot, AMillionRowsMakeASmallScriptThatKeepsThePeak) {
  Trajectory t{{"x"}, {"V"}, {}, {}};
  for (int r = 0; r < 1'000'000; ++r) t.append(r, std::array{r == 654'321 ? 77.5 : 0.0});
  const std::string script = plot_script("a.svg", false, t, {});
  EXPECT_LT(script.size(), 200'000u);
  EXPECT_EQ(count(script, "654321 77.5\n"), 1);
}

TEST(Plot, AMissingValueInterruptsTheCurve) {
  const Trajectory t{{"x"}, {"V"}, {0, 1, 2}, {1, NAN, 3}};
  EXPECT_EQ(count(plot_script("a.svg", false, t, {}), "0 1\n\n2 3\n"), 1);
}

TEST(Plot, WritesSvgAndPng) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  TestFolder folder;
  const Trajectory reference = waves(30);
  const PlotOptions options{.title = "waves & <more>", .reference = &reference};
  write_plot(folder / "a.svg", waves(1000), options);
  write_plot(folder / "a.png", waves(1000), options);
  EXPECT_NE(get(folder / "a.svg").find("</svg>"), std::string::npos);
  EXPECT_NE(get(folder / "a.svg").find("waves &amp; &lt;more"), std::string::npos);
  EXPECT_EQ(get(folder / "a.png").substr(1, 3), "PNG");
  EXPECT_EQ(folder.file_count(), 2u);
}

TEST(Plot, AConstantColumnAndASingleRowCanBeDrawn) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  TestFolder folder;
  write_plot(folder / "a.svg", {{"x"}, {"V"}, {0, 1}, {2, 2}});
  write_plot(folder / "b.svg", {{"x"}, {"V"}, {0}, {2}});
  write_plot(folder / "c.svg", {{"x"}, {"V"}, {0, 1}, {NAN, NAN}});
  EXPECT_EQ(folder.file_count(), 3u);
}

TEST(Plot, WithoutGnuplotTheErrorSaysSoAndTheOldPictureStays) {
  TestFolder folder;
  put(folder / "a.svg", "old");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const std::string message = message_of([&] { write_plot(folder / "a.svg", waves(10)); });
  setenv("PATH", path.c_str(), 1);
  EXPECT_NE(message.find("'gnuplot' is not installed"), std::string::npos) << message;
  EXPECT_EQ(get(folder / "a.svg"), "old");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Plot, WrongRequestsAreExplained) {
  TestFolder folder;
  EXPECT_NE(message_of([&] { write_plot(folder / "a.pdf", waves(10)); }).find(".svg or .png"),
            std::string::npos);
  EXPECT_EQ(message_of([&] { write_plot(folder / "a.svg", waves(10), {.columns = {"q"}}); }),
            "cannot plot 'q': there is no such column");
  EXPECT_EQ(message_of([&] { write_plot(folder / "a.svg", {}); }), "cannot plot: there are no rows");
}

}  // namespace plot_test
}  // namespace tellegen
