#include "tellegen/simulate/initial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace initial_test {

struct Start {
  explicit Start(std::string_view text)
      : model(model_of(text)),
        system(build_system(model)),
        storage(analyse_storage(system)),
        tableau(system) {
    state = find_initial_state(tableau, storage);
  }
  double value(const std::string& name) const {
    const Expr e = in_columns(system, parse_value(model, name, {}));
    ExprMap<double> at{{model.pool->symbol("t"), 0.0}};
    for (std::int32_t c = 0; c < system.size(); ++c) at[column_symbol(system, c)] = state.x[c];
    return evaluate(e, at);
  }
  double rate(const std::string& name) const {
    for (std::size_t k = 0; k < system.rates.size(); ++k)
      if (rate_name(system, static_cast<int>(k)) == name) return state.rates[k];
    ADD_FAILURE() << name;
    return 0.0;
  }
  double largest_residual() {
    std::vector<double> f(tableau.size());
    tableau.residual(state.x, state.rates, 0.0, {}, f);
    double largest = 0.0;
    for (double v : f) largest = std::max(largest, std::abs(v));
    return largest;
  }
  Model model;
  EquationSystem system;
  Storage storage;
  Tableau tableau;
  InitialState state;
};

std::string message_of(std::string_view text) {
  try {
    Start start(text);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

TEST(InitialState, given_values_give_the_rest) {
  const Start s(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.5, v0 = 2 }
l = { kind = "electrical.inductor", p = "b", n = "datum", L = 4 }
[initial]
"l.i" = "0.1 A"
)toml");
  EXPECT_NEAR(s.value("r.i"), 0.3, 1e-14);
  EXPECT_NEAR(s.value("c.i"), 0.2, 1e-14);
  EXPECT_NEAR(s.rate("c.v"), 0.4, 1e-14);
  EXPECT_NEAR(s.rate("l.i"), 0.5, 1e-14);
}

TEST(InitialState, a_steady_state_has_no_rate) {
  const Start s(R"toml(
f  = { kind = "thermal.fixed_temperature", p = "w", T = 320 }
q  = { kind = "thermal.heat_source", p = "datum", n = "a", Q = 10 }
r1 = { kind = "thermal.resistor", p = "a", n = "b", R = 2 }
r2 = { kind = "thermal.resistor", p = "b", n = "w", R = 3 }
c1 = { kind = "thermal.capacitor", p = "a", n = "datum", C = 7 }
c2 = { kind = "thermal.capacitor", p = "b", n = "datum", C = 7, T0 = 300 }
[initial]
"c2.dT" = "steady"
)toml");
  EXPECT_NEAR(s.value("a.T"), 370.0, 1e-10);
  EXPECT_NEAR(s.value("b.T"), 350.0, 1e-10);
  EXPECT_NEAR(s.rate("c1.dT"), 0.0, 1e-12);
}

TEST(InitialState, parallel_capacitors_share_the_current_by_capacitance) {
  const Start s(R"toml(
j  = { kind = "electrical.current_source", p = "datum", n = "a", I = 6 }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.4, v0 = 2 }
c2 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.2, v0 = 2 }
)toml");
  EXPECT_NEAR(s.value("c1.i"), 4.0, 1e-13);
  EXPECT_NEAR(s.value("c2.i"), 2.0, 1e-13);
  EXPECT_NEAR(s.rate("c1.v"), 10.0, 1e-13);
}

TEST(InitialState, a_capacitor_across_a_source_takes_the_sources_value_and_rate) {
  const Start s(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", offset = 1, amplitude = 2, frequency = 3 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5 }
)toml");
  EXPECT_NEAR(s.value("c.v"), 1.0, 1e-14);
  EXPECT_NEAR(s.value("c.i"), 0.5 * 2 * 2 * M_PI * 3, 1e-12);
}

TEST(InitialState, contradicting_values_are_T301) {
  EXPECT_NE(message_of(R"toml(
r  = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.4, v0 = 2 }
c2 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.2, v0 = 3 }
)toml")
                .find("T301"),
            std::string::npos);
  EXPECT_NE(message_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5, v0 = 4 }
)toml")
                .find("T301"),
            std::string::npos);
  EXPECT_NE(message_of(R"toml(
e  = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
l1 = { kind = "electrical.inductor", p = "a", n = "b", L = 1, i0 = 1 }
l2 = { kind = "electrical.inductor", p = "b", n = "datum", L = 1, i0 = 2 }
)toml")
                .find("T301"),
            std::string::npos);
}

