#include "tellegen/simulate/network_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/network_integrator.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace network_step_test {

// A ladder of n loops as in models/ladder-2.
std::string ladder(int n) {
  std::string text =
      "e = { kind = \"electrical.sine_voltage\", p = \"a0\", n = \"datum\", amplitude = 100, frequency = 5 "
      "}\n";
  for (int k = 0; k < n; ++k) {
    const std::string i = std::to_string(k), next = std::to_string(k + 1);
    text += "r" + i + " = { kind = \"electrical.resistor\", p = \"a" + i + "\", n = \"a" + next +
            "\", R = 10 }\n";
    text += "l" + i + " = { kind = \"electrical.inductor\", p = \"a" + next + "\", n = \"b" + next +
            "\", L = 0.1 }\n";
    text +=
        "c" + i + " = { kind = \"electrical.capacitor\", p = \"b" + next + "\", n = \"datum\", C = 0.1 }\n";
  }
  return text;
}

TEST(NetworkStep, a_constant_tangent_is_factorised_once) {
  const Model model = model_of(ladder(40));
  TestProblem p(model, options_of("bdf3", 0.1, 1e-3), {"b40.v"});
  NetworkIntegrator integrator(p.problem, build_network(p.system));
  p.rows(integrator);
  EXPECT_EQ(integrator.statistics().steps, 100);
  EXPECT_LE(integrator.statistics().factorisations, 1);
}

TEST(NetworkStep, a_constant_tangent_is_factorised_in_every_step_on_request_with_the_same_result) {
  const Model model = model_of(ladder(5));
  SimulationOptions options = options_of("bdf2", 0.1, 1e-3);
  TestProblem p(model, options, {});
  options.refactor = true;
  TestProblem q(model, options, {});
  NetworkIntegrator once(p.problem, build_network(p.system)), always(q.problem, build_network(q.system));
  const auto a = p.rows(once), b = q.rows(always);
  EXPECT_EQ(always.statistics().factorisations, 100);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-11 * (1 + std::abs(a[i])));
}

TEST(NetworkStep, a_large_model_is_run_by_it) {
  const TestRun run(ladder(100), options_of("bdf3", 0.05, 2.5e-3), {"b1.v"});
  EXPECT_NE(run.result.statistics.executor.find("kernels per kind"), std::string::npos);
}

// Closed form of an RC pair, through the network executor.
TEST(NetworkStep, halving_the_step_divides_the_error_by_two_to_the_order) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 4 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.1 }
)toml");
  const std::pair<const char*, double> orders[] = {{"bdf1", 1}, {"bdf2", 2}, {"tr", 2}, {"bdf3", 3}};
  for (const auto& [method, order] : orders) {
    double error[2];
    for (int k = 0; k < 2; ++k) {
      const double h = 0.01 / (1 << k);
      TestProblem p(model, options_of(method, 1.0, h), {"b.v"});
      NetworkIntegrator integrator(p.problem, build_network(p.system));
      const auto v = p.rows(integrator);
      error[k] = 0.0;
      for (std::size_t n = 0; n < v.size(); ++n)
        error[k] =
            std::max(error[k], std::abs(v[n] - 5 * (1 - std::exp(-h * static_cast<double>(n + 1) / 0.4))));
    }
    EXPECT_NEAR(std::log2(error[0] / error[1]), order, 0.15) << method;
  }
}

TEST(NetworkStep, recovers_what_was_condensed_inside_a_component) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "1 + t" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
d = { kind = "electrical.diode", p = "b", n = "datum", Rs = 0.5 }
)toml");
  TestProblem p(model, options_of("bdf1", 1.0, 0.1), {"d.junction.v", "d.j.v", "d.series.i", "r.i"});
  NetworkIntegrator integrator(p.problem, build_network(p.system));
  const auto rows = p.rows(integrator);
  const double vt = 1.380649e-23 * 300.0 / 1.602176634e-19;
  for (std::size_t k = 0; k < rows.size(); k += 4) {
    const double junction = rows[k], inner = rows[k + 1], i = rows[k + 2];
    EXPECT_NEAR(i, rows[k + 3], 1e-12);
    EXPECT_NEAR(inner, 0.5 * i, 1e-12);
    EXPECT_NEAR(junction, vt * std::log1p(i / 1e-14), 1e-6);
    EXPECT_NEAR(1.5 * i + junction, 1 + 0.1 * (static_cast<double>(k / 4) + 1), 1e-9);
  }
}

