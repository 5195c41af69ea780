#include "tellegen/simulate/algebraic.h"

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace algebraic_test {

// A diode's own law: the current of the resistor is that of the diode, Is*(exp(v/(N*Vt)) - 1) + gmin*v.
TEST(Algebraic, a_rectifier_without_storage_is_solved_to_its_diode_law_in_every_row_by_every_method) {
  for (const char* method : {"adaptive", "bdf1", "bdf2", "bdf3", "tr", "rk4"}) {
    const TestRun run(R"toml(
v = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 5, frequency = 1000 }
d = { kind = "electrical.junction_diode", p = "a", n = "b", Is = 1e-10, N = 1.5 }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 1000 }
)toml",
                      options_of(method, 30e-3, 10e-6), {"a.v", "b.v"});
    ASSERT_EQ(run.rows(), 3001u);
    const double thermal = 1.5 * 1.380649e-23 * 300.15 / 1.602176634e-19;
    for (std::size_t k = 0; k < run.rows(); ++k) {
      const double v = run.at(k, "a.v") - run.at(k, "b.v"), i = run.at(k, "b.v") / 1000;
      ASSERT_NEAR(run.at(k, "a.v"), 5 * std::sin(2000 * std::acos(-1.0) * run.result.t[k]), 1e-9) << method;
      ASSERT_NEAR(i, 1e-10 * std::expm1(v / thermal) + 1e-12 * v, 1e-8 * std::abs(i) + 1e-15)
          << method << " at t = " << run.result.t[k];
    }
  }
}

// p = 0.5*5*tanh(1000*(p - u)) has three solutions while |u| < 2.5 - ln(2*sqrt(1000*2.5))/1000..., of which
// the run follows one: high until u has passed +2.5 V less some millivolts, low again until it has passed
// -2.5 V.
TEST(Algebraic, a_schmitt_trigger_jumps_where_its_branch_ends) {
  const TestRun run(R"toml(
v = { kind = "electrical.sine_voltage", p = "u", n = "datum", amplitude = 4, frequency = 1, phase = 0.01 }
b = { kind = "electrical.voltage_source", p = "out", n = "datum", V = "5*tanh(1000*(p.v - u.v))" }
r1 = { kind = "electrical.resistor", p = "out", n = "p", R = 10000 }
r2 = { kind = "electrical.resistor", p = "p", n = "datum", R = 10000 }
)toml",
                    options_of("adaptive", 3, 0.01), {"u.v", "out.v"});
  int jumps = 0;
  for (std::size_t k = 1; k < run.rows(); ++k) {
    const double before = run.at(k - 1, "out.v"), now = run.at(k, "out.v"), u = run.at(k, "u.v");
    EXPECT_GT(std::abs(now), 4.9) << run.result.t[k];
    if (u > 2.55) {
      EXPECT_LT(now, 0) << run.result.t[k];
    }
    if (u < -2.55) {
      EXPECT_GT(now, 0) << run.result.t[k];
    }
    if (before * now < 0) {
      ++jumps;
      EXPECT_GT(std::abs(u), 2.45) << run.result.t[k];
    }
  }
  EXPECT_EQ(jumps, 5);  // it begins low: one in the first period, two in each of the others
}

// A relay with hysteresis and no storage: it switches at the instants t = asin(0.5)/(2 pi f) and half a
// period later.
TEST(Algebraic, events_are_located) {
  const TestRun run(R"toml(
v = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 1, frequency = 1 }
s = { kind = "electrical.switch", p = "a", n = "b", cp = "a", cn = "datum", Vt = 0, Vh = 0.5, Ron = 1, Roff = 1e6 }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 1 }
)toml",
                    options_of("bdf2", 1, 0.01), {"a.v", "b.v"});
  for (std::size_t k = 0; k < run.rows(); ++k) {
    const double t = run.result.t[k];
    const bool on = t > 1.0 / 12.0 && t < 7.0 / 12.0;
    EXPECT_NEAR(run.at(k, "b.v"), run.at(k, "a.v") * (on ? 0.5 : 1 / (1 + 1e6)), 1e-9) << t;
  }
  EXPECT_EQ(run.result.statistics.events, 2);
}

TEST(Algebraic, a_source_jump_off_the_rows_is_met) {
  const TestRun run(R"toml(
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t > 0.0123, 5, -300)" }
d = { kind = "electrical.junction_diode", p = "a", n = "b" }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 1000 }
)toml",
                    options_of("adaptive", 0.02, 1e-3), {"b.v"});
  // Reverse: gmin alone, -300 V*1e-12 S*1 kohm. Forward: i = (5 V - v)/1 kohm = 1e-14 A*exp(v/0.025865 V) at
  // 0.693 V.
  EXPECT_NEAR(run.at(12, "b.v"), -3.0e-7, 1e-9);
  EXPECT_NEAR(run.last("b.v"), 4.307, 2e-3);
}

}  // namespace algebraic_test
}  // namespace tellegen
