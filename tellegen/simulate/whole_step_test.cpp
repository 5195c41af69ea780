#include "tellegen/simulate/whole_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>

#include "tellegen/simulate/test_run.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {
namespace whole_step_test {

constexpr double pi = M_PI;

// v' = (2 sin(w t) - v)/tau from v = 0: the sum of a sine and of the decay that makes it start at zero.
constexpr const char* rc = R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 0.5 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 4 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.1 }
)toml";
double rc_voltage(double t) {
  const double tau = 0.4, w = pi, gain = 2 / (1 + w * w * tau * tau);
  return gain * (std::sin(w * t) - w * tau * std::cos(w * t) + w * tau * std::exp(-t / tau));
}

TEST(WholeStep, halving_the_step_divides_the_error_by_two_to_the_order) {
  const std::map<std::string, double> orders{{"bdf1", 1}, {"bdf2", 2}, {"tr", 2}, {"trnp", 2}, {"bdf3", 3}};
  for (const auto& [method, order] : orders) {
    double error[3];
    for (int k = 0; k < 3; ++k)
      error[k] =
          TestRun(rc, options_of(method, 2.0, 0.02 / (1 << k)), {"b.v"}).largest_error("b.v", rc_voltage);
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(std::log2(error[k] / error[k + 1]), order, 0.15) << method;
  }
}

TEST(WholeStep, trapezoidal_integrates_a_quadratic_exactly) {
  const TestRun run(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "3*t" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5, v0 = 1 }
)toml",
                    options_of("tr", 1.0, 0.1), {"a.v"});
  EXPECT_LT(run.largest_error("a.v", [](double t) { return 1.0 + 3.0 * t * t; }), 1e-13);
}

constexpr const char* across_source = R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 0.5 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.1 }
)toml";

TEST(WholeStep, a_wrong_rate_rings_on_without_projection_and_is_forgotten_with_it) {
  for (const char* method : {"trnp", "tr"}) {
    const Model model = model_of(across_source);
    const double h = 1e-3;
    TestProblem p(model, options_of(method, 0.1, h), {"c.i"});
    ASSERT_EQ(p.problem.initial.rates.size(), 1u);
    p.problem.initial.rates[0] += 1.0;
    WholeIntegrator integrator(p.problem, build_network(p.system));
    const auto i = p.rows(integrator);
    for (std::size_t n = 10; n < i.size(); ++n) {
      const double expected = 0.1 * 2 * pi * std::cos(pi * h * static_cast<double>(n + 1));
      const double ringing = n % 2 ? 0.1 : -0.1;  // C times the wrong part of the rate, its sign alternating
      EXPECT_NEAR(i[n] - expected, method == std::string("trnp") ? ringing : 0.0, 1e-5)
          << method << ", step " << n;
    }
  }
}

TEST(WholeStep, a_capacitor_across_a_source_carries_its_derivative) {
  for (const char* method : {"tr", "bdf2", "bdf3"}) {
    const TestRun run(across_source, options_of(method, 1.0, 1e-3), {"c.i", "e.i", "c.v"});
    EXPECT_LT(run.largest_error("c.i", [](double t) { return 0.2 * pi * std::cos(pi * t); }), 1e-5) << method;
    EXPECT_LT(run.largest_error("e.i", [](double t) { return -0.2 * pi * std::cos(pi * t); }), 1e-5)
        << method;
    EXPECT_LT(run.largest_error("c.v", [](double t) { return 2 * std::sin(pi * t); }), 1e-12) << method;
  }
}

TEST(WholeStep, parallel_capacitors_discharge_as_one_and_share_the_current) {
  // 0.6 F on 10 ohm from 2 V; C2 is connected the other way round.
  for (const char* method : {"tr", "bdf2", "bdf3"})
    for (const char* form : {"tableau", "minimal"}) {
      SimulationOptions options = options_of(method, 6.0, 5e-3);
      options.form = form;
      const TestRun run(R"toml(
r  = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
c1 = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.4, v0 = 2 }
c2 = { kind = "electrical.capacitor", p = "datum", n = "a", C = 0.2, v0 = -2 }
)toml",
                        options, {"a.v", "c1.i", "c2.i"});
      const auto v = [](double t) { return 2 * std::exp(-t / 6); };
      EXPECT_LT(run.largest_error("a.v", v), 1e-6) << method << form;
      EXPECT_LT(run.largest_error("c1.i", [&](double t) { return -v(t) / 10 * 2 / 3; }), 1e-6)
          << method << form;
      EXPECT_LT(run.largest_error("c2.i", [&](double t) { return v(t) / 10 / 3; }), 1e-6) << method << form;
    }
}

TEST(WholeStep, series_inductors_carry_one_current_and_divide_the_voltage) {
  for (const char* method : {"tr", "bdf2", "bdf3"})
    for (const char* form : {"tableau", "minimal"}) {
      SimulationOptions options = options_of(method, 1.0, 1e-3);
      options.form = form;
      const TestRun run(R"toml(
e  = { kind = "electrical.voltage_source", p = "in", n = "datum", V = 12 }
r  = { kind = "electrical.resistor", p = "in", n = "a", R = 4 }
l1 = { kind = "electrical.inductor", p = "a", n = "b", L = 0.3 }
l2 = { kind = "electrical.inductor", p = "datum", n = "b", L = 0.7 }
)toml",
                        options, {"l1.i", "l2.i", "l1.v", "l2.v"});
      const auto decay = [](double t) { return std::exp(-4 * t); };
      EXPECT_LT(run.largest_error("l1.i", [&](double t) { return 3 * (1 - decay(t)); }), 2e-5)
          << method << form;
      EXPECT_LT(run.largest_error("l2.i", [&](double t) { return -3 * (1 - decay(t)); }), 2e-5)
          << method << form;
      EXPECT_LT(run.largest_error("l1.v", [&](double t) { return 12 * 0.3 * decay(t); }), 2e-4)
          << method << form;
      EXPECT_LT(run.largest_error("l2.v", [&](double t) { return -12 * 0.7 * decay(t); }), 2e-4)
          << method << form;
    }
}

