// Transmission lines against bounce diagrams.
#include "tellegen/simulate/delays.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace delays_test {

SimulationOptions variable(double stop, double sample) {
  SimulationOptions o;
  o.method = "adaptive";
  o.stop = stop;
  o.sample = sample;
  o.tolerance = 1e-6;
  return o;
}

// A step from 0 to 1 behind a quarter of the impedance into an open end: every reflection there is 1, at the
// source -0.6, so after n arrivals the end is at 1.6 (1 - (-0.6)^n)/1.6.
TEST(Delays, a_step_is_reflected_again_and_again) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "if(t < 0.5, 0, 1)" }
r = { kind = "electrical.resistor", p = "s", n = "a", R = 12.5 }
l = { kind = "electrical.transmission_line", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", Z0 = 50, TD = 1 }
o = { kind = "electrical.resistor", p = "b", n = "datum", R = 1e9 }
)toml",
                    variable(20.0, 0.25), {"b.v", "a.v"});
  ASSERT_EQ(run.result.failure, "");
  for (std::size_t row = 0; row < run.result.t.size(); ++row) {
    const double t = run.result.t[row], phase = std::fmod(t + 0.5, 2.0);
    if (std::abs(phase) < 1e-9 || std::abs(phase - 2.0) < 1e-9) continue;  // just when it arrives
    const int arrivals = t < 1.5 ? 0 : 1 + static_cast<int>(std::floor((t - 1.5) / 2.0));
    EXPECT_NEAR(run.result.values[2 * row], 1.0 - std::pow(-0.6, arrivals), 1e-6) << t;
  }
}

// Where nothing is reflected the other end is the source, later, whatever its shape.
TEST(Delays, a_matched_line_is_a_delay) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "sin(3*t) + 0.3*cos(20*t)" }
r = { kind = "electrical.resistor", p = "s", n = "a", R = 50 }
l = { kind = "electrical.transmission_line", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", Z0 = 50, TD = 0.7, at_rest = 0 }
o = { kind = "electrical.resistor", p = "b", n = "datum", R = 50 }
)toml",
                    variable(5.0, 0.1), {"b.v"});
  ASSERT_EQ(run.result.failure, "");
  for (std::size_t row = 1; row < run.result.t.size(); ++row) {
    const double left = run.result.t[row] - 0.7;
    if (std::abs(left) < 1e-9) continue;
    const double expected = left < 0.0 ? 0.0 : 0.5 * (std::sin(3 * left) + 0.3 * std::cos(20 * left));
    EXPECT_NEAR(run.result.values[row], expected, 1e-5) << run.result.t[row];
  }
}

// A capacitor at the end: v = 1 - exp(-(t - TD)/(Z0 C)), with half the source's 2 behind a matched line.
TEST(Delays, a_capacitor_at_the_end_is_charged_through_the_impedance) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "if(t < 1, 0, 1)" }
r = { kind = "electrical.resistor", p = "s", n = "a", R = 50 }
l = { kind = "electrical.transmission_line", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", Z0 = 50, TD = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.01 }
)toml",
                    variable(5.0, 0.3), {"b.v"});
  ASSERT_EQ(run.result.failure, "");
  for (std::size_t row = 0; row < run.result.t.size(); ++row) {
    const double since = std::max(0.0, run.result.t[row] - 2.0);
    EXPECT_NEAR(run.result.values[row], 1.0 - std::exp(-since / 0.5), 2e-6) << run.result.t[row];
  }
}

// At rest a line is two wires.
TEST(Delays, a_line_begins_with_the_constant_currents_of_its_ends) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = 12 }
r = { kind = "electrical.resistor", p = "s", n = "a", R = 10 }
l = { kind = "electrical.transmission_line", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", Z0 = 50, TD = 1e-3 }
o = { kind = "electrical.resistor", p = "b", n = "datum", R = 30 }
)toml",
                    variable(0.02, 1e-3), {"b.v", "l.a.i"});
  ASSERT_EQ(run.result.failure, "");
  for (std::size_t row = 0; row < run.result.t.size(); ++row) {
    EXPECT_NEAR(run.result.values[2 * row], 9.0, 1e-9);
    EXPECT_NEAR(run.result.values[2 * row + 1], 0.3, 1e-11);
  }
}

TEST(Delays, methods_without_a_history_refuse_them) {
  const char* lines = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 12 }
l = { kind = "electrical.transmission_line", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", Z0 = 50, TD = 1 }
o = { kind = "electrical.resistor", p = "b", n = "datum", R = 30 }
)toml";
  const Model model = model_of(lines);
  for (const char* method : {"bdf1", "bdf3", "tr", "rk4", "exact", "adaptive-ida"}) {
    SimulationOptions o = variable(1.0, 0.1);
    o.method = method;
    o.step = 0.1;
    try {
      Simulation(model, o, {});
      ADD_FAILURE() << method;
    } catch (const ModelError& error) {
      EXPECT_EQ(error.faults()[0].code, "T322") << method;
    }
  }
}

}  // namespace delays_test
}  // namespace tellegen
