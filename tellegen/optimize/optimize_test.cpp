// Designs whose optimum is known in closed form.
#include "tellegen/optimize/optimize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/read.h"

namespace tellegen {
namespace optimize_test {

// A source with inner resistance and a load; goals that are formulas of parameters need no run at all.
Model model(const std::string& studied) {
  return read_model_text(R"toml(
[parameters]
a = 0.2
b = 0.3
R = "120 ohm"
[components]
source = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "10 V" }
inner = { kind = "electrical.resistor", p = "s", n = "out", R = "50 ohm" }
load = { kind = "electrical.resistor", p = "out", n = "datum", R = "R" }
[simulation]
stop = "1 ms"
step = "1 ms"
[objectives]
power = { end = "load.v*load.i" }
loss = { end = "inner.v*inner.i" }
)toml" + studied,
                         "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

StudyOptions interpreted() {
  StudyOptions options;
  options.simulation.compile = false;
  return options;
}

OptimizeResult optimum(const std::string& studied, const OptimizeOptions& options = {}) {
  DesignProblem problem(model(studied), interpreted());
  return optimize(problem, options);
}

TEST(Optimize, a_load_takes_most_power_where_it_equals_the_source_s_resistance) {
  const auto found =
      optimum("[design]\nvariables = { R = [\"10 ohm\", \"0.2 kohm\"] }\nmaximize = \"power\"\n");
  EXPECT_TRUE(found.best.converged) << found.best.stopped;
  EXPECT_NEAR(found.best.best.numbers[0], 50.0, 1e-2);
  EXPECT_NEAR(found.best.best.objectives[0], 0.5, 1e-8);
  EXPECT_NEAR(found.before.objectives[0], 120 * std::pow(10.0 / 170, 2), 1e-9);
}

class EveryAlgorithm : public testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithm, holds_a_constraint_that_cuts_the_minimum_off) {
  OptimizeOptions options;
  options.algorithm = GetParam();
  const auto found = optimum(R"toml(
f = { formula = "(a - 1)^2 + (b - 2)^2" }
[design]
variables = { a = [0, 5], b = [0, 5] }
minimize = "f"
constraints = ["a + b <= 2"]
)toml",
                             options);
  EXPECT_TRUE(found.best.converged) << found.best.stopped;
  EXPECT_NEAR(found.best.best.numbers[0], 0.5, 1e-4);
  EXPECT_NEAR(found.best.best.numbers[1], 1.5, 1e-4);
  EXPECT_NEAR(found.best.best.constraints[0], 0.0, 1e-5);
}

TEST_P(EveryAlgorithm, ends_exactly_on_a_bound) {
  OptimizeOptions options;
  options.algorithm = GetParam();
  const auto found = optimum(R"toml(
f = { formula = "a - 1000*b" }
[design]
variables = { a = [0.1, 1], b = [0, 0.7] }
minimize = "f"
)toml",
                             options);
  EXPECT_TRUE(found.best.converged) << found.best.stopped;
  EXPECT_NEAR(found.best.best.numbers[0], 0.1, 1e-9);
  EXPECT_NEAR(found.best.best.numbers[1], 0.7, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Optimize, EveryAlgorithm, testing::ValuesIn(optimize_algorithms()));

TEST(Optimize, a_start_that_breaks_a_constraint_is_moved_first) {
  const auto found = optimum(R"toml(
f = { formula = "a^2 + b^2" }
[design]
variables = { a = [-3, 3], b = [-3, 3] }
minimize = "f"
constraints = ["a*b >= 1", "a >= 0"]
)toml");
  EXPECT_EQ(found.best.broken, std::vector<std::string>{"a*b >= 1"});
  EXPECT_TRUE(found.best.converged) << found.best.stopped;
  EXPECT_NEAR(found.best.best.numbers[0], 1.0, 1e-3);
  EXPECT_NEAR(found.best.best.goal, 2.0, 1e-4);
}

TEST(Optimize, what_cannot_be_held_is_named) {
  const auto found = optimum(R"toml(
f = { formula = "a^2" }
[design]
variables = { a = [0, 1] }
minimize = "f"
constraints = ["a >= 2"]
)toml");
  EXPECT_FALSE(found.best.feasible);
  EXPECT_EQ(found.best.stopped, "no point was found that holds 'a >= 2'");
}