TEST(InitialState, values_that_agree_are_no_contradiction) {
  EXPECT_EQ(message_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5, v0 = 5 }
)toml"),
            "");
}

// The other capacitor was left at its kind's default: the given value counts, whichever is the state.
TEST(InitialState, a_default_gives_way_to_a_value_that_was_given) {
  for (const char* order :
       {"v0 = 2 }\nc2 = { kind = \"electrical.capacitor\", p = \"a\", n = \"datum\", C = 0.2 }\n",
        "}\nc2 = { kind = \"electrical.capacitor\", p = \"a\", n = \"datum\", C = 0.2, v0 = 2 }\n"}) {
    const std::string text =
        std::string("r  = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", R = 1 }\n") +
        "c1 = { kind = \"electrical.capacitor\", p = \"a\", n = \"datum\", C = 0.4" +
        (order[0] == 'v' ? ", " : " ") + order;
    ASSERT_EQ(message_of(text), "");
    EXPECT_NEAR(Start(text).value("a.v"), 2.0, 1e-12) << text;
  }
}

// A divider of capacitors and resistors behind a source that rises with 1e9 V/s from t = 0 on: the operating
// point is that of the source at rest. From it, C1*(s - r) + (0 - 0)/R1 = C2*r: r = s*C1/(C1 + C2).
TEST(InitialState, a_steady_state_does_not_know_the_slopes_of_sources) {
  const Start s(R"toml(
v = { kind = "electrical.pulse_voltage", p = "in", n = "datum", low = 0, high = 1, rise = 1e-9, fall = 1e-9 }
r1 = { kind = "electrical.resistor", p = "in", n = "out", R = 9e6 }
c1 = { kind = "electrical.capacitor", p = "in", n = "out", C = 10e-12 }
r2 = { kind = "electrical.resistor", p = "out", n = "datum", R = 1e6 }
c2 = { kind = "electrical.capacitor", p = "out", n = "datum", C = 90e-12 }

[initial]
"c1.v" = "steady"
"c2.v" = "steady"
)toml");
  EXPECT_NEAR(s.value("out.v"), 0.0, 1e-12);
  EXPECT_NEAR(s.rate("c2.v"), 1e8, 1.0);
  EXPECT_NEAR(s.rate("c1.v"), 9e8, 1.0);
}

// The same behind a cosine at its peak: 0.1 V of 1 V by the resistors.
TEST(InitialState, a_steady_state_is_that_of_sources_at_rest) {
  const Start s(R"toml(
v = { kind = "electrical.voltage_source", p = "in", n = "datum", V = "cos(1000*t) + 3000*t" }
r1 = { kind = "electrical.resistor", p = "in", n = "out", R = 9e6 }
c1 = { kind = "electrical.capacitor", p = "in", n = "out", C = 1e-9 }
r2 = { kind = "electrical.resistor", p = "out", n = "datum", R = 1e6 }
c2 = { kind = "electrical.capacitor", p = "out", n = "datum", C = 1e-9 }

[initial]
"c1.v" = "steady"
"c2.v" = "steady"
)toml");
  EXPECT_NEAR(s.value("out.v"), 0.1, 1e-12);
  EXPECT_NEAR(s.rate("c2.v"), 1500.0, 1e-6);
}

// An inductor across a source that is zero at t = 0: any current is steady; it begins without one.
TEST(InitialState, a_steady_current_that_nothing_determines_begins_at_zero) {
  const Start s(R"toml(
v = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 5, frequency = 1 }
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 2 }

[initial]
"l.i" = "steady"
)toml");
  EXPECT_EQ(s.value("l.i"), 0.0);
  EXPECT_NE(message_of(R"toml(
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 2 }

[initial]
"l.i" = "steady"
)toml")
                .find("T210"),
            std::string::npos);
}

