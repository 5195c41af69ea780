#include "tellegen/simulate/variable_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace variable_step_test {

SimulationOptions variable(double stop, double sample, double tolerance = 1e-6) {
  SimulationOptions o = options_of("adaptive", stop, sample);
  o.tolerance = tolerance;
  return o;
}

struct KnownAnswer {
  const char* name;
  const char* components;
  const char* output;
  double stop, range;
  double (*expected)(double t);
};

constexpr double pi = std::numbers::pi;

const KnownAnswer known_answers[] = {
    {"rc", R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 1 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1, v0 = 0 }
)toml",
     "b.v", 5.0, 1.0, [](double t) { return 1 - std::exp(-t); }},
    {"lc", R"toml(
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 1, i0 = 0 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 1 }
)toml",
     "a.v", 10.0, 2.0, [](double t) { return std::cos(t); }},
    {"damped", R"toml(
l = { kind = "electrical.inductor", p = "a", n = "b", L = 1, i0 = 0 }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 0.5 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 1 }
)toml",
     "a.v", 15.0, 1.5,
     [](double t) {
       const double w = std::sqrt(1 - 0.0625);
       return std::exp(-0.25 * t) * (std::cos(w * t) + 0.25 / w * std::sin(w * t));
     }},
    // After the jump of the source, which concerns nothing else, steps are short: there the inductors are
    // nothing beside the capacitor between them.
    {"inductors in series with a capacitor", R"toml(
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 1, i0 = 0 }
c = { kind = "electrical.capacitor", p = "b", n = "a", C = 1, v0 = 1 }
m = { kind = "electrical.inductor", p = "b", n = "datum", L = 1 }
e = { kind = "electrical.voltage_source", p = "d", n = "datum", V = "if(t < 2.5, 1, 2)" }
r = { kind = "electrical.resistor", p = "d", n = "datum", R = 1 }
)toml",
     "a.v", 10.0, 1.0, [](double t) { return -0.5 * std::cos(t / std::sqrt(2.0)); }},
    // The integral makes the first step short: there the rate of y is rounding, and not what s.rate is.
    {"a state and its rate", R"toml(
i = { kind = "signals.integrator", u = 1e8, y0 = 0 }
s = { kind = "signals.second_order", u = 0, w0 = 2, damping = 0.25, y0 = 1 }
)toml",
     "s.y", 10.0, 1.5,
     [](double t) {
       const double w = 2 * std::sqrt(1 - 0.0625);
       return std::exp(-0.5 * t) * (std::cos(w * t) + 0.5 / w * std::sin(w * t));
     }},
    {"resistance that jumps", R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "3.8*cos(9.2*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "if(b.v > 0.68, 0.36, 0.49)" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.179, v0 = 0.77 }
l = { kind = "electrical.resistor", p = "b", n = "datum", R = 0.81 }
)toml",
     "b.v", 1.0, 1.7,
     [](double t) {  // piece by piece, switching where it crosses the threshold
       double v = 0.77, begin = 0.0;
       for (bool above = true;;) {
         const double g = 1 / (above ? 0.36 : 0.49), k = (g + 1 / 0.81) / 0.179, w = 9.2;
         const double drive = 3.8 * g / 0.179, d = k * k + w * w;
         const auto forced = [&](double s) {
           return drive * (k * std::cos(w * s) + w * std::sin(w * s)) / d;
         };
         const auto at = [&](double s) {
           return forced(s) + (v - forced(begin)) * std::exp(-k * (s - begin));
         };
         double low = begin, high = begin;
         for (high += 1e-4; high < t && (at(high) > 0.68) == above; high += 1e-4) low = high;
         if (high >= t) return at(t);
         for (int round = 0; round < 60; ++round)
           ((at(0.5 * (low + high)) > 0.68) == above ? low : high) = 0.5 * (low + high);
         v = 0.68;
         begin = high;
         above = !above;
       }
     }},
    {"sine into rc", R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 1, frequency = 1 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.2, v0 = 0 }
)toml",
     "b.v", 4.0, 1.3,
     [](double t) {
       const double x = 2 * pi * 0.2, d = 1 + x * x;
       return (std::sin(2 * pi * t) - x * std::cos(2 * pi * t) + x * std::exp(-t / 0.2)) / d;
     }},
    {"stiff", R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 1, frequency = 0.1591549430918953 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1e-6 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1, v0 = 0 }
)toml",
     "b.v", 10.0, 2.0, [](double t) { return std::sin(t) - 1e-6 * (std::cos(t) - std::exp(-1e6 * t)); }},
    {"logistic", R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "a.v*(1 - a.v)" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1e12 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 0.1 }
)toml",
     "a.v", 8.0, 0.9, [](double t) { return 1 / (1 + 9 * std::exp(-t)); }},
};

