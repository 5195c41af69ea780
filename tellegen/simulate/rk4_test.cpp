#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace rk4_test {

constexpr const char* oscillator = R"toml(
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 1 }
)toml";

TEST(Rk4, halving_the_step_divides_the_error_by_sixteen) {
  double error[3];
  for (int k = 0; k < 3; ++k)
    error[k] = TestRun(oscillator, options_of("rk4", 6.0, 0.2 / (1 << k)), {"a.v"})
                   .largest_error("a.v", [](double t) { return std::cos(t); });
  EXPECT_NEAR(std::log2(error[0] / error[1]), 4.0, 0.15);
  EXPECT_NEAR(std::log2(error[1] / error[2]), 4.0, 0.15);
}

TEST(Rk4, integrates_a_cubic_exactly) {
  const TestRun run(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "12*t^2*(1 - t)" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
)toml",
                    options_of("rk4", 1.0, 0.25), {"a.v"});
  EXPECT_LT(run.largest_error("a.v", [](double t) { return 4 * t * t * t - 3 * t * t * t * t; }), 1e-14);
}

// Inside a step and at the end of one; in formulas, and where a junction beside it is iterated on.
TEST(Rk4, keeps_its_order_where_a_source_jumps) {
  for (const std::string junction : {"", R"toml(
v2 = { kind = "electrical.voltage_source", p = "x", n = "datum", V = 1 }
r2 = { kind = "electrical.resistor", p = "x", n = "y", R = 1 }
d2 = { kind = "electrical.diode", p = "y", n = "datum" }
)toml"})
    for (const double jump : {0.3337, 0.5}) {
      const std::string model = R"toml(
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t < JUMP, 1, -1)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.5, v0 = 0 }
)toml" + junction;
      std::string text = model;
      text.replace(text.find("JUMP"), 4, std::to_string(jump));
      double error[2];
      for (int k = 0; k < 2; ++k)
        error[k] = TestRun(text.c_str(), options_of("rk4", 2.0, 0.1 / (1 << k)), {"b.v"})
                       .largest_error("b.v", [&](double t) {
                         const double before = 1 - std::exp(-2 * std::min(t, jump));
                         return t <= jump ? before : -1 + (before + 1) * std::exp(-2 * (t - jump));
                       });
      EXPECT_GT(std::log2(error[0] / error[1]), 3.5) << jump << junction;
      EXPECT_LT(error[0], 3e-5) << jump << junction;
    }
}

// Only where something jumps are slopes those a little to the right.
TEST(Rk4, a_jump_to_come_changes_nothing_before_it) {
  const auto run = [](const char* voltage) {
    const std::string text = fmt::format(
        "v = {{ kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"{}\" }}\n"
        "r = {{ kind = \"electrical.resistor\", p = \"a\", n = \"b\", R = 1 }}\n"
        "c = {{ kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 0.5, v0 = 0 }}\n",
        voltage);
    return TestRun(text.c_str(), options_of("rk4", 2.0, 0.1), {"b.v"});
  };
  const TestRun later = run("if(t < 1.75, 1, 0)*t^3");
  for (std::size_t k = 0; k <= 17; ++k) EXPECT_EQ(later.result.values[k], run("t^3").result.values[k]) << k;
  // One that is there is seen from the right.
  EXPECT_EQ(run("if(t <= 0, 5, t^3)").result.values[1], later.result.values[1]);
}

// A source that turns round whenever a capacitor passes half of it; in formulas, and iterated on.
TEST(Rk4, keeps_its_order_where_events_are_looked_for) {
  for (const std::string junction : {"", R"toml(
v2 = { kind = "electrical.voltage_source", p = "x", n = "datum", V = 1 }
r2 = { kind = "electrical.resistor", p = "x", n = "y", R = 1 }
d2 = { kind = "electrical.diode", p = "y", n = "datum" }
)toml"}) {
    const std::string model = R"toml(
k = { kind = "signals.comparator", u = "b.v", upper = 0.5, lower = -0.5 }
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(k.y > 0.5, -1, 1)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.5, v0 = 0 }
)toml" + junction;
    const auto expected = [](double t) {
      const double first = 0.5 * std::log(2.0), turn = 0.5 * std::log(3.0);
      if (t < first) return 1 - std::exp(-2 * t);
      const double turns = std::floor((t - first) / turn), since = t - first - turns * turn;
      const double falling = -1 + 1.5 * std::exp(-2 * since);
      return std::fmod(turns, 2.0) == 0.0 ? falling : -falling;
    };
    double error[2];
    for (int k = 0; k < 2; ++k) {
      SimulationOptions options = options_of("rk4", 4.0, 0.1 / (1 << k));
      options.sample = 0.2;
      options.event_bisections = 40;
      const TestRun run(model.c_str(), options, {"b.v"});
      EXPECT_EQ(run.result.statistics.events, 7) << junction;
      error[k] = run.largest_error("b.v", expected);
    }
    EXPECT_GT(std::log2(error[0] / error[1]), 3.5) << junction;
    EXPECT_LT(error[0], 2e-4) << junction;
  }
}

TEST(Rk4, compiled_and_interpreted_agree_to_the_last_bit) {
  SimulationOptions options = options_of("rk4", 1.0, 0.01);
  const std::vector<std::string> outputs{"n6.v", "l2.i", "e1.i"};
  const TestRun interpreted(shipped_model("ladder-2"), options, outputs);
  options.compile = true;
  const TestRun compiled(shipped_model("ladder-2"), options, outputs);
  EXPECT_EQ(interpreted.result.values, compiled.result.values);
}

