// Derivatives of consistent initial values against differences of two starts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tellegen/model/parameters.h"
#include "tellegen/model/test_text.h"
#include "tellegen/simulate/start_derivatives.h"

namespace tellegen {
namespace start_derivatives_test {

InitialState start_of(const Model& model) {
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  return find_initial_state(tableau, analyse_storage(system));
}

// Forward columns equal differences, and backward is their transpose.
void check(Model model, const std::vector<std::string>& names) {
  std::vector<int> wrt;
  for (const std::string& name : names) wrt.push_back(study_parameter(model, name));
  const EquationSystem system = build_system(model);
  const Storage storage = analyse_storage(system);
  Tableau tableau(system);
  const InitialState state = find_initial_state(tableau, storage);
  const StartDerivatives start(tableau, storage, state, wrt);
  ASSERT_TRUE(start.good());
  std::vector<double> x, rates;
  const std::vector<double> held(system.discrete.size() * wrt.size(), 0.0);
  start.forward(held, x, rates);
  const auto n = static_cast<std::size_t>(system.size()), r = system.rates.size();
  for (std::size_t p = 0; p < wrt.size(); ++p) {
    const double value = model.parameters[wrt[p]].number, h = 1e-5 * (value != 0 ? std::abs(value) : 1.0);
    Model moved = model;
    set_parameters(moved, std::span(wrt).subspan(p, 1), std::vector{value - h});
    const InitialState low = start_of(moved);
    set_parameters(moved, std::span(wrt).subspan(p, 1), std::vector{value + h});
    const InitialState high = start_of(moved);
    const auto near = [&](double got, double a, double b, double size, const std::string& what) {
      EXPECT_NEAR(got, (b - a) / (2 * h), 1e-6 * std::abs(got) + 1e-9 * (1 + size) / h * 1e-3)
          << names[p] << ": " << what;
    };
    for (std::size_t i = 0; i < n; ++i)
      near(x[p * n + i], low.x[i], high.x[i], std::abs(low.x[i]),
           column_name(system, static_cast<std::int32_t>(i)));
    for (std::size_t i = 0; i < r; ++i)
      near(rates[p * r + i], low.rates[i], high.rates[i], std::abs(low.rates[i]),
           "der(" + rate_name(system, static_cast<std::int32_t>(i)) + ")");
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> weight(-1, 1);
  std::vector<double> x_bar(n), rate_bar(r), p_bar(wrt.size(), 0.0), held_bar(system.discrete.size());
  for (double& w : x_bar) w = weight(random);
  for (double& w : rate_bar) w = weight(random) * 1e-3;
  start.backward(x_bar, rate_bar, p_bar, held_bar);
  for (std::size_t p = 0; p < wrt.size(); ++p) {
    double expected = 0.0;
    for (std::size_t i = 0; i < n; ++i) expected += x_bar[i] * x[p * n + i];
    for (std::size_t i = 0; i < r; ++i) expected += rate_bar[i] * rates[p * r + i];
    EXPECT_NEAR(p_bar[p], expected, 1e-9 * (1 + std::abs(expected)));
  }
}

TEST(StartDerivatives, values_given_as_expressions_of_parameters) {
  check(model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*cos(100*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
l = { kind = "electrical.inductor", p = "b", n = "c", L = "10 mH", i0 = "i0" }
q = { kind = "electrical.capacitor", p = "c", n = "datum", C = "1 uF", v0 = "R*i0/2" }
[parameters]
U = "5 V"
R = "100 ohm"
i0 = "0.01 A"
)toml"),
        {"U", "R", "i0", "l.L", "q.C"});
}

TEST(StartDerivatives, steady_start_through_a_diode) {
  check(model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5 V" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "1 kohm" }
d = { kind = "electrical.diode", p = "b", n = "c", Is = "1e-12 A" }
l = { kind = "electrical.resistor", p = "c", n = "datum", R = "500 ohm" }
q = { kind = "electrical.capacitor", p = "c", n = "datum", C = "1 uF" }
[initial]
"q.v" = "steady"
)toml"),
        {"e.V", "r.R", "d.Is", "l.R", "q.C"});
}

TEST(StartDerivatives, redundant_storage_behind_sources_and_gears) {
  check(model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*sin(w*t)" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = "1 uF" }
m = { kind = "rotational.torque_source", p = "datum", n = "s", tau = "2 N m" }
j = { kind = "rotational.inertia", p = "s", J = "0.1 kg m2" }
g = { kind = "rotational.gear", p = "s", r = "t", c = "datum", ratio = "3" }
k = { kind = "rotational.inertia", p = "t", J = "0.2 kg m2" }
[parameters]
U = "5 V"
w = "100 rad/s"
)toml"),
        {"U", "w", "c.C", "m.tau", "j.J", "g.ratio", "k.J"});
}

TEST(StartDerivatives, nodes_held_until_just_before_the_start) {
  check(model_of(R"toml(
r = { kind = "electrical.resistor", p = "a", n = "b", R = "2 ohm" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 uF" }
q = { kind = "electrical.resistor", p = "a", n = "datum", R = "3 ohm" }
[parameters]
v0 = "4 V"
[initial]
"b.v" = "v0"
)toml"),
        {"v0", "r.R", "q.R"});
}

}  // namespace start_derivatives_test
}  // namespace tellegen