TEST(NetworkStep, a_wrong_rate_rings_on_without_projection_and_is_forgotten_with_it) {
  for (const char* method : {"trnp", "tr"}) {
    const Model model = model_of(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 0.5 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.1 }
)toml");
    TestProblem p(model, options_of(method, 0.1, 1e-3), {"c.i"});
    p.problem.initial.rates[0] += 1.0;
    NetworkIntegrator integrator(p.problem, build_network(p.system));
    const auto i = p.rows(integrator);
    double ringing = 0.0;
    for (std::size_t n = 10; n < i.size(); ++n)
      ringing =
          std::max(ringing, std::abs(i[n] - 0.2 * M_PI * std::cos(M_PI * 1e-3 * static_cast<double>(n + 1))));
    if (method == std::string("tr")) {
      EXPECT_LT(ringing, 1e-5);
    } else {
      EXPECT_NEAR(ringing, 0.1, 1e-5);
    }
  }
}

TEST(NetworkStep, an_iteration_that_fails_names_the_component) {
  const Model model = model_of(R"toml(
q   = { kind = "thermal.heat_source", p = "datum", n = "x", Q = "2*t" }
bad = { kind = "thermal.resistor", p = "x", n = "datum", R = "1 + x.T^2" }
ok  = { kind = "thermal.resistor", p = "y", n = "datum", R = "2 + 0.001*y.T" }
q2  = { kind = "thermal.heat_source", p = "datum", n = "y", Q = 1 }
)toml");
  TestProblem p(model, options_of("bdf1", 2.0, 0.1), {"x.T"});
  NetworkIntegrator integrator(p.problem, build_network(p.system));
  std::vector<double> rows(20);
  EXPECT_EQ(integrator.advance(20, rows.data()), 2);  // T = 2 t (1 + T^2) has no solution after t = 1/4
  EXPECT_NE(integrator.failure().find("'bad'"), std::string::npos) << integrator.failure();
}

// What an event changes may leave nothing to determine a node: told as a step that fails, for nothing is
// thrown while a run goes on.
TEST(NetworkStep, equations_that_become_singular_are_a_step_that_fails) {
  const Model model = model_of(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "x", Q = 1 }
c = { kind = "thermal.capacitor", p = "x", n = "datum", C = 2, T0 = 1 }
)toml");
  TestProblem p(model, options_of("bdf1", 1.0, 0.1), {"x.T"});
  const Network network = build_network(p.system);
  StepOptions options;
  options.step = 0.1;
  options.events = true;
  NetworkStep step(network, p.problem.storage, bdf(1, 0.1), p.problem.outputs,
                   start_state(network, p.problem.initial), options);
  EXPECT_TRUE(step.step(0.1, 0, 50).converged);
  step.set_scheme(Scheme{});  // no rates: the capacitor is gone
  EXPECT_FALSE(step.step(0.2, 0, 50).converged);
  EXPECT_NE(step.singular_message().find("x.T"), std::string::npos) << step.singular_message();
  step.set_scheme(bdf(1, 0.1));
  EXPECT_TRUE(step.step(0.2, 0, 50).converged);
}

// The integral of a square is nonlinear, and nothing of the network depends on it: the tangent is constant.
TEST(NetworkStep, what_only_observes_the_network_is_iterated_too) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "t" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 2 }
y = { kind = "signals.integrator", u = "r.v*r.i" }
)toml");
  TestProblem p(model, options_of("bdf1", 1.0, 0.1), {"y.y"});
  NetworkIntegrator integrator(p.problem, build_network(p.system));
  const auto rows = p.rows(integrator);
  double sum = 0.0;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    sum += 0.1 * std::pow(0.1 * static_cast<double>(n + 1), 2) / 2;
    EXPECT_NEAR(rows[n], sum, 1e-12);
  }
}

}  // namespace network_step_test
}  // namespace tellegen