TEST(VariableStep, the_error_is_within_ten_tolerances_and_not_far_below) {
  for (const KnownAnswer& known : known_answers) {
    for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
      const TestRun run(known.components, variable(known.stop, known.stop / 100, tolerance), {known.output});
      const double error = run.largest_error(known.output, known.expected) / known.range;
      EXPECT_LT(error, 10 * tolerance) << known.name << " " << tolerance;
      if (known.name != std::string_view("stiff")) {
        EXPECT_GT(error, 1e-3 * tolerance) << known.name << " " << tolerance;
      }
    }
  }
}

TEST(VariableStep, large_networks_take_the_kernels_and_agree_with_the_exact_discretisation) {
  std::string ladder =
      R"toml(e = { kind = "electrical.sine_voltage", p = "n0", n = "datum", amplitude = 1, frequency = 1 }
)toml";
  for (int k = 0; k < 100; ++k)
    ladder += "r" + std::to_string(k) + " = { kind = \"electrical.resistor\", p = \"n" + std::to_string(k) +
              "\", n = \"n" + std::to_string(k + 1) + "\", R = 0.1 }\nc" + std::to_string(k) +
              " = { kind = \"electrical.capacitor\", p = \"n" + std::to_string(k + 1) +
              "\", n = \"datum\", C = 0.01, v0 = 0 }\n";
  const TestRun ours(ladder, variable(1.0, 0.05, 1e-7), {"n3.v", "n10.v", "c3.i"});
  SimulationOptions o = options_of("exact", 1.0, 0.05);
  const TestRun exact(ladder, o, {"n3.v", "n10.v", "c3.i"});
  EXPECT_EQ(ours.result.statistics.executor, "kernels per kind, interpreted");
  for (std::size_t row = 1; row < exact.rows(); ++row) {
    EXPECT_NEAR(ours.at(row, "n3.v"), exact.at(row, "n3.v"), 1e-6);
    EXPECT_NEAR(ours.at(row, "n10.v"), exact.at(row, "n10.v"), 1e-6);
  }
}

TEST(VariableStep, compiled_and_interpreted_agree_to_the_last_bit) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 10, frequency = 50 }
d = { kind = "electrical.diode", p = "a", n = "b" }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 100 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "100 uF", v0 = 0 }
)toml");
  SimulationOptions o = variable(0.04, 1e-4);
  const TestRun interpreted(model, o, {"b.v", "d.i"});
  o.compile = true;
  const TestRun compiled(model, o, {"b.v", "d.i"});
  EXPECT_EQ(interpreted.result.values, compiled.result.values);
}

TEST(VariableStep, storage_across_a_source_has_its_current) {
  const TestRun run(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 1, frequency = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
)toml",
                    variable(2.0, 0.01), {"c.i"});
  EXPECT_LT(run.largest_error("c.i", [](double t) { return 2 * pi * std::cos(2 * pi * t); }), 2e-3);
}

TEST(VariableStep, a_row_at_a_jump_is_of_the_values_after_it) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t < 0.5, 1, 3)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1, v0 = 1 }
)toml",
                    variable(1.0, 0.1), {"a.v", "b.v"});
  EXPECT_NEAR(run.at(5, "a.v"), 3.0, 1e-9);
  EXPECT_NEAR(run.at(5, "b.v"), 1.0, 1e-6);
  EXPECT_NEAR(run.last("b.v"), 3 - 2 * std::exp(-0.5), 1e-6);
}

