// Studies of the torque converter and of the cell against published scores and reference derivatives.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "tellegen/model/test_text.h"
#include "tellegen/sensitivity/rank.h"

namespace tellegen {
namespace {

// models/torque-converter/sensitivities.csv: per parameter the integral part of dE_loss/dp, the whole
// derivative, dT_lockup/dp, and what was published, in the units of the model.
std::map<std::string, std::map<std::string, double>> reference() {
  std::ifstream file(TELLEGEN_SOURCE_DIR "/models/torque-converter/sensitivities.csv");
  std::map<std::string, std::map<std::string, double>> rows;
  std::vector<std::string> names;
  for (std::string line, cell; std::getline(file, line);) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    while (std::getline(cells, cell, ',')) row.push_back(cell);
    if (names.empty()) {
      names = row;
      continue;
    }
    for (std::size_t k = 1; k < row.size(); ++k)
      if (!row[k].empty()) rows[row[0]][names[k]] = std::stod(row[k]);
  }
  return rows;
}

std::vector<std::string> names_of(const std::map<std::string, std::map<std::string, double>>& rows) {
  std::vector<std::string> names;
  for (const auto& [name, row] : rows) names.push_back(name);
  return names;
}

StudyOptions options(bool fixed_end_time) {
  StudyOptions options;
  options.fixed_end_time = fixed_end_time;
  options.simulation.compile = false;
  return options;
}

// Per parameter: relative to the reference, and looser for the constants that hardly matter.
double bar(const std::string& parameter) { return parameter == "L_f" || parameter[0] == 'S' ? 1e-4 : 1e-6; }

TEST(TorqueConverterStudy, derivatives_are_those_of_the_reference) {
  const auto rows = reference();
  Study study(shipped_model("torque-converter"), {"E_loss", "T_lockup"}, names_of(rows), options(false));
  const StudyResult at = study.evaluate(study.nominal());
  ASSERT_EQ(at.failure, "");
  EXPECT_NEAR(at.values[0], 557827.35732004801, 1e-8 * 557827);
  EXPECT_NEAR(at.values[1], 11.41695787043238, 1e-8);
  for (std::size_t p = 0; p < study.parameter_count(); ++p) {
    const std::string& name = study.parameter(p).name;
    const double energy = in_units(at.gradient[p], "J", study.parameter(p).unit);
    const double time = in_units(at.gradient[study.parameter_count() + p], "s", study.parameter(p).unit);
    EXPECT_NEAR(energy / rows.at(name).at("dE_total_direct"), 1.0, bar(name)) << name;
    EXPECT_NEAR(time / rows.at(name).at("dTlockup_direct"), 1.0, bar(name)) << name;
  }
}

TEST(TorqueConverterStudy, published_scores_are_those_of_a_fixed_end) {
  const auto rows = reference();
  Study study(shipped_model("torque-converter"), {"E_loss"}, names_of(rows), options(true));
  const StudyResult at = study.evaluate(study.nominal());
  ASSERT_EQ(at.failure, "");
  const std::map<std::string, double> printed{
      {"R_p", -4.11}, {"R_s", 2.91},      {"alpha_s", 1.71}, {"rho", -0.55}, {"A", -0.55},
      {"R_t", -0.44}, {"alpha_t", -0.34}, {"J_t", 0.05},     {"J_p", 0.01},  {"alpha_p", 0.0}};
  int published = 0;
  for (const Importance& i : importance(study, at, 0)) {
    const std::string& name = study.parameter(i.parameter).name;
    EXPECT_NEAR(in_units(i.derivative, "J", study.parameter(i.parameter).unit) /
                    rows.at(name).at("chi_integral_only"),
                1.0, bar(name))
        << name;
    if (!printed.contains(name)) continue;
    EXPECT_NEAR(i.score, printed.at(name), 0.007) << name;
    ++published;
  }
  EXPECT_EQ(published, 10);
}

// What `optimize` does: other parameters, each time with the derivatives by those that the design may change.
// A torque that is zero from the moment the stator lets go must not be taken for one that crosses its
// threshold.
TEST(TorqueConverterStudy, has_derivatives_in_the_whole_space_of_its_design) {
  Study study(shipped_model("torque-converter"), {"E_loss"}, {"R_p", "R_s", "R_t", "rho"}, options(false));
  for (const double R_p : {0.115, 0.118, 0.12, 0.122, 0.125, 0.13}) {
    const std::vector<double> at{R_p, 0.088, 0.068, 840.0}, beside{R_p, 0.088, 0.068 * (1 + 1e-4), 840.0};
    const StudyResult here = study.evaluate(at), there = study.evaluate(beside);
    ASSERT_EQ(here.failure, "") << R_p;
    ASSERT_EQ(there.failure, "") << R_p;
    const double mean = 0.5 * (here.gradient[2] + there.gradient[2]);
    EXPECT_NEAR((there.values[0] - here.values[0]) / (beside[2] - at[2]) / mean, 1.0, 1e-3) << R_p;
  }
}

TEST(CellStudy, scores_of_the_efficiency) {
  Model model = shipped_model("nimh-cell");
  const std::array current{study_parameter(model, "I")};
  set_parameters(model, current, std::array{0.5});
  Study study(model, {"efficiency"}, {"L_NiOH2", "L_MH", "R_int", "c_e", "V_gas"}, options(false));
  const StudyResult at = study.evaluate(study.nominal());
  ASSERT_EQ(at.failure, "");
  const auto ranking = importance(study, at, 0);
  EXPECT_EQ(study.parameter(ranking.front().parameter).name, "L_NiOH2");
  EXPECT_EQ(study.parameter(ranking.back().parameter).name, "V_gas");
  EXPECT_NEAR(at.values[0], 1.0093964150446559, 1e-8);
  const double expected[] = {0.10147481708747111, 0.045029334146235653, -0.0037868141090859927,
                             0.0029164203639958702};
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(ranking[k].score / expected[k], 1.0, 1e-6) << k;
  EXPECT_LT(std::abs(ranking[4].score), 1e-9);
}

}  // namespace
}  // namespace tellegen