TEST(WholeStep, capacitors_in_a_loop_with_a_source_follow_it) {
  // Two in series across a sine source, a resistor at the middle: v = e/2 high-passed with R (C1 + C2).
  const TestRun run(R"toml(
e  = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 0.5 }
c1 = { kind = "electrical.capacitor", p = "a", n = "m", C = 0.1 }
c2 = { kind = "electrical.capacitor", p = "m", n = "datum", C = 0.3 }
r  = { kind = "electrical.resistor", p = "m", n = "datum", R = 5 }
)toml",
                    options_of("tr", 3.0, 1e-3), {"m.v", "c1.i"});
  // (C1 + C2) v' = C1 e' - v/R, as a phasor of e^(iwt)
  const std::complex<double> i(0, 1);
  const double w = pi, tau = 2.0;
  const std::complex<double> phasor = 2.0 * (0.1 / 0.4) * i * w * tau / (1.0 + i * w * tau);
  const auto v = [&](double t) {
    return std::imag(phasor * std::exp(i * w * t)) - std::imag(phasor) * std::exp(-t / tau);
  };
  EXPECT_LT(run.largest_error("m.v", v), 1e-5);
}

TEST(WholeStep, a_controlled_source_follows_another_components_current) {
  // i(r) = t/2; f puts 3 i(r) into 20 ohm: b = 30 t.
  const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5*t" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 20 }
f = { kind = "electrical.current_source", p = "datum", n = "b", I = "3*r.i" }
)toml",
                    options_of("bdf2", 1.0, 0.1), {"b.v", "f.i"});
  EXPECT_LT(run.largest_error("b.v", [](double t) { return 30 * t; }), 1e-12);
  EXPECT_LT(run.largest_error("f.i", [](double t) { return 1.5 * t; }), 1e-12);
}

// T' = (10 - T/R(T))/C with R = T/100 is T' = (10 - 100)/C wherever T is: nonlinear, yet a straight line.
TEST(WholeStep, a_resistance_that_follows_a_temperature_is_iterated) {
  const TestRun run(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "x", Q = 10 }
r = { kind = "thermal.resistor", p = "x", n = "datum", R = "x.T/100" }
c = { kind = "thermal.capacitor", p = "x", n = "datum", C = 3, T0 = 400 }
)toml",
                    options_of("bdf2", 2.0, 0.1), {"x.T", "r.Q"});
  EXPECT_LT(run.largest_error("x.T", [](double t) { return 400 - 30 * t; }), 1e-6);
  EXPECT_LT(run.largest_error("r.Q", [](double) { return 100.0; }), 1e-6);
  EXPECT_GT(run.result.statistics.iterations, 20);
}

TEST(WholeStep, a_fixed_number_of_iterations_is_kept_to) {
  SimulationOptions options = options_of("tr", 0.2, 1e-4);
  options.iterations = 2;
  const TestRun run(shipped_model("rectifier"), options, {"r1.i"});
  EXPECT_EQ(run.result.statistics.iterations, 2 * run.result.statistics.steps);
  EXPECT_EQ(run.result.statistics.worst_iterations, 2);
}

TEST(WholeStep, eliminating_in_every_iteration_changes_nothing_but_the_cost) {
  SimulationOptions once = options_of("bdf3", 0.5, 2.5e-3), always = once;
  always.refactor = true;
  const Model model = shipped_model("ladder-2");
  const TestRun a(model, once, {"n6.v", "l2.i"}), b(model, always, {"n6.v", "l2.i"});
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (const char* name : {"n6.v", "l2.i"})
      EXPECT_NEAR(a.at(r, name), b.at(r, name), 1e-12 * (1 + std::abs(a.at(r, name))));
}

TEST(WholeStep, many_calls_are_one_run) {
  const Model model = shipped_model("rectifier");
  SimulationOptions options = options_of("bdf3", 0.05, 1e-4);
  options.sample = 5e-4;
  TestProblem p(model, options, {});
  WholeIntegrator one(p.problem, build_network(p.system)), many(p.problem, build_network(p.system));
  const auto expected = p.rows(one);
  std::vector<double> rows(expected.size());
  const auto width = p.problem.outputs.size();
  for (std::int64_t k = 0; k < 100; ++k)
    ASSERT_EQ(many.advance(1, rows.data() + k * static_cast<long>(width)), 1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_NEAR(rows[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
}

TEST(WholeStep, an_iteration_that_fails_says_when) {
  // T = 2 t (1 + T^2) has no solution after t = 1/4.
  const Model model = model_of(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "x", Q = "2*t" }
r = { kind = "thermal.resistor", p = "x", n = "datum", R = "1 + x.T^2" }
)toml");
  SimulationResult result = Simulation(model, options_of("bdf1", 2.0, 0.1), columns_of(model, {"x.T"})).run();
  EXPECT_NE(result.failure.find("did not converge"), std::string::npos) << result.failure;
  EXPECT_NEAR(result.t.back(), 0.2, 1e-12);
}

}  // namespace whole_step_test
}  // namespace tellegen
