// tellegen synthesize: data for a rehearsal.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tellegen/model/read.h"
#include "tellegen/records/record.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

const std::string rc = TELLEGEN_SOURCE_DIR "/models/rc-thermal/network.toml";

class Synthesize : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }
  Ran run(std::vector<std::string> more, const std::string& model = rc) const {
    more.insert(more.begin(), {"synthesize", model, "--interpret"});
    return run_program(std::move(more));
  }
  TestFolder folder;
};

TEST_F(Synthesize, writes_what_an_estimator_reads_and_the_truth_beside_it) {
  const Ran ran =
      run({"--seed", "3", "--stop", "200ms", "--output", path("d.csv"), "--truth", path("t.csv"), "--all"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("seed 3"), std::string::npos) << ran.out;
  EXPECT_TRUE(get(path("d.csv")).starts_with("t [s],S1 [K],S2 [K],S3 [K]\n0,"));
  const Model model = read_model(rc, {TELLEGEN_SOURCE_DIR "/library", {}});
  const Record record = read_record(model, std::filesystem::path(path("d.csv")), {.sensors = {0, 1, 2}});
  EXPECT_EQ(record.steps, 201);
  const Trajectory truth = read_csv(path("t.csv"));
  ASSERT_EQ(truth.rows(), 201u);
  const auto T2 = truth.find("T2");
  ASSERT_TRUE(T2 && truth.find("n2.T"));
  double square = 0.0;
  for (std::size_t k = 0; k < 201; ++k)
    square += std::pow(record.reading(static_cast<std::int64_t>(k), 1) - truth.at(k, *T2), 2) / 201.0;
  EXPECT_NEAR(square, 0.25, 4 * 0.25 * std::sqrt(2.0 / 201.0));
}

TEST_F(Synthesize, the_same_seed_gives_the_same_file) {
  const std::vector<std::string> rough{"--stop",  "100ms",    "--loss",     "20 %",    "--bursts", "20Hz:5ms",
                                       "--stuck", "20Hz:5ms", "--outliers", "0.05:30", "--late",   "0.2:4ms"};
  const auto with = [&](const char* seed, const char* name) {
    std::vector<std::string> arguments{"--seed", seed, "--output", path(name)};
    arguments.insert(arguments.end(), rough.begin(), rough.end());
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return get(path(name));
  };
  const std::string first = with("11", "a.csv");
  EXPECT_EQ(first, with("11", "b.csv"));
  EXPECT_NE(first, with("12", "c.csv"));
  EXPECT_TRUE(first.starts_with("t [s],S1 [K],S2 [K],S3 [K],arrival [s]\n"));
}

// R = 1, C = 0.2 behind sin(2 t): its closed form, with the input as a column of its own.
TEST_F(Synthesize, a_sine_as_an_input_and_a_column_is_the_same_sine) {
  const Ran ran = run({"--noiseless", "--output", path("d.csv")},
                      TELLEGEN_SOURCE_DIR "/tests/regressions/sine-synthesize.toml");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Trajectory data = read_csv(path("d.csv"));
  ASSERT_EQ(data.rows(), 21u);
  const auto b = data.find("b"), u = data.find("u");
  ASSERT_TRUE(b && u);
  for (std::size_t k = 0; k < data.rows(); ++k) {
    const double t = 0.05 * static_cast<double>(k);
    EXPECT_NEAR(data.at(k, *u), std::sin(2 * t), 1e-12);
    EXPECT_NEAR(data.at(k, *b),
                (std::sin(2 * t) - 0.4 * std::cos(2 * t) + 0.4 * std::exp(-5 * t)) / (1 + 0.16), 2e-3);
  }
}

TEST_F(Synthesize, set_gives_the_truth_another_number) {
  const Ran ran = run({"--set", "Q0=0 W", "--set", "T_air=350 K", "--noiseless", "--stop", "10 s", "--sample",
                       "10 s", "--step", "1 s", "--output", path("d.csv")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Trajectory data = read_csv(path("d.csv"));
  ASSERT_EQ(data.rows(), 2u);
  EXPECT_NEAR(data.at(1, 1), 350.0, 0.01);  // ten of the slowest time constants
}

TEST_F(Synthesize, inputs_that_data_give_are_columns) {
  put(path("m.toml"), get(rc) + "\n");
  std::string text = get(rc);
  text.replace(text.find("[estimate]"), 10, "[estimate]\ninputs = [\"Q0\", \"T_air\"]");
  put(path("m.toml"), text);
  const Ran ran = run({"--stop", "5ms", "--output", path("d.csv"), "--json"}, path("m.toml"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["rows"], 6);
  EXPECT_EQ(json["inputs"], (std::vector<std::string>{"Q0", "T_air"}));
  EXPECT_EQ(json["sensors"].size(), 3u);
  const Trajectory data = read_csv(path("d.csv"));
  EXPECT_EQ(data.names, (std::vector<std::string>{"S1", "S2", "S3", "Q0", "T_air"}));
  EXPECT_EQ(data.at(5, 3), 10.0);
}

TEST_F(Synthesize, wrong_options_are_told_and_nothing_is_written) {
  put(path("old.csv"), "old");
  struct Wrong {
    std::vector<std::string> arguments;
    const char* said;
  };
  for (const Wrong& w : std::vector<Wrong>{{{"--loss", "1.5"}, "T401: --loss must lie between 0 and 1"},
                                           {{"--loss", "much"}, "T401: --loss 'much' cannot be read"},
                                           {{"--bursts", "2Hz"}, "it is RATE:LENGTH"},
                                           {{"--bursts", "2K:1s"}, "it is RATE:LENGTH"},
                                           {{"--stuck", "2Hz:1K"}, "T401: --stuck '1K' is not a time"},
                                           {{"--outliers", "0.1:-3"}, "it is PROBABILITY:SIZE"},
                                           {{"--late", "0.1"}, "it is PROBABILITY:DELAY"},
                                           {{"--seed", "-1"}, "T401"},
                                           {{"--set", "Q9=1"}, "Q9"},
                                           {{"--truth", path("t.txt")}, "T402"},
                                           {{"--method", "bdf9"}, "did you mean 'bdf"}}) {
    std::vector<std::string> arguments{"--output", path("old.csv")};
    arguments.insert(arguments.end(), w.arguments.begin(), w.arguments.end());
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << w.said;
    EXPECT_NE(ran.err.find(w.said), std::string::npos) << w.said << "\n" << ran.err;
  }
  const Ran same = run({"--output", path("x.csv"), "--truth", path("x.csv")});
  EXPECT_NE(same.err.find("T402: --output and --truth are the same file"), std::string::npos) << same.err;
  const Ran none = run({"--output", path("old.csv")}, TELLEGEN_SOURCE_DIR "/models/rlc/model.toml");
  EXPECT_NE(none.err.find("T599: the model has no sensors"), std::string::npos) << none.err;
  EXPECT_EQ(get(path("old.csv")), "old");
  EXPECT_EQ(folder.file_count(), 1u);
}

}  // namespace
}  // namespace tellegen
