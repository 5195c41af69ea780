// Exact discretisation against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace exact_test {

constexpr double tau = 0.4;  // of 4 ohm and 0.1 F

std::string rc(const std::string& source) {
  return source + R"toml(
r = { kind = "electrical.resistor", p = "a", n = "b", R = 4 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.1, v0 = 0.5 }
)toml";
}

// v' = (u - v)/tau from v = 0.5, u piecewise linear through the points, its ends held.
double rc_response(const std::vector<std::pair<double, double>>& points, double t) {
  double v = 0.5, from = 0.0;
  const auto follow = [&](double u, double slope, double h) {
    const double part = -std::expm1(-h / tau);  // of the way to a constant u
    const double lag = h < 1e-6 * tau ? h * h / (2 * tau) : h - tau * part;
    v += (u - v) * part + slope * lag;
  };
  for (std::size_t k = 0; k + 1 < points.size() && from < t; ++k) {
    const auto [t0, u0] = points[k];
    const auto [t1, u1] = points[k + 1];
    if (t0 > from) {
      follow(u0, 0.0, std::min(t, t0) - from);
      from = std::min(t, t0);
    }
    if (from >= t) return v;
    const double end = std::min(t, t1);
    follow(u0, t1 > t0 ? (u1 - u0) / (t1 - t0) : 0.0, end - from);
    from = end;
  }
  if (from < t) follow(points.back().second, 0.0, t - from);
  return v;
}

// v for u = Im(phasor e^(s (t - delay))) after the delay, Im(phasor) before it.
double rc_wave(std::complex<double> phasor, std::complex<double> s, double delay, double t) {
  const double held = std::imag(phasor);
  if (t <= delay) return held + (0.5 - held) * std::exp(-t / tau);
  const double at_delay = held + (0.5 - held) * std::exp(-delay / tau);
  const std::complex<double> forced = phasor / (1.0 + s * tau);
  return std::imag(forced * std::exp(s * (t - delay))) +
         (at_delay - std::imag(forced)) * std::exp(-(t - delay) / tau);
}

TEST(Exact, straight_pieces_of_a_table_whose_corners_fall_between_samples) {
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.pwl_voltage", p = "a", n = "datum", points = [[0.0, 1.0], [0.33, 5.0], [0.71, 5.0], [0.715, -2.0], [1.9, 0.0]] })toml"),
      options_of("exact", 3.0, 0.1), {"b.v"});
  const std::vector<std::pair<double, double>> points{
      {0.0, 1.0}, {0.33, 5.0}, {0.71, 5.0}, {0.715, -2.0}, {1.9, 0.0}};
  EXPECT_LT(run.largest_error("b.v", [&](double t) { return rc_response(points, t); }), 1e-12);
}

TEST(Exact, a_train_of_pulses) {
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.pulse_voltage", p = "a", n = "datum", low = 1, high = 5, delay = 0.13, rise = 0.02, fall = 0.04, width = 0.1, period = 0.37 })toml"),
      options_of("exact", 3.0, 0.05), {"b.v"});
  std::vector<std::pair<double, double>> points;
  for (int k = 0; k < 9; ++k) {
    const double t = 0.13 + 0.37 * k;
    points.insert(points.end(), {{t, 1.0}, {t + 0.02, 5.0}, {t + 0.12, 5.0}, {t + 0.16, 1.0}});
  }
  EXPECT_LT(run.largest_error("b.v", [&](double t) { return rc_response(points, t); }), 1e-12);
}

TEST(Exact, a_pulse_far_shorter_than_a_sample) {
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.pulse_voltage", p = "a", n = "datum", high = 1e6, delay = 0.55, width = 1e-6 })toml"),
      options_of("exact", 2.0, 0.5), {"b.v"});
  const std::vector<std::pair<double, double>> points{
      {0.55, 0.0}, {0.55 + 1e-9, 1e6}, {0.55 + 1.001e-6, 1e6}, {0.55 + 1.002e-6, 0.0}};
  EXPECT_LT(run.largest_error("b.v", [&](double t) { return rc_response(points, t); }), 1e-8);
}

TEST(Exact, a_delayed_sine) {
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 3, delay = 0.234, phase = 0.7 })toml"),
      options_of("exact", 3.0, 0.1), {"b.v", "r.i"});
  const std::complex<double> s(0.0, 6 * M_PI), phasor = std::polar(2.0, 0.7);
  EXPECT_LT(run.largest_error("b.v", [&](double t) { return rc_wave(phasor, s, 0.234, t); }), 1e-12);
}

TEST(Exact, a_decaying_sine) {
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 3, delay = 0.1, damping = 1.5, phase = 0.2 })toml"),
      options_of("exact", 3.0, 0.1), {"b.v"});
  const std::complex<double> s(-1.5, 6 * M_PI), phasor = std::polar(2.0, 0.2);
  EXPECT_LT(run.largest_error("b.v", [&](double t) { return rc_wave(phasor, s, 0.1, t); }), 1e-12);
}

