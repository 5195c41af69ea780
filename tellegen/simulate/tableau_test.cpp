#include "tellegen/simulate/tableau.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tellegen/model/test_text.h"
#include "tellegen/simulate/parameter_derivatives.h"

namespace tellegen {
namespace tableau_test {

constexpr const char* circuit = R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = "A", frequency = 2 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
d = { kind = "electrical.diode", p = "b", n = "datum", Is = "Is", Rs = "R/100" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.5 }
l = { kind = "electrical.inductor", p = "b", n = "x", L = 2 }
s = { kind = "electrical.resistor", p = "x", n = "datum", R = "2*R + 0.1*b.v^2" }
[parameters]
A = 3
R = "B/2"
B = 14
Is = 1e-9
)toml";

struct Point {
  std::vector<double> x, rates;
  double t;
};

Point random_point(const Tableau& tableau, std::mt19937& random) {
  std::uniform_real_distribution<double> number(-0.5, 0.5);
  Point p{std::vector<double>(tableau.size()), std::vector<double>(tableau.rate_count()), 0.3};
  for (double& v : p.x) v = number(random);
  for (double& v : p.rates) v = number(random);
  return p;
}

std::vector<double> residual(Tableau& tableau, const Point& p) {
  std::vector<double> f(tableau.size());
  tableau.residual(p.x, p.rates, p.t, {}, f);
  return f;
}

TEST(Tableau, the_residual_of_a_solution_is_zero) {
  // 5 V on 10 ohm into 0.5 F, at 2 V: i = 0.3 A, dv/dt = 0.6 V/s.
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.5 }
)toml");
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  Point p{std::vector<double>(tableau.size()), {0.6}, 0.0};
  for (std::int32_t c = 0; c < system.size(); ++c) {
    const std::string name = column_name(system, c);
    p.x[c] = name == "a.v" ? 5.0 : name == "b.v" ? 2.0 : name == "e.i" ? -0.3 : 0.3;
  }
  for (double f : residual(tableau, p)) EXPECT_NEAR(f, 0.0, 1e-15);
  EXPECT_EQ(tableau.rate_value(p.x, 0), 2.0);
  p.rates[0] = 1.0;
  double largest = 0.0;
  for (double f : residual(tableau, p)) largest = std::max(largest, std::abs(f));
  EXPECT_NEAR(largest, 0.2, 1e-15);
}

TEST(Tableau, the_time_derivative_is_that_of_central_differences) {
  const Model model = model_of(circuit);
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  std::mt19937 random(1);
  const Point p = random_point(tableau, random);
  std::vector<double> f(tableau.size());
  tableau.by_time(p.x, p.rates, p.t, f);
  Point before = p, after = p;
  before.t -= 1e-6, after.t += 1e-6;
  const auto low = residual(tableau, before), high = residual(tableau, after);
  for (std::size_t i = 0; i < f.size(); ++i) EXPECT_NEAR(f[i], (high[i] - low[i]) / 2e-6, 1e-7);
}

// B is behind R, which is behind three components; Is is a diode's alone.
TEST(Tableau, the_derivative_by_a_parameter_follows_the_chain_of_definitions) {
  const Model model = model_of(circuit);
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  std::mt19937 random(2);
  const Point p = random_point(tableau, random);
  for (std::size_t k = 0; k < model.parameters.size(); ++k) {
    const ModelParameter& q = model.parameters[k];
    if (q.name == "R") continue;  // defined by B: nothing to override independently
    std::vector<double> f(tableau.size());
    std::vector<DerivativeEntry> entries;
    const std::array wrt{static_cast<int>(k)};
    ParameterDerivatives(system, wrt).evaluate(tableau, p.x, p.rates, p.t, entries);
    for (const DerivativeEntry& e : entries) f[e.row] += e.value;
    const double h = 1e-5 * q.number;
    const auto changed = [&](double value) {
      ReadOptions options;
      options.library = TELLEGEN_SOURCE_DIR "/library";
      options.overrides = {{q.name, std::to_string(0)}};
      char text[40];
      snprintf(text, sizeof text, "%.17g", value);
      options.overrides[0].second = text;
      const Model other =
          read_model_text("name = \"test\"\n[components]\n" + std::string(circuit), "test.toml", options);
      const EquationSystem other_system = build_system(other);
      Tableau other_tableau(other_system);
      return residual(other_tableau, p);
    };
    const auto low = changed(q.number - h), high = changed(q.number + h);
    double largest = 0.0;
    for (double v : f) largest = std::max(largest, std::abs(v));
    EXPECT_GT(largest, 0.0) << q.name;
    for (std::size_t i = 0; i < f.size(); ++i)
      EXPECT_NEAR(f[i], (high[i] - low[i]) / (2 * h), 1e-6 * largest + 1e-16 / h)
          << q.name << ", row " << row_name(system, static_cast<int>(i));
  }
}

TEST(Tableau, limited_exponentials_are_exact_once_the_limit_is_reached) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
d = { kind = "electrical.diode", p = "a", n = "datum" }
)toml");
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  ASSERT_EQ(tableau.limit_count(), 1);
  std::mt19937 random(3);
  Point p = random_point(tableau, random);
  for (std::int32_t c = 0; c < system.size(); ++c)
    if (column_name(system, c) == "a.v")
      p.x[c] = 0.8;
    else if (c < system.node_columns)
      p.x[c] = 0.1;
  std::vector<double> limits{0.0}, f(tableau.size());
  tableau.residual(p.x, p.rates, p.t, limits, f);
  EXPECT_GT(tableau.limited_by(), 1.0);  // u = 27, far from where the iteration was
  for (int k = 0; k < 50; ++k) tableau.residual(p.x, p.rates, p.t, limits, f);
  EXPECT_LT(tableau.limited_by(), 1e-12);
  EXPECT_EQ(f, residual(tableau, p));
}

}  // namespace tableau_test
}  // namespace tellegen
