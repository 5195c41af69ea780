// tellegen estimate, row by row: saved, resumed, and refused where it cannot be.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

const std::string network =
    (std::filesystem::path(TELLEGEN_SOURCE_DIR) / "models/rc-thermal/network.toml").string();

class FollowRecord : public testing::Test {
 protected:
  FollowRecord() {
    const Ran ran = run_program({"synthesize", network, "--stop", "1s", "--loss", "0.1", "--late", "0.1:5ms",
                                 "--seed", "3", "--output", path("record.csv")});
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  Ran estimate(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"estimate",  network,    "--data",     path("record.csv"),
                                       "--sensors", "S1,S2,S3", "--unknowns", "Q0",
                                       "--late",    "5ms",      "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  const TestFolder folder_;
};

TEST_F(FollowRecord, gives_what_the_whole_record_gives_and_continues_where_it_was_saved) {
  const Ran whole = estimate({"--output", path("whole.csv")});
  ASSERT_EQ(whole.code, 0) << whole.err;
  // Blocks end with each checkpoint: what comes late for a row that was written is not in its innovations.
  const Ran rows = estimate({"--output", path("rows.csv"), "--checkpoint", path("all.twin")});
  ASSERT_EQ(rows.code, 0) << rows.err;
  EXPECT_EQ(get(path("whole.csv")), get(path("rows.csv")));
  const auto quantities = [](const Ran& ran) { return nlohmann::json::parse(ran.out).at("estimated"); };
  EXPECT_EQ(quantities(whole), quantities(rows));

  const Ran first =
      estimate({"--output", path("first.csv"), "--window", ":0.4s", "--checkpoint", path("first.twin")});
  ASSERT_EQ(first.code, 0) << first.err;
  const Ran rest = estimate({"--output", path("rest.csv"), "--resume", path("first.twin")});
  ASSERT_EQ(rest.code, 0) << rest.err;
  const Trajectory all = read_csv(path("whole.csv")), one = read_csv(path("first.csv")),
                   two = read_csv(path("rest.csv"));
  ASSERT_EQ(one.rows() + two.rows(), all.rows());
  ASSERT_EQ(two.rows(), 600u);
  for (std::size_t row = 0; row < two.rows(); ++row)
    for (std::size_t c = 0; c < two.columns(); ++c) {
      if (two.names[c].starts_with("innovation")) continue;  // of readings that were late at the seam
      ASSERT_EQ(two.at(row, c), all.at(row + 401, c)) << row << " " << two.names[c];
    }
}

TEST_F(FollowRecord, refuses_what_needs_the_whole_record_and_checkpoints_of_others) {
  const auto expect_fault = [](const Ran& ran, const char* code, const char* text) {
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(code), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  };
  expect_fault(estimate({"--smooth", "--checkpoint", path("a.twin")}), "T401",
               "--smooth needs the whole record");
  ASSERT_EQ(estimate({"--checkpoint", path("a.twin")}).code, 0);
  expect_fault(estimate({"--resume", path("a.twin"), "--estimator", "ukf"}), "T632",
               "another model, estimator");
  expect_fault(estimate({"--resume", path("a.twin"), "--set", "C1=0.11J/K"}), "T632",
               "another model, estimator");
  expect_fault(estimate({"--resume", path("record.csv")}), "T631", "it is none");
  expect_fault(estimate({"--resume", path("nothing.twin")}), "T180", "no such file");
  expect_fault(run_program({"estimate", network}), "T401", "there are no data");
  expect_fault(run_program({"estimate", network, "--realtime"}), "T401", "--listen");
  expect_fault(run_program({"estimate", network, "--realtime", "--listen", "udp:5999"}), "T633", "--step");
}

}  // namespace
}  // namespace tellegen