// A pulse of a millionth of the run is not stepped over.
TEST(VariableStep, short_pulses_are_met) {
  const TestRun run(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "if(t > 0.3 and t < 0.300001, 1e6, 0)" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1e9 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 0 }
)toml",
                    variable(1.0, 0.1), {"a.v"});
  EXPECT_NEAR(run.last("a.v"), 1.0, 1e-5);
}

TEST(VariableStep, events_are_located) {
  // A capacitor is charged to 0.7 and discharged to 0.2 again and again: a relay of two comparisons.
  const TestRun run(R"toml(
k = { kind = "signals.comparator", u = "b.v", upper = 0.7, lower = 0.2, on = 0, off = 1 }
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "k.y" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1, v0 = 0.2 }
)toml",
                    variable(10.0, 0.1, 1e-8), {"b.v", "k.y"});
  for (std::size_t row = 0; row < run.rows(); ++row) {
    EXPECT_LT(run.at(row, "b.v"), 0.7 + 1e-6);
    EXPECT_GT(run.at(row, "b.v"), 0.2 - 1e-6);
  }
  // Up ln(0.8/0.3), down ln(3.5).
  const double period = std::log(0.8 / 0.3) + std::log(3.5);
  EXPECT_NEAR(static_cast<double>(run.result.statistics.events), 2 * 10.0 / period, 2.0);
}

TEST(VariableStep, the_bridge_rectifier_whose_dc_side_floats_runs) {
  constexpr const char* bridge = R"toml(
va = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = "120 V", frequency = "50 Hz" }
d1 = { kind = "electrical.diode", p = "a", n = "pos" }
d2 = { kind = "electrical.diode", p = "datum", n = "pos" }
d3 = { kind = "electrical.diode", p = "neg", n = "a" }
d4 = { kind = "electrical.diode", p = "neg", n = "datum" }
c1 = { kind = "electrical.capacitor", p = "pos", n = "neg", C = "1 mF", v0 = "0 V" }
r1 = { kind = "electrical.resistor", p = "pos", n = "neg", R = "20 ohm" }
)toml";
  const TestRun run(bridge, variable(0.06, 1e-4), {"c1.v", "pos.v", "neg.v"});
  // The capacitor discharges through 20 ohm from just below the peak: at least 118.2*exp(-10/20) V.
  for (std::size_t row = 400; row < run.rows(); ++row) {
    EXPECT_GT(run.at(row, "c1.v"), 118.2 * std::exp(-0.5));
    EXPECT_LT(run.at(row, "c1.v"), 118.5);
  }
  EXPECT_NEAR(run.last("pos.v"), -run.last("neg.v"), 1e-3);  // four like junctions block: in the middle
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr"}) {
    const TestRun fixed(bridge, options_of(method, 0.06, 20e-6), {"c1.v"});
    EXPECT_NEAR(fixed.last("c1.v"), run.last("c1.v"), 0.2) << method;
  }
}

TEST(VariableStep, the_six_pulse_bridge_runs) {
  std::string text;
  const char* phases[] = {"a", "b", "c"};
  for (int k = 0; k < 3; ++k) {
    const std::string p = phases[k];
    text += "v" + p + " = { kind = \"electrical.sine_voltage\", p = \"s" + p +
            "\", n = \"star\", amplitude = 325, frequency = 50, phase = " + std::to_string(-2 * pi / 3 * k) +
            " }\nl" + p + " = { kind = \"electrical.inductor\", p = \"s" + p + "\", n = \"" + p +
            "\", L = \"0.1 mH\", i0 = 0 }\nu" + p + " = { kind = \"electrical.diode\", p = \"" + p +
            "\", n = \"pos\" }\nd" + p + " = { kind = \"electrical.diode\", p = \"neg\", n = \"" + p +
            "\" }\n";
  }
  text += R"toml(
rg = { kind = "electrical.resistor", p = "star", n = "datum", R = 1 }
c1 = { kind = "electrical.capacitor", p = "pos", n = "neg", C = "1 mF", v0 = 500 }
r1 = { kind = "electrical.resistor", p = "pos", n = "neg", R = 20 }
)toml";
  const TestRun run(text, variable(0.04, 1e-4), {"c1.v"});
  // The mean of a six-pulse bridge is 3 sqrt(3)/pi of the amplitude at the least, its peak sqrt(3) of it.
  EXPECT_GT(run.last("c1.v"), 325 * 3 * std::sqrt(3.0) / pi * 0.98);
  EXPECT_LT(run.last("c1.v"), 325 * std::sqrt(3.0) * 1.02);
  const TestRun fixed(text, options_of("bdf2", 0.04, 2e-6), {"c1.v"});
  EXPECT_NEAR(run.last("c1.v"), fixed.last("c1.v"), 0.5);
}

