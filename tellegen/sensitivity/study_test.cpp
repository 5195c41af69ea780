// Objectives of small circuits against their closed forms.
#include "tellegen/sensitivity/study.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/sensitivity/rank.h"

namespace tellegen {
namespace study_test {

// A capacitor charged through a resistor from 0 V: v = V (1 - exp(-t/RC)).
const char* const charging = R"toml(
[parameters]
V = "10 V"
R = "2 ohm"
C = "0.5 F"
unused = 3
half_time = 1.0
[components]
v1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C", v0 = "0 V" }
[simulation]
stop = "1.5*R*C"
step = "1 ms"
method = "tr"
event_bisections = 30
[objectives]
charge   = { integral = "r1.i", unit = "C" }
v_end    = { end = "c1.v" }
half     = { time_when = "c1.v > 5" }
never    = { time_when = "c1.v > 50" }
peak     = { maximum = "r1.i" }
least    = { minimum = "r1.i", unit = "mA" }
per_farad = { formula = "charge/C" }
ratio    = { formula = "reverse/charge" }
reverse  = { integral = "r1.i", run = "reverse" }
half_at  = { end = "t", run = "short" }
[runs.reverse]
parameters = { V = "-2*V" }
[runs.short]
stop = "half_time"
parameters = { half_time = "R*C/4" }
)toml";

Model model(const std::string& text = charging) {
  return read_model_text(text, "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

StudyOptions differences() {
  StudyOptions options;
  options.method = StudyOptions::Method::finite_difference;
  options.simulation.compile = false;
  return options;
}

TEST(Study, values_are_those_of_the_closed_form) {
  Study study(model(), {"charge", "v_end", "half", "peak", "least", "per_farad", "ratio", "half_at"}, {},
              differences());
  const StudyResult at = study.values({});
  ASSERT_EQ(at.failure, "");
  const double v_end = 10 * (1 - std::exp(-1.5));
  const double expected[] = {0.5 * v_end, v_end, std::log(2.0), 5.0, 5 * std::exp(-1.5), v_end, -2.0, 0.25};
  for (std::size_t k = 0; k < std::size(expected); ++k)
    EXPECT_NEAR(at.values[k], expected[k], 1e-6 * std::abs(expected[k])) << study.objective(k).name;
  EXPECT_EQ(at.runs.size(), 3u);
  EXPECT_NEAR(at.runs[0].end_time, 1.5, 1e-12);
}

struct MethodCase {
  StudyOptions::Method method;
  double near;  // the steps' own derivative: across an event it is of first order in the step
};
StudyOptions by(const MethodCase& with) {
  StudyOptions options = differences();
  options.method = with.method;
  options.difference_step = 3e-3;
  return options;
}
class EveryMethod : public testing::TestWithParam<MethodCase> {};

TEST_P(EveryMethod, derivatives_flow_through_expressions_runs_and_the_end) {
  const double near = GetParam().near;
  Study study(model(), {"v_end", "half", "per_farad", "reverse", "half_at", "peak"},
              {"V", "R", "C", "unused"}, by(GetParam()));
  const StudyResult at = study.evaluate(study.nominal());
  ASSERT_EQ(at.failure, "");
  const auto slope = [&](int objective, int parameter) { return at.gradient[objective * 4 + parameter]; };
  const double rise = 1 - std::exp(-1.5);
  // The end is 1.5 RC, so v_end does not depend on R and C.
  EXPECT_NEAR(slope(0, 0), rise, near);
  EXPECT_NEAR(slope(0, 1), 0.0, near);
  EXPECT_NEAR(slope(0, 2), 0.0, near);
  // RC log(V/(V - 5)) at V = 10
  EXPECT_NEAR(slope(1, 0), 1.0 / 10 - 1.0 / 5, near);
  EXPECT_NEAR(slope(1, 1), 0.5 * std::log(2.0), near);
  EXPECT_NEAR(slope(2, 2), 0.0, near);              // charge/C = v_end
  EXPECT_NEAR(slope(3, 0), -2 * 0.5 * rise, near);  // through V = "-2*V"
  EXPECT_NEAR(slope(4, 1), 0.125, near);            // RC/4
  EXPECT_NEAR(slope(5, 1), -10 / 4.0, near);        // V/R at the start
  for (int k = 0; k < 6; ++k) EXPECT_EQ(slope(k, 3), 0.0);
}

TEST_P(EveryMethod, a_held_end_leaves_out_what_its_moving_does) {
  StudyOptions options = by(GetParam());
  options.fixed_end_time = true;
  Study study(model(), {"v_end"}, {"R"}, options);
  const StudyResult at = study.evaluate(study.nominal());
  // d/dR V (1 - exp(-T/RC)) at T = 1.5 s
  EXPECT_NEAR(at.gradient[0], -10 * 1.5 * std::exp(-1.5) / 2, GetParam().near);
}

INSTANTIATE_TEST_SUITE_P(Study, EveryMethod,
                         testing::Values(MethodCase{StudyOptions::Method::forward, 5e-3},
                                         MethodCase{StudyOptions::Method::adjoint, 5e-3},
                                         MethodCase{StudyOptions::Method::finite_difference, 1e-3}));

TEST(Study, an_event_that_never_happens_is_told) {
  Study study(model(), {"never"}, {"R"}, differences());
  const StudyResult at = study.evaluate(study.nominal());
  EXPECT_TRUE(std::isnan(at.values[0]));
  ASSERT_EQ(at.warnings.size(), 1u);
  EXPECT_NE(at.warnings[0].find("'never' has no value"), std::string::npos) << at.warnings[0];
}

TEST(Study, a_kink_is_told) {
  std::string text = charging;
  text.replace(text.find("\"c1.v > 50\""), 11, "\"t > max(R, 4 - R)/2\"");
  Study study(model(text), {"never"}, {"R"}, differences());
  const StudyResult at = study.evaluate(study.nominal());
  ASSERT_EQ(at.warnings.size(), 1u);
  EXPECT_NE(at.warnings[0].find("kink"), std::string::npos) << at.warnings[0];
}

TEST(Study, unknown_names_suggest_the_nearest) {
  try {
    Study(model(), {"chrage"}, {}, differences());
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].code, "T141");
    EXPECT_EQ(error.faults()[0].details[0], "did you mean 'charge'?");
  }
  EXPECT_THROW(Study(model(), {"charge"}, {"r1.Q"}, differences()), ModelError);
}

TEST(Study, a_number_of_a_component_is_a_parameter) {
  Study study(model(), {"v_end"}, {"c1.v0"}, differences());
  EXPECT_NEAR(study.evaluate(study.nominal()).gradient[0], std::exp(-1.5), 1e-5);  // nominal 0: step of 1 V
}

TEST(Rank, scores_are_relative_and_sorted) {
  Study study(model(), {"half"}, {"unused", "V", "R", "C"}, by({StudyOptions::Method::automatic, 0}));
  const StudyResult at = study.evaluate(study.nominal());
  const auto ranking = importance(study, at, 0);
  EXPECT_EQ(study.parameter(ranking[0].parameter).name, "V");
  EXPECT_NEAR(ranking[0].score, -1.0 / std::log(2.0), 2e-3);  // of first order in the step, as above
  EXPECT_NEAR(ranking[1].score, 1.0, 2e-3);
  EXPECT_EQ(study.parameter(ranking[3].parameter).name, "unused");
  EXPECT_EQ(ranking[3].score, 0.0);
}

TEST(Rank, derivatives_are_per_unit) {
  EXPECT_DOUBLE_EQ(in_units(1.0, "kJ", "mm"), 1e-6);
  EXPECT_NEAR(in_units(1.0, "", "deg"), M_PI / 180, 1e-15);
  EXPECT_DOUBLE_EQ(in_units(1.0, "degC", "degC"), 1.0);
  EXPECT_EQ(derivative_unit("J", "kg/m3"), "J/(kg/m3)");
  EXPECT_EQ(derivative_unit("", "deg"), "1/deg");
}

}  // namespace study_test
}  // namespace tellegen
