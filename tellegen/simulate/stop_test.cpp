#include "tellegen/simulate/stop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace stop_test {

// 1 V on 1 F into 1 ohm: exp(-t).
constexpr const char* discharge = R"toml(
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 1 }
)toml";

SimulationResult run_until(std::string_view components, const std::string& condition,
                           SimulationOptions options, const std::vector<std::string>& outputs) {
  Model model = model_of(components);
  model.simulation.stop_when = parse_value(model, condition, {});
  add_stop_watch(model, options);
  SimulationResult result = Simulation(model, options, columns_of(model, outputs)).run();
  EXPECT_EQ(result.failure, "");
  return result;
}

// The step to 0.01 s has a solution, the one to 0.005 s that is tried then has none.
TEST(Stop, where_no_part_of_a_step_has_a_solution_a_run_in_pieces_fails_too) {
  constexpr const char* jumping = R"toml(
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 7.73 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "if(b.v > 0.8, 0.4, 0.3)" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.18785561841869214, v0 = 0.3 }
)toml";
  for (const char* form : {"auto", "tableau", "minimal"})
    for (const bool pieces : {false, true}) {
      SimulationOptions options = options_of("bdf2", 1.0, 0.01);
      options.form = form;
      options.event_bisections = 20;
      Model model = model_of(jumping);
      model.simulation.stop_when = parse_value(model, "b.v > 1.1", {});
      add_stop_watch(model, options);
      const SimulationResult result = Simulation(model, options, columns_of(model, {"b.v"}))
                                          .run(pieces ? Progress([](double) {}) : Progress());
      EXPECT_NE(result.failure.find("did not converge in the step to t = 0.005 s"), std::string::npos)
          << form << pieces << result.failure;
      EXPECT_EQ(result.t.size(), 1u) << form << pieces;  // what was tried is no result
    }
}

struct StopMethod {
  const char *method, *form;
  int bisections;
  double tolerance;  // of the end time
};
class Stop : public testing::TestWithParam<StopMethod> {};