TEST(Exact, a_sine_at_any_step_even_longer_than_its_period) {
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 3 })toml"),
      options_of("exact", 10.0, 1.0), {"b.v"});
  EXPECT_LT(run.largest_error("b.v", [&](double t) { return rc_wave(2.0, {0.0, 6 * M_PI}, 0.0, t); }), 1e-11);
}

TEST(Exact, an_exponential_at_the_networks_own_pole) {
  // u = exp(-t/tau): the forced part is t/tau exp(-t/tau).
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "exp(-t/0.4)" })toml"),
      options_of("exact", 3.0, 0.1), {"b.v"});
  EXPECT_LT(run.largest_error("b.v", [](double t) { return (0.5 + t / tau) * std::exp(-t / tau); }), 1e-12);
}

TEST(Exact, a_line_times_a_sine) {
  // u = t sin(w t) = Im(t e^(iwt)): forced part Im((t/(1+s tau) - tau/(1+s tau)^2) e^(st)).
  const TestRun run(
      rc(R"toml(e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "t*sin(5*t)" })toml"),
      options_of("exact", 3.0, 0.1), {"b.v"});
  const std::complex<double> s(0.0, 5.0), g = 1.0 / (1.0 + s * tau);
  const auto forced = [&](double t) { return std::imag((t * g - tau * g * g) * std::exp(s * t)); };
  EXPECT_LT(run.largest_error("b.v",
                              [&](double t) { return forced(t) + (0.5 - forced(0.0)) * std::exp(-t / tau); }),
            1e-11);
}

TEST(Exact, a_source_that_feeds_back_linearly) {
  // 2 T' = 206.58 - 1.355 T + (300 - T)/4
  const TestRun run(R"toml(
q = { kind = "thermal.heat_source", p = "j1", n = "datum", Q = "1.355*j1.T - 206.58" }
f = { kind = "thermal.fixed_temperature", p = "w", T = 300 }
r = { kind = "thermal.resistor", p = "j1", n = "w", R = 4 }
c = { kind = "thermal.capacitor", p = "j1", n = "datum", C = 2, T0 = 350 }
)toml",
                    options_of("exact", 5.0, 0.25), {"j1.T", "q.Q"});
  const double rate = 1.605 / 2, end = (206.58 + 75.0) / 1.605;
  const auto temperature = [&](double t) { return end + (350 - end) * std::exp(-rate * t); };
  EXPECT_LT(run.largest_error("j1.T", temperature), 1e-12 * 350);
  EXPECT_LT(run.largest_error("q.Q", [&](double t) { return 1.355 * temperature(t) - 206.58; }), 1e-12 * 350);
}

TEST(Exact, an_undamped_circuit_for_a_thousand_periods) {
  const TestRun run(R"toml(
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 1 }
)toml",
                    options_of("exact", 6283.0, 1.0), {"a.v", "l.i"});
  EXPECT_LT(run.largest_error("a.v", [](double t) { return std::cos(t); }), 1e-10);
  EXPECT_LT(run.largest_error("l.i", [](double t) { return std::sin(t); }), 1e-10);
}

TEST(Exact, a_capacitor_across_a_source_has_no_state_and_the_right_current) {
  const TestRun run(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 0.5 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.1 }
)toml",
                    options_of("exact", 2.0, 0.1), {"c.i"});
  EXPECT_LT(run.largest_error("c.i", [](double t) { return 0.2 * M_PI * std::cos(M_PI * t); }), 1e-12);
}

TEST(Exact, refuses_what_is_not_linear_and_sources_it_cannot_follow) {
  EXPECT_EQ(fault_codes_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 1 }
d = { kind = "electrical.diode", p = "a", n = "b" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
)toml",
                           options_of("exact", 1.0, 0.1)),
            "T316");
  EXPECT_EQ(
      fault_codes_of(
          rc(R"toml(e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "sqrt(1 + t)" })toml"),
          options_of("exact", 1.0, 0.1)),
      "T317");
}

TEST(Exact, a_source_that_leaves_the_class_later_stops_the_run_there) {
  const Model model = model_of(rc(
      R"toml(e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t < 0.35, 1, sqrt(t))" })toml"));
  const SimulationResult result =
      Simulation(model, options_of("exact", 1.0, 0.1), columns_of(model, {"b.v"})).run();
  EXPECT_NE(result.failure.find("cannot follow a source"), std::string::npos) << result.failure;
  EXPECT_NEAR(result.t.back(), 0.3, 1e-12);
}

}  // namespace exact_test
}  // namespace tellegen