TEST(Optimize, several_starts_find_the_deeper_valley_and_the_same_one_each_time) {
  const std::string valleys = R"toml(
f = { formula = "sin(9*a) + a" }
[design]
variables = { a = [0, 2] }
maximize = "f"
)toml";
  OptimizeOptions options;
  const auto one = optimum(valleys, options);
  options.starts = 8;
  options.seed = 7;
  const auto many = optimum(valleys, options), again = optimum(valleys, options);
  EXPECT_GT(many.best.best.objectives[0], one.best.best.objectives[0] + 0.5);
  // cos(9a) = -1/9 on the last hill before 2
  EXPECT_NEAR(many.best.best.numbers[0], (4 * M_PI + std::acos(-1.0 / 9)) / 9, 1e-5);
  EXPECT_EQ(many.best.best.numbers, again.best.best.numbers);
}

TEST(Optimize, runs_that_fail_end_the_search_with_the_best_point) {
  const auto found = optimum(R"toml(
f = { formula = "b + sqrt(a - 0.3)" }
[design]
variables = { a = [0, 1], b = [0, 1] }
minimize = "f"
)toml");
  EXPECT_FALSE(found.best.converged);
  EXPECT_NE(found.best.stopped.find("failed"), std::string::npos) << found.best.stopped;
}

TEST(Optimize, a_start_that_alone_can_be_run_is_no_minimum) {
  const auto found = optimum(R"toml(
f = { formula = "a + if(abs(a - 0.2) < 1e-12, 0, sqrt(-1 - a))" }
[design]
variables = { a = [0, 1] }
minimize = "f"
)toml");
  EXPECT_FALSE(found.best.converged);
  EXPECT_NE(found.best.stopped.find("all but the one at the start"), std::string::npos) << found.best.stopped;
}

TEST(Optimize, few_evaluations_are_no_minimum) {
  OptimizeOptions options;
  options.most_evaluations = 3;
  const auto found = optimum(R"toml(
f = { formula = "(1 - a)^2 + 100*(b - a^2)^2" }
[design]
variables = { a = [-2, 2], b = [-2, 2] }
minimize = "f"
)toml",
                             options);
  EXPECT_FALSE(found.best.converged);
  EXPECT_EQ(found.best.stopped, "no minimum after 3 evaluations");
  EXPECT_LE(found.best.best.goal, found.before.goal);
}

const std::string two_goals = R"toml(
f = { formula = "a^2 + 0*b" }
g = { formula = "-10*(a - 2)^2" }
[design]
variables = { a = [-1, 4] }
minimize = { f = 1.0, g = -1.0 }
)toml";

TEST(Optimize, weights_make_ranges_equal) {
  DesignProblem problem(model(two_goals), interpreted());
  const auto ranges = problem.ranges();
  EXPECT_NEAR(ranges[0].low, 1.0, 1e-12);
  EXPECT_NEAR(ranges[0].high, 16.0, 1e-12);
  const auto weights = weights_from(ranges, problem.design());  // 1/15 to 1/50
  EXPECT_NEAR(weights[0], 50.0 / 65, 1e-12);
  EXPECT_NEAR(weights[1], -15.0 / 65, 1e-12);
}

TEST(Optimize, a_front_is_the_curve_between_two_optima) {
  DesignProblem problem(model(two_goals), interpreted());
  const auto front = pareto_front(problem, {}, 9);
  EXPECT_EQ(front.size(), 9u);
  for (const StartResult& point : front)
    EXPECT_NEAR(std::sqrt(point.best.objectives[0]) + std::sqrt(-point.best.objectives[1] / 10), 2.0, 1e-4);
  EXPECT_NEAR(front.front().best.numbers[0], 0.0, 1e-4);
  EXPECT_NEAR(front.back().best.numbers[0], 2.0, 1e-4);
}

TEST(Optimize, bounds_that_a_component_cannot_have_are_a_fault) {
  try {
    DesignProblem problem(model("[design]\nvariables = { R = [-1, 10] }\nminimize = \"loss\"\n"),
                          interpreted());
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].code, "T145");
  }
  EXPECT_THROW(DesignProblem(model(""), interpreted()), ModelError);
}

}  // namespace optimize_test
}  // namespace tellegen