// The resistance follows a temperature: algebraic unknowns are found at every stage.
TEST(Rk4, solves_nonlinear_equations_at_every_stage_and_keeps_its_order) {
  // C T' = -T/R(T) with R = 2 T: T' = -1/(2 C).
  const TestRun line(R"toml(
r = { kind = "thermal.resistor", p = "x", n = "datum", R = "2*x.T" }
c = { kind = "thermal.capacitor", p = "x", n = "datum", C = 2, T0 = 300 }
)toml",
                     options_of("rk4", 5.0, 0.5), {"x.T"});
  EXPECT_LT(line.largest_error("x.T", [](double t) { return 300 - t / 4; }), 1e-8);
  // R = 2/T: T' = -T^2/2, T = 1/(1 + t/2).
  double error[2];
  for (int k = 0; k < 2; ++k)
    error[k] = TestRun(R"toml(
r = { kind = "thermal.resistor", p = "x", n = "datum", R = "2/x.T" }
c = { kind = "thermal.capacitor", p = "x", n = "datum", C = 1, T0 = 1 }
)toml",
                       options_of("rk4", 3.0, 0.2 / (1 << k)), {"x.T"})
                   .largest_error("x.T", [](double t) { return 1 / (1 + t / 2); });
  EXPECT_NEAR(std::log2(error[0] / error[1]), 4.0, 0.3);
}

TEST(Rk4, too_long_a_step_for_the_fastest_part_is_told) {
  const Model model = model_of(R"toml(
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1e-3 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1e-3, v0 = 1 }
)toml");
  const SimulationResult result =
      Simulation(model, options_of("rk4", 10.0, 1e-3), columns_of(model, {"a.v"})).run();
  EXPECT_NE(result.failure.find("explicit"), std::string::npos) << result.failure;
  EXPECT_LT(result.t.back(), 10.0);
}

TEST(Rk4, what_is_sampled_and_nothing_else_changes) {
  constexpr const char* text = R"toml(
n = { kind = "signals.noise", sigma = 1.0, period = "0.1 s", mean = 3.0 }
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "n.y" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.3 }
)toml";
  for (const bool compile : {true, false}) {
    SimulationOptions options = options_of("rk4", 1.0, 0.01);
    options.compile = compile;
    const TestRun rk4(text, options, {"c.v"}), tr(text, options_of("tr", 1.0, 0.001), {"c.v"});
    EXPECT_GT(tr.last("c.v"), 1.0);
    EXPECT_NEAR(rk4.last("c.v"), tr.last("c.v"), 1e-4) << compile;
  }
}

TEST(Rk4, a_diode_charges_a_capacitor) {
  // Conducting throughout: compare with the implicit rule at the same small step.
  constexpr const char* text = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5 + t" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
d = { kind = "electrical.diode", p = "b", n = "k" }
c = { kind = "electrical.capacitor", p = "k", n = "datum", C = 0.1 }
)toml";
  const TestRun rk4(text, options_of("rk4", 1.0, 1e-3), {"c.v", "d.i"}),
      tr(text, options_of("tr", 1.0, 1e-3), {"c.v", "d.i"});
  EXPECT_NEAR(rk4.last("c.v"), tr.last("c.v"), 1e-6);
  EXPECT_NEAR(rk4.last("d.i"), tr.last("d.i"), 1e-6);
}

// A fast circuit whose loss heats a slow body, whose temperature drives the circuit.
constexpr const char* warming = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "10*sin(300*t) + 0.02*(body.T - 300)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-3 }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "r.v*r.i" }
m = { kind = "thermal.capacitor", p = "body", n = "datum", C = 0.5, T0 = 300 }
w = { kind = "thermal.resistor", p = "body", n = "datum", R = 10 }
)toml";

SimulationOptions slow_options(int steps, bool compile = false) {
  SimulationOptions options = options_of("rk4", 0.5, 1e-4);
  options.slow = {"thermal"};
  options.slow_steps = steps;
  options.compile = compile;
  return options;
}

TEST(Rk4, slow_states_are_of_second_order_in_their_step) {
  const TestRun every(warming, slow_options(1), {"body.T"});
  double apart[2];
  for (int k = 0; k < 2; ++k) {
    const TestRun slow(warming, slow_options(5 << k), {"body.T"});
    apart[k] = 0.0;
    for (std::size_t row = 0; row < slow.result.t.size(); ++row)
      apart[k] = std::max(apart[k], std::abs(slow.result.values[row] - every.result.values[row]));
  }
  EXPECT_LT(apart[0], 2e-3);  // of some 40 K
  EXPECT_GT(apart[0], 1e-7);
  EXPECT_NEAR(std::log2(apart[1] / apart[0]), 2.0, 0.7);
}

TEST(Rk4, slow_states_compiled_and_interpreted_are_equal) {
  const TestRun interpreted(warming, slow_options(7), {"body.T", "b.v"}),
      compiled(warming, slow_options(7, true), {"body.T", "b.v"});
  EXPECT_EQ(interpreted.result.values, compiled.result.values);
}

TEST(Rk4, what_cannot_be_slow_is_a_fault) {
  const auto fault = [](const SimulationOptions& options) -> std::string {
    try {
      TestRun(warming, complete_options(model_of(warming), options), {"body.T"});
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  SimulationOptions options = slow_options(10);
  options.slow = {"termal"};
  EXPECT_NE(fault(options).find("did you mean 'thermal'?"), std::string::npos) << fault(options);
  options.slow = {"thermal", "electrical"};
  EXPECT_NE(fault(options).find("every state"), std::string::npos) << fault(options);
  options = slow_options(10);
  options.method = "bdf2";
  EXPECT_NE(fault(options).find("by rk4 only"), std::string::npos) << fault(options);
}

}  // namespace rk4_test
}  // namespace tellegen