TEST_P(Stop, a_run_ends_where_its_condition_becomes_true) {
  const StopMethod& m = GetParam();
  if (m.method == std::string("adaptive") && !has_adaptive()) GTEST_SKIP();
  for (const double sample : {1e-3, 7e-3}) {
    SimulationOptions options = options_of(m.method, 5.0, 1e-3);
    options.sample = sample;
    options.form = m.form;
    options.event_bisections = m.bisections;
    if (m.method == std::string("adaptive")) options.tolerance = 1e-10;
    const SimulationResult result = run_until(discharge, "a.v < 0.3", options, {"a.v", "t"});
    const double expected = -std::log(0.3);
    ASSERT_TRUE(result.ended);
    EXPECT_NEAR(*result.ended, expected, m.tolerance);
    EXPECT_EQ(result.t.back(), *result.ended);
    EXPECT_EQ(result.values.back(), *result.ended);  // the last row belongs to that time
    EXPECT_NEAR(result.values[result.values.size() - 2], std::exp(-*result.ended), m.tolerance);
    // Rows of the samples before, and nothing after.
    ASSERT_EQ(result.t.size(), static_cast<std::size_t>(std::ceil(*result.ended / sample - 1e-6)) + 1);
    for (std::size_t k = 0; k + 1 < result.t.size(); ++k) {
      EXPECT_DOUBLE_EQ(result.t[k], sample * static_cast<double>(k));
      EXPECT_NEAR(result.values[2 * k], std::exp(-result.t[k]), std::max(1e-9, m.tolerance));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    all, Stop,
    testing::Values(StopMethod{"tr", "auto", 20, 1e-5}, StopMethod{"tr", "auto", 0, 1e-3},
                    StopMethod{"bdf2", "minimal", 20, 1e-5}, StopMethod{"bdf3", "auto", 5, 1e-4},
                    StopMethod{"rk4", "auto", 0, 1e-3}, StopMethod{"rk4", "auto", 30, 1e-9},
                    StopMethod{"adaptive", "auto", 0, 2e-7}));

TEST(Stop, a_large_network_ends_like_a_small_one) {
  std::string ladder(discharge);
  for (int k = 0; k < 80; ++k)
    ladder += fmt::format(
        "r{0} = {{ kind = \"electrical.resistor\", p = \"n{0}\", n = \"datum\", R = 1 }}\n"
        "c{0} = {{ kind = \"electrical.capacitor\", p = \"n{0}\", n = \"datum\", C = 1 }}\n"
        "s{0} = {{ kind = \"electrical.resistor\", p = \"n{0}\", n = \"n{1}\", R = 1 }}\n",
        k, k + 1);
  ladder += "s80 = { kind = \"electrical.resistor\", p = \"n80\", n = \"datum\", R = 1 }\n";
  for (const int bisections : {0, 20}) {
    SimulationOptions options = options_of("tr", 5.0, 1e-3);
    options.event_bisections = bisections;
    options.sample = 7e-3;
    const SimulationResult result = run_until(ladder, "a.v < 0.3", options, {"a.v", "t"});
    ASSERT_TRUE(result.ended);
    EXPECT_TRUE(result.statistics.executor.starts_with("kernels")) << result.statistics.executor;
    EXPECT_NEAR(*result.ended, -std::log(0.3), bisections == 0 ? 1e-3 : 1e-5);
    EXPECT_EQ(result.values.back(), result.t.back());
    EXPECT_EQ(result.t.size(), static_cast<std::size_t>(std::ceil(*result.ended / 7e-3 - 1e-6)) + 1);
  }
}

TEST(Stop, a_condition_that_holds_from_the_start_leaves_one_row) {
  for (const char* method : {"tr", "adaptive"}) {
    if (method == std::string("adaptive") && !has_adaptive()) continue;
    const SimulationResult result = run_until(discharge, "a.v > 0.5", options_of(method, 5.0, 0.1), {"a.v"});
    ASSERT_EQ(result.t.size(), 1u);
    EXPECT_EQ(result.t[0], 0.0);
    EXPECT_EQ(result.ended, 0.0);
  }
}

TEST(Stop, a_condition_that_is_not_met_is_noted) {
  const SimulationResult result = run_until(discharge, "a.v < 0", options_of("tr", 1.0, 0.1), {"a.v"});
  EXPECT_FALSE(result.ended);
  EXPECT_EQ(result.t.size(), 11u);
  EXPECT_NE(result.brief().find("did not become true before t = 1 s"), std::string::npos) << result.brief();
}

TEST(Stop, an_end_at_a_sample_is_one_row) {
  for (const char* method : {"tr", "adaptive"}) {
    if (method == std::string("adaptive") && !has_adaptive()) continue;
    const SimulationResult result = run_until(discharge, "t >= 0.5", options_of(method, 5.0, 0.1), {"t"});
    ASSERT_EQ(result.t.size(), 6u) << method;
    EXPECT_NEAR(result.t.back(), 0.5, 1e-12);
  }
}

// A crossing at a hundredth of the rate elsewhere, 1 - exp(-t) = 0.99 at t = ln 100: the error of the time is
// that of the voltage, some tolerances, over the rate. (A row ends a step: a thousand rows add up a thousand
// errors.)
TEST(Stop, a_slow_crossing_is_located_as_well) {
  if (!has_adaptive()) GTEST_SKIP();
  for (const double tolerance : {1e-8, 1e-10, 1e-12})
    for (const double sample : {0.1, 1.0}) {
      SimulationOptions options = options_of("adaptive", 10.0, sample);
      options.tolerance = tolerance;
      const SimulationResult result = run_until(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = 1 }
r = { kind = "electrical.resistor", p = "s", n = "a", R = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
)toml",
                                                "a.v > 0.99", options, {"a.v"});
      ASSERT_TRUE(result.ended);
      EXPECT_NEAR(*result.ended, std::log(100.0), 20 * tolerance / 0.01) << tolerance;
    }
}

TEST(Stop, the_watch_is_no_part_of_the_default_outputs) {
  Model model = model_of(discharge);
  model.simulation.stop_when = parse_value(model, "a.v < 0.3", {});
  SimulationOptions options = options_of("tr", 5.0, 0.1);
  add_stop_watch(model, options);
  const EquationSystem system = build_system(model);
  for (const OutputColumn& c : default_outputs(system, true)) EXPECT_FALSE(c.name.starts_with("stop_when"));
}

}  // namespace stop_test
}  // namespace tellegen