TEST(InitialState, equations_that_cannot_determine_everything_are_T210) {
  const std::string message = message_of(R"toml(
e1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
e2 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
)toml");
  EXPECT_NE(message.find("T210"), std::string::npos) << message;
}

TEST(InitialState, a_storage_that_follows_a_nonlinear_controlled_source_is_T212) {
  EXPECT_NE(message_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "b.v*b.v" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 1 }
j = { kind = "electrical.current_source", p = "datum", n = "b", I = "t" }
)toml")
                .find("T212"),
            std::string::npos);
}

// A diode's own law at the current found: v = N Vt ln(1 + i/Is) + Rs i.
double diode_voltage(double i, double rs, double is = 1e-14) {
  return 1.380649e-23 * 300.0 / 1.602176634e-19 * std::log1p(i / is) + rs * i;
}

TEST(InitialState, a_diode_directly_across_a_stiff_source_starts) {
  for (double v : {-1000.0, -5.0, 0.3, 0.7, 5.0, 100.0, 1000.0})
    for (double rs : {1e-6, 1e-3, 1.0}) {
      char text[300];
      snprintf(text, sizeof text, R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = %g }
d = { kind = "electrical.diode", p = "a", n = "datum", Rs = %g, gmin = 0 }
)toml",
               v, rs);
      const Start s(text);
      if (v > 0) {
        EXPECT_NEAR(diode_voltage(s.value("d.i"), rs), v, 1e-8 * v) << v << " V, " << rs << " ohm";
      } else {
        EXPECT_NEAR(s.value("d.i"), -1e-14, 1e-15) << v << " V, " << rs << " ohm";
      }
    }
}

TEST(InitialState, a_hundred_diodes_in_series_start) {
  for (double v : {1.0, 60.0, 1000.0}) {
    std::string text =
        "e = { kind = \"electrical.voltage_source\", p = \"n0\", n = \"datum\", V = " + std::to_string(v) +
        " }\n";
    for (int k = 0; k < 100; ++k)
      text += "d" + std::to_string(k) + " = { kind = \"electrical.diode\", p = \"n" + std::to_string(k) +
              "\", n = \"" + (k == 99 ? std::string("datum") : "n" + std::to_string(k + 1)) +
              "\", gmin = 0 }\n";
    const Start s(text);
    EXPECT_NEAR(100 * diode_voltage(s.value("d7.i"), 1e-3), v, 1e-7 * v);
  }
}

TEST(InitialState, a_bridge_at_a_kilovolt_starts) {
  Start s(R"toml(
e1 = { kind = "electrical.voltage_source", p = "n2", n = "datum", V = "1 kV" }
d1 = { kind = "electrical.diode", p = "n2", n = "n3" }
d2 = { kind = "electrical.diode", p = "datum", n = "n3" }
d3 = { kind = "electrical.diode", p = "n4", n = "n2" }
d4 = { kind = "electrical.diode", p = "n4", n = "datum" }
r1 = { kind = "electrical.resistor", p = "n3", n = "n4", R = "10 ohm" }
)toml");
  // KVL around source, d1, r1, d4.
  const double i = s.value("r1.i");
  EXPECT_NEAR(2 * diode_voltage(i, 1e-3) + 10 * i, 1000.0, 1e-6);
  EXPECT_LT(s.largest_residual(), 1e-6);
}

TEST(InitialState, a_diode_feeding_a_charged_capacitor_starts_blocking) {
  const Start s(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 1 }
d = { kind = "electrical.diode", p = "a", n = "b", gmin = 0 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-6, v0 = 100 }
)toml");
  EXPECT_NEAR(s.value("d.i"), -1e-14, 1e-15);
}

TEST(InitialState, a_default_of_redundant_storage_goes_before_steadiness) {
  // The junction is the tree's branch and says nothing about its start; the capacitor's default is 0 V.
  const Start s(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 0.3 }
d = { kind = "electrical.junction_diode", p = "a", n = "b", Cj0 = "4 pF" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-6 }
)toml");
  EXPECT_NEAR(s.value("c.v"), 0.0, 1e-12);
  EXPECT_NEAR(s.value("d.v"), 0.3, 1e-12);
}

}  // namespace initial_test
}  // namespace tellegen
