// Reports of estimations and calibrations, as a user gets them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tellegen/results/html.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/results/test_html.h"
#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

const std::string rc = TELLEGEN_SOURCE_DIR "/models/rc-thermal/network.toml";

class Reports : public testing::Test {
 protected:
  void SetUp() override {
    const Ran made = run_program({"synthesize", rc, "--interpret", "--stop", "1 s", "--output",
                                  path("data.csv"), "--truth", path("truth.csv")});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  Ran estimate(std::vector<std::string> more) const {
    more.insert(more.begin(), {"estimate", rc, "--interpret", "--data", path("data.csv")});
    return run_program(std::move(more));
  }
  void expect_sound(const std::string& html) const {
    EXPECT_EQ(tag_fault(html), "");
    EXPECT_EQ(outside_reference(html), "");
    for (const char* wrong : {"nan", "inf,", "inf "})
      EXPECT_EQ(html.find(wrong), std::string::npos) << html.substr(html.find(wrong) - 200, 400);
  }
  TestFolder folder;
};

TEST_F(Reports, an_estimation_is_one_page_with_its_errors) {
  const Ran ran = estimate({"--sensors", "S1, S3", "--output", path("e.csv"), "--truth", path("truth.csv"),
                            "--show", "T2, R1", "--title", "Drive <1>", "--report", path("e.html")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("wrote " + path("e.html")), std::string::npos) << ran.out;
  const std::string html = get(path("e.html"));
  expect_sound(html);
  for (const char* text : {"Drive &lt;1&gt;", "95 % band", "class=\"line truth\"", "Innovation of S1 [K]",
                           "Spectrum of the innovations", ">r1<", ">S3<", "Errors against the truth"})
    EXPECT_NE(html.find(text), std::string::npos) << text;

  const auto page = read_html(html);
  ASSERT_TRUE(page && page->parts.size() == 2);
  const auto data = nlohmann::json::parse(page->parts[1].data);
  EXPECT_EQ(data.at("rows"), 1001);
  ASSERT_EQ(data.at("errors").size(), 1u);  // of R1 no truth is known
  // The error is that of the columns.
  const Trajectory estimated = read_csv(path("e.csv")), truth = read_csv(path("truth.csv"));
  const std::size_t e = *estimated.find("T2"), t = *truth.find("T2");
  double square = 0.0;
  for (std::size_t row = 0; row < truth.rows(); ++row)
    square += std::pow(estimated.at(row, e) - truth.at(row, t), 2) / static_cast<double>(truth.rows());
  EXPECT_NEAR(data.at("errors")[0].at("rms").get<double>(), std::sqrt(square), 1e-9);
}

TEST_F(Reports, without_show_what_no_sensor_reads_and_the_unknowns_are_drawn) {
  const Ran ran = estimate({"--sensors", "S1,S3", "--report", path("e.html")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string html = get(path("e.html"));
  expect_sound(html);
  EXPECT_NE(html.find("figure-title\">T2 [K]<"), std::string::npos);
  EXPECT_EQ(html.find("figure-title\">T1 [K]<"), std::string::npos);  // S1 reads it
  for (const char* unknown : {"R1", "R2", "R3"})
    EXPECT_NE(html.find("figure-title\">" + std::string(unknown) + " [K/W]<"), std::string::npos) << unknown;
}

TEST_F(Reports, missing_readings_leave_holes) {
  const Ran made = run_program({"synthesize", rc, "--interpret", "--stop", "1 s", "--loss", "0.3", "--bursts",
                                "3Hz:50ms", "--output", path("data.csv")});
  ASSERT_EQ(made.code, 0) << made.err;
  const Ran ran = estimate({"--report", path("e.html"), "--smooth"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string html = get(path("e.html"));
  expect_sound(html);
  EXPECT_NE(html.find("with the whole record"), std::string::npos);
}

TEST_F(Reports, what_happens_to_a_sensor_is_on_the_time_axis) {
  // S3 reads 8 K too much from 0.4 s on.
  Trajectory data = read_csv(path("data.csv"));
  const std::size_t column = *data.find("S3");
  for (std::size_t row = 0; row < data.rows(); ++row)
    if (data.t[row] >= 0.4) data.values[row * data.columns() + column] += 8.0;
  write_csv(path("data.csv"), data);
  estimate({"--report", path("e.html")});
  const std::string html = get(path("e.html"));
  expect_sound(html);
  // Over a second in which little else changes, an offset and a scale look alike.
  for (const char* before : {"S3: ", "</svg>"})
    EXPECT_TRUE(html.find(std::string(before) + "offset begins") != std::string::npos ||
                html.find(std::string(before) + "scale changes") != std::string::npos)
        << before;
}

TEST_F(Reports, a_calibration_shows_its_fit_and_the_way_to_its_parameters) {
  const Ran ran = run_program({"calibrate", rc, "--interpret", "--data", path("data.csv"), "--truth", rc,
                               "--report", path("c.html")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string html = get(path("c.html"));
  expect_sound(html);
  for (const char* text :
       {"Parameters per iteration", "Length of each step", "Measured and calculated", "Residual of S1 [K]",
        "Spectrum of the residuals", "Correlations of the parameters found", "measured less calculated",
        "data.csv", "tellegen 0.", "Residuals of the readings", "truth"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  const auto data = nlohmann::json::parse(read_html(html)->parts[1].data);
  ASSERT_EQ(data.at("numbers").size(), 3u);
  for (const auto& number : data.at("numbers"))
    EXPECT_NEAR(number.at("found").get<double>(), number.at("truth").get<double>(),
                5.0 * number.at("deviation").get<double>());
}

TEST_F(Reports, pages_are_put_together_with_the_network_once) {
  for (const char* name : {"a", "b"}) {
    const Ran ran = estimate({"--truth", path("truth.csv"), "--show", "T2", "--title",
                              std::string("Drive ") + name, "--report", path(name) + ".html"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  const Ran ran =
      run_program({"report", path("a.html"), path("b.html"), "--title", "Both", "--introduction", "Two.",
                   "--column", "elsewhere [ms]=58.4, 317.4", "--output", path("all.html")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string html = get(path("all.html"));
  expect_sound(html);
  const auto page = read_html(html);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->parts.size(), 4u);  // comparison, network, two drives
  EXPECT_EQ(page->title, "Both");
  EXPECT_EQ(page->parts[0].title, "Errors and times");
  EXPECT_EQ(page->parts[3].title, "Drive b");
  for (const char* text : {"elsewhere [ms]", "317.4", "T2 RMS error [K]"})
    EXPECT_NE(page->parts[0].html.find(text), std::string::npos) << text;
  // A page that was put together is a page.
  EXPECT_EQ(run_program({"report", path("all.html"), "--output", path("again.html")}).code, 0);
  EXPECT_EQ(read_html(get(path("again.html")))->parts.size(), 4u);
}

TEST_F(Reports, what_is_wrong_is_told) {
  const auto expect_fault = [](const Ran& ran, const std::string& code, const std::string& said) {
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(code), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(said), std::string::npos) << ran.err;
  };
  expect_fault(estimate({"--report", path("e.html"), "--show", "T22"}), "T671", "did you mean 'T2'");
  expect_fault(estimate({"--show", "T2"}), "T401", "--report");
  expect_fault(estimate({"--report", path("e.pdf")}), "T402", ".html");
  expect_fault(estimate({"--report", path("e.html"), "--truth", path("none.csv")}), "T670", "no such file");
  put(path("other.csv"), "t [s],x [K]\n0,1\n1,1\n");
  expect_fault(estimate({"--report", path("e.html"), "--truth", path("other.csv")}), "T670", "has no column");
  put(path("units.csv"), "t [s],T2 [W]\n0,1\n1,1\n");
  expect_fault(estimate({"--report", path("e.html"), "--truth", path("units.csv")}), "T670", "'W'");
  put(path("page.html"), "<html><body>mine</body></html>");
  expect_fault(run_program({"report", path("page.html"), "--output", path("all.html")}), "T672", "page.html");
  expect_fault(run_program({"report", path("nowhere.html"), "--output", path("all.html")}), "T672",
               "cannot be read");
  ASSERT_EQ(estimate({"--report", path("a.html")}).code, 0);
  expect_fault(run_program({"report", path("a.html"), "--column", "x=1,2", "--output", path("all.html")}),
               "T673", "2 entries, and there are 1");
}

TEST_F(Reports, studies_are_pages_that_can_be_put_together) {
  put(folder / "rc.toml",
      "name = 'discharge'\n[parameters]\nR = '1 kohm'\nC = '1 mF'\n[components]\n"
      "r1 = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = 'R' }\n"
      "c1 = { kind = 'electrical.capacitor', p = 'a', n = 'datum', C = 'C', v0 = '1 V' }\n"
      "[objectives]\nv_end = { end = 'c1.v' }\nheat = { integral = 'r1.v*r1.i' }\n"
      "[design]\nvariables = { R = ['0.5 kohm', '2 kohm'] }\nminimize = 'v_end'\n"
      "[simulation]\nstop = '1 s'\nstep = '10 ms'\n");
  const std::string model = path("rc.toml");
  const auto page_of = [&](std::vector<std::string> arguments, const std::string& name, const char* what) {
    arguments.insert(arguments.begin() + 1, model);
    arguments.insert(arguments.end(), {"--interpret", "--report", path(name), "--title", "A <study>"});
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("wrote " + path(name)), std::string::npos) << ran.out;
    const std::string html = get(path(name));
    expect_sound(html);
    for (const char* text :
         {"A &lt;study&gt;", "Settings", "rc.toml", "tellegen 0.", "The network: discharge"})
      EXPECT_NE(html.find(text), std::string::npos) << name << ": " << text;
    const auto page = read_html(html);
    EXPECT_TRUE(page && page->parts.size() == 2);
    EXPECT_EQ(nlohmann::json::parse(page->parts[0].data).at("part"), what);
    return html;
  };
  const std::string rank = page_of({"rank", "--of", "v_end,heat"}, "rank.html", "ranking");
  for (const char* text : {"score of heat", "(dE/db) |b/E|", "<rect class=\"f0\""})
    EXPECT_NE(rank.find(text), std::string::npos) << text;
  const std::string best = page_of({"optimize"}, "best.html", "optimisation");
  for (const char* text : {"minimize v_end", "Variables", "lower bound", "variables over their bounds"})
    EXPECT_NE(best.find(text), std::string::npos) << text;
  const std::string grid = page_of(
      {"sweep", "--vary", "R=0.5kohm:2kohm:4", "--vary", "C=0.5mF:2mF:3", "--output", path("grid.csv")},
      "grid.html", "sweep");
  for (const char* text : {"12 samples of 2 parameters", "Rows: C [mF]", "R=0.5kohm:2kohm:4", "What varies"})
    EXPECT_NE(grid.find(text), std::string::npos) << text;
  const std::string sobol = page_of({"sweep", "--vary", "R=0.5kohm:2kohm", "--vary", "C=0.5mF:2mF",
                                     "--design", "sobol", "--samples", "8", "--output", path("sobol.csv")},
                                    "sobol.html", "sweep");
  EXPECT_NE(sobol.find("Which parameters matter"), std::string::npos);
  EXPECT_NE(sobol.find("fraction of the variance of v_end"), std::string::npos);

  const Ran all = run_program(
      {"report", path("rank.html"), path("best.html"), path("grid.html"), "--output", path("all.html")});
  EXPECT_EQ(all.code, 0) << all.err;
  const auto page = read_html(get(path("all.html")));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->parts.size(), 4u);  // the network once
}

TEST_F(Reports, of_studies_are_not_written_where_they_must_not_be) {
  for (const char* command : {"rank", "optimize", "sweep"}) {
    std::vector<std::string> words{command, rc, "--report", path("page.pdf")};
    if (std::string(command) == "rank") words.insert(words.end(), {"--of", "x"});
    if (std::string(command) == "sweep")
      words.insert(words.end(), {"--vary", "R1=1:2:2", "--output", path("x.csv")});
    const Ran wrong = run_program(words);
    EXPECT_EQ(wrong.code, 2);
    EXPECT_NE(wrong.err.find("T402"), std::string::npos) << wrong.err;
    words[2] = "--title";
    words[3] = "alone";
    const Ran alone = run_program(words);
    EXPECT_NE(alone.err.find("--title is for a report"), std::string::npos) << alone.err;
  }
}

}  // namespace
}  // namespace tellegen
