// The inverter's thermal network and the RC benchmark against their references: matrix exponentials of the
// network together with the generator of its inputs, checked by an independent integration of order 8.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tellegen/results/test_folder.h"
#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path models = TELLEGEN_SOURCE_DIR "/models";

// The largest |value - reference| of all columns of the reference, at its rows.
double largest_difference(const Trajectory& run, const Trajectory& reference) {
  double largest = 0.0;
  std::size_t row = 0;
  for (std::size_t r = 0; r < reference.rows(); ++r) {
    while (row + 1 < run.rows() && run.t[row] < reference.t[r] - 1e-9) ++row;
    EXPECT_NEAR(run.t[row], reference.t[r], 1e-9);
    for (std::size_t c = 0; c < reference.names.size(); ++c) {
      const auto at = run.find(reference.names[c]);
      if (!at) {
        ADD_FAILURE() << "no column " << reference.names[c];
        return INFINITY;
      }
      largest = std::max(largest, std::abs(run.at(row, *at) - reference.at(r, c)));
    }
  }
  return largest;
}

struct Case {
  const char *model, *reference;
};

class ThermalReference : public testing::TestWithParam<Case> {};

TEST_P(ThermalReference, exact_follows_it_to_1e_10_kelvin) {
  const TestFolder folder;
  const std::string out = (folder / "run.csv").string();
  const Ran ran = run_program({"simulate", (models / GetParam().model).string(), "--output", out});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Trajectory reference = read_csv(models / GetParam().reference);
  ASSERT_GT(reference.rows(), 100u);
  EXPECT_LT(largest_difference(read_csv(out), reference), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(files, ThermalReference,
                         testing::Values(Case{"inverter/model.toml", "inverter/reference-case1.csv"},
                                         Case{"inverter/case1.toml", "inverter/reference-case1.csv"},
                                         Case{"inverter/case2.toml", "inverter/reference-case2.csv"},
                                         Case{"inverter/case3.toml", "inverter/reference-case3.csv"},
                                         Case{"inverter/case4.toml", "inverter/reference-case4.csv"},
                                         Case{"rc-thermal/network.toml", "rc-thermal/reference-network.csv"},
                                         Case{"rc-thermal/network-sine.toml",
                                              "rc-thermal/reference-network-sine.csv"}));

// The counts of the paper: unknowns, algebraic and differential equations.
TEST(ThermalNetworks, have_the_published_numbers_of_equations) {
  const auto counts = [](const char* model) {
    const Ran ran = run_program({"check", (models / model).string(), "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto said = nlohmann::json::parse(ran.out);
    return std::vector<int>{said.at("variables"), said.at("algebraic"), said.at("differential"),
                            said.at("nodes"), said.at("flows")};
  };
  EXPECT_EQ(counts("inverter/model.toml"), (std::vector<int>{37, 32, 5, 14, 23}));
  for (const char* model : {"inverter/case2.toml", "inverter/case3.toml", "inverter/case4.toml"})
    EXPECT_EQ(counts(model), (std::vector<int>{37, 32, 5, 14, 23})) << model;
  EXPECT_EQ(counts("rc-thermal/network.toml"), (std::vector<int>{10, 8, 2, 4, 6}));
  const Ran ran = run_program({"check", (models / "inverter/model.toml").string()});
  EXPECT_NE(ran.out.find("n = 37: 14 nodes, 23 flows"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("m = 32 algebraic, p = 5 differential"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace tellegen
