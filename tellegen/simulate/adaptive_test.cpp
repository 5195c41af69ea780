#include "tellegen/simulate/adaptive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace adaptive_test {

struct Adaptive : testing::Test {
  void SetUp() override {
    if (!has_adaptive()) GTEST_SKIP() << "built without SUNDIALS";
  }
  static SimulationOptions options(double stop, double sample, double tolerance) {
    SimulationOptions o = options_of("adaptive-ida", stop, sample);
    o.tolerance = tolerance;
    return o;
  }
};

TEST_F(Adaptive, the_error_follows_the_tolerance) {
  constexpr const char* oscillator = R"toml(
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 1 }
)toml";
  double last = 1.0;
  for (double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
    const TestRun run(oscillator, options(10.0, 0.5, tolerance), {"a.v", "l.i"});
    const double error = run.largest_error("a.v", [](double t) { return std::cos(t); });
    EXPECT_LT(error, 300 * tolerance);
    EXPECT_LT(error, last);
    last = error;
  }
}

// Storages in a circuit with a source that jumps share what that brings, beside a variable too; what does not
// jump then is no hindrance.
TEST_F(Adaptive, storages_that_would_jump_are_refused) {
  const auto failure = [](const std::string& value) {
    const Model model =
        model_of("v = { kind = \"electrical.voltage_source\", p = \"b\", n = \"a\", V = \"" + value +
                 R"toml(" }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
c2 = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
other = { kind = "electrical.current_source", p = "datum", n = "c", I = "if(t < 0.4, 4, 3)" }
r = { kind = "electrical.resistor", p = "c", n = "datum", R = 1 }
)toml");
    return Simulation(model, options(1.0, 0.1, 1e-6), {}).run().failure;
  };
  EXPECT_NE(failure("if(t < 0.4, 4, 3)"), "");
  EXPECT_NE(failure("-0.4*a.v + if(t < 0.4, 4, 3)"), "");
  EXPECT_EQ(failure("-0.4*a.v + cos(t)"), "");
}

TEST_F(Adaptive, corners_of_a_source_are_located_as_events) {
  // A square wave of 1 s into 1 F through a current source: a triangle.
  const TestRun run(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "if(mod(t, 2) < 1, 1, -1)" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1e9 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
)toml",
                    options(5.9, 0.1, 1e-8), {"a.v"});
  EXPECT_LT(run.largest_error("a.v",
                              [](double t) {
                                const double phase = std::fmod(t, 2.0);
                                return phase < 1 ? phase : 2 - phase;
                              }),
            1e-6);
  EXPECT_GE(run.result.statistics.events, 3);
}

TEST_F(Adaptive, an_algebraic_variable_may_jump_at_an_event) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t < 0.55, 1, 3)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
)toml",
                    options(2.0, 0.1, 1e-8), {"b.v", "r.i"});
  const auto v = [](double t) {
    if (t < 0.55) return 1 - std::exp(-t);
    return 3 - (2 + std::exp(-0.55)) * std::exp(-(t - 0.55));
  };
  EXPECT_LT(run.largest_error("b.v", v), 1e-6);
  EXPECT_LT(run.largest_error("r.i", [&](double t) { return (t < 0.55 ? 1 : 3) - v(t); }), 1e-6);
}

TEST_F(Adaptive, redundant_storage_is_integrated) {
  const TestRun run(R"toml(
r  = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.4, v0 = 2 }
c2 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.2, v0 = 2 }
)toml",
                    options(6.0, 0.5, 1e-8), {"a.v", "c1.i"});
  EXPECT_LT(run.largest_error("a.v", [](double t) { return 2 * std::exp(-t / 6); }), 1e-6);
  EXPECT_LT(run.largest_error("c1.i", [](double t) { return -2 * std::exp(-t / 6) / 15; }), 1e-4);
}

TEST_F(Adaptive, follows_the_rectifier) {
  const TestRun run(shipped_model("rectifier"), options(0.4, 1e-3, 1e-7), {"r1.i"});
  SimulationOptions fine = options_of("tr", 0.4, 2e-5);
  fine.sample = 1e-3;
  const TestRun reference(shipped_model("rectifier"), fine, {"r1.i"});
  for (std::size_t r = 0; r < run.rows(); ++r) EXPECT_NEAR(run.at(r, "r1.i"), reference.at(r, "r1.i"), 1e-4);
}

}  // namespace adaptive_test
}  // namespace tellegen