// Newton in a fixed step jumps across the kink where the charge of the gas is reached; here steps are
// shortened.
TEST(VariableStep, a_kink_in_a_storage_is_passed) {
  const TestRun run(R"toml(
q   = { kind = "hydraulic.flow_source", p = "datum", n = "line", q = "20 l/min" }
thr = { kind = "hydraulic.orifice", p = "line", n = "a", area = "10 mm2" }
vol = { kind = "hydraulic.accumulator", p = "line", n = "datum", C = "1e-12 m3/Pa" }
acc = { kind = "hydraulic.gas_accumulator", p = "a", volume = "1 l", charge = "60 bar", p0 = "0 bar" }
)toml",
                    variable(0.1, 1e-3), {"a.p"});
  EXPECT_GT(run.last("a.p"), 60e5);
}

TEST(VariableStep, an_inductor_that_starts_at_zero_feeds_a_diode) {
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "in", n = "datum", V = 12 }
l = { kind = "electrical.inductor", p = "in", n = "a", L = "5 mH", i0 = 0 }
d = { kind = "electrical.diode", p = "a", n = "out" }
r = { kind = "electrical.resistor", p = "out", n = "datum", R = 100 }
)toml",
                    variable(1e-3, 1e-5), {"l.i"});
  EXPECT_NEAR(run.last("l.i"), 0.1122, 2e-4);
}

// A switch that its own voltage turns off again: an ideal relay without hysteresis slides along its
// threshold.
TEST(VariableStep, what_chatters_is_reported_and_the_run_goes_on) {
  const TestRun run(R"toml(
k = { kind = "signals.comparator", u = "b.v", upper = 1, on = 0, off = 1 }
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "2*k.y" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1, v0 = 0 }
)toml",
                    variable(2.0, 0.1), {"b.v"});
  EXPECT_NEAR(run.last("b.v"), 1.0, 0.05);
  EXPECT_NE(run.result.statistics.chatter, "");
}

TEST(VariableStep, the_energy_balance_closes) {
  SimulationOptions o = variable(0.04, 1e-3);
  o.balance = Balance::on;
  const TestRun run(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 10, frequency = 50 }
d = { kind = "electrical.diode", p = "a", n = "b" }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 100 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "100 uF", v0 = 0 }
)toml",
                    o, {"b.v"});
  ASSERT_TRUE(run.result.balance && run.result.balance->checked);
  EXPECT_LT(run.result.balance->error, 1e-5);
  EXPECT_LT(run.result.balance->power_error, 1e-9);
}

TEST(VariableStep, is_the_default_without_a_step_and_a_step_longer_than_the_run_is_a_fault) {
  Model model = model_of("r = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", R = 1 }\n");
  SimulationOptions o;
  o.method = "";
  o.stop = 1.0;
  EXPECT_EQ(complete_options(model, o).method, "adaptive");
  o.step = 0.1;
  EXPECT_EQ(complete_options(model, o).method, "bdf3");
  o.step = 2.0;
  EXPECT_THROW(complete_options(model, o), ModelError);
}

}  // namespace variable_step_test
}  // namespace tellegen
