// Sensitivities by IDAS against closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/observers.h"
#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/run.h"
#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/stop.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace adaptive_forward_test {

struct Study {
  Study(std::string_view components, double stop, double sample = 0.0)
      : Study(model_of(components), stop, sample) {}
  Study(Model of, double stop, double sample) : model(std::move(of)) {
    request.simulation = options_of("adaptive", stop, sample > 0.0 ? sample : stop / 10);
    request.simulation.tolerance = 1e-10;
  }
  Study& by(const std::vector<std::string>& names) {
    for (const std::string& name : names) request.wrt.push_back(study_parameter(model, name));
    return *this;
  }
  Study& until(const std::string& condition) {
    model.simulation.stop_when = parse_value(model, condition, {});
    add_stop_watch(model, request.simulation);
    return *this;
  }
  Study& observe(Observed::What what, const std::string& value) {
    request.observed.push_back({what, parse_value(model, value, {})});
    return *this;
  }
  Study& integral(const std::string& value) {
    const std::string total = add_integral(model, "integral", parse_value(model, value, {}), {});
    request.observed.push_back({Observed::What::end, model.pool->symbol(total)});
    return *this;
  }
  Study& when(const std::string& condition) {
    const std::string watch = add_watch(model, "when", parse_value(model, condition, {}), {});
    request.observed.push_back({Observed::What::time_when, model.pool->symbol(watch)});
    return *this;
  }
  Study& follow(const std::string& value) {
    request.trajectories.push_back({value, "", parse_value(model, value, {})});
    return *this;
  }
  RunDerivatives run() {
    RunDerivatives result = adaptive_forward_run(model, request);
    EXPECT_EQ(result.failure, "");
    return result;
  }
  // The whole run again with one parameter moved to either side; fourth order.
  double difference(std::size_t observed, std::size_t p, double relative = 3e-3) const {
    const double value = model.parameters[request.wrt[p]].number, h = relative * value;
    RunRequest plain = request;
    plain.wrt.clear();
    plain.simulation.tolerance = 1e-12;
    const auto at = [&](double moved_by) {
      Model moved = model;
      set_parameters(moved, std::array{request.wrt[p]}, std::array{value + moved_by});
      return adaptive_forward_run(moved, plain).values[observed];
    };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  }
  Model model;
  RunRequest request;
};

struct AdaptiveForward : testing::Test {
  void SetUp() override {
    if (!has_adaptive()) GTEST_SKIP() << "built without SUNDIALS";
  }
};

void expect_near(double got, double expected, double relative) {
  EXPECT_NEAR(got, expected, relative * std::abs(expected));
}

// 1 V on C into R: v = U exp(-t/(R C)).
constexpr const char* discharge = R"toml(
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "R" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = "C", v0 = "U" }
[parameters]
R = 2
C = 0.5
U = 1
)toml";

TEST_F(AdaptiveForward, trajectories_of_a_discharge) {
  const RunDerivatives d = Study(discharge, 3.0).by({"R", "C", "U"}).follow("a.v").follow("r.i*R").run();
  ASSERT_EQ(d.t.size(), 11u);
  for (std::size_t k = 0; k < d.t.size(); ++k) {
    const double t = d.t[k], v = std::exp(-t);
    EXPECT_NEAR(d.trajectories[2 * k], v, 1e-9);
    const double expected[] = {v * t / 2, v * t / 0.5, v};
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_NEAR(d.by_parameter[6 * k + p], expected[p], 1e-8) << t;
      EXPECT_NEAR(d.by_parameter[6 * k + 3 + p], expected[p], 1e-8) << t;  // the same written with R
    }
  }
}

// A damped oscillation, x = exp(-a t) cos(w t) with a = R/(2L): against the closed form of all three.
TEST_F(AdaptiveForward, series_resonance) {
  Study study(R"toml(
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
l = { kind = "electrical.inductor", p = "b", n = "datum", L = "L" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = "C", v0 = 1 }
[parameters]
R = 0.4
L = 1
C = 0.25
)toml",
              4.0);
  study.by({"R", "L", "C"}).observe(Observed::What::end, "c.v").observe(Observed::What::end, "l.i");
  const RunDerivatives d = study.run();
  const auto v = [](double R, double L, double C) {
    const double a = R / (2 * L), w = std::sqrt(1 / (L * C) - a * a), t = 4.0;
    return std::exp(-a * t) * (std::cos(w * t) + a / w * std::sin(w * t));
  };
  EXPECT_NEAR(d.values[0], v(0.4, 1, 0.25), 1e-8);
  const double h = 1e-4;
  const auto slope = [&](auto f) {  // fourth order
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
  };
  expect_near(d.gradient[0], slope([&](double e) { return v(0.4 + e, 1, 0.25); }), 1e-7);
  expect_near(d.gradient[1], slope([&](double e) { return v(0.4, 1 + e, 0.25); }), 1e-7);
  expect_near(d.gradient[2], slope([&](double e) { return v(0.4, 1, 0.25 + e); }), 1e-7);
}

// v = U exp(-t/(R C)) reaches V at T = R C ln(U/V); charge until then (U - V) C; v at the end V.
TEST_F(AdaptiveForward, a_run_that_ends_at_an_event) {
  for (const bool fixed : {false, true}) {
    Study study(std::string(discharge) + "V = 0.3\n", 10.0, 0.1);
    study.by({"R", "C", "U", "V"}).until("a.v < V").observe(Observed::What::end, "a.v").integral("r.i");
    study.when("a.v < 2*V");
    study.request.fixed_end_time = fixed;
    const RunDerivatives d = study.run();
    const double R = 2, C = 0.5, U = 1, V = 0.3, T = R * C * std::log(U / V);
    EXPECT_NEAR(d.end_time, T, 1e-9);
    EXPECT_EQ(d.t.back(), d.end_time);
    const double moves[] = {T / R, T / C, R * C / U, -R * C / V};
    for (std::size_t p = 0; p < 4; ++p) expect_near(d.end_time_gradient[p], moves[p], 1e-7);
    EXPECT_NEAR(d.values[0], V, 1e-9);
    EXPECT_NEAR(d.values[1], (U - V) * C, 1e-9);
    // At fixed time: v by R is v T/(R R C) ..., the charge U C (1 - exp(-T/(R C))) likewise.
    const double at_fixed[2][4] = {{V * T / (R * R * C), V * T / (R * C * C), V / U, 0.0},
                                   {-V * T / (R * R), (U - V) - V * T / (R * C), C * (1 - V / U), 0.0}};
    const double total[2][4] = {{0, 0, 0, 1}, {0, U - V, C, -C}};
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t p = 0; p < 4; ++p)
        EXPECT_NEAR(d.gradient[4 * k + p], (fixed ? at_fixed : total)[k][p], 1e-8) << k << p;
    EXPECT_NEAR(d.values[2], R * C * std::log(U / (2 * V)), 1e-9);
    expect_near(d.gradient[8], d.values[2] / R, 1e-7);
    expect_near(d.gradient[11], -R * C / V, 1e-7);
    ASSERT_EQ(d.events.size(), 2u);
    EXPECT_EQ(d.events[0].what, "when.seen");
    EXPECT_EQ(d.events[1].what, "stop_when.seen");
  }
}

// Current 1 until the voltage t/C has reached V, then 3: a jump of the rate at T = C V, so that afterwards
// v = V + 3 (t - C V)/C, and dv/dC = -3 t/C^2, dv/dV = -2.
TEST_F(AdaptiveForward, rates_that_jump_at_a_state_event) {
  Study study(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "if(a.v < V, 1, 3)" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = "C" }
[parameters]
V = 2
C = 0.5
)toml",
              3.0);
  const RunDerivatives d =
      study.by({"V", "C"}).follow("a.v").follow("j.i").observe(Observed::What::end, "a.v").run();
  EXPECT_NEAR(d.values[0], 2 + 3 * (3 - 1) / 0.5, 1e-8);
  EXPECT_NEAR(d.gradient[0], -2, 1e-7);
  EXPECT_NEAR(d.gradient[1], -3 * 3 / 0.25, 1e-6);
  for (std::size_t k = 0; k < d.t.size(); ++k) {
    const bool after = d.t[k] > 1.0;
    EXPECT_NEAR(d.by_parameter[4 * k], after ? -2 : 0, 1e-7) << d.t[k];
    EXPECT_NEAR(d.by_parameter[4 * k + 1], (after ? -3 : -1) * d.t[k] / 0.25, 1e-6) << d.t[k];
  }
}

TEST_F(AdaptiveForward, a_moment_that_a_parameter_gives) {
  // Current 1 until t = T, then 3.
  Study study(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "if(t < T, 1, 3)" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5 }
[parameters]
T = 1.234
)toml",
              3.0);
  const RunDerivatives d = study.by({"T"}).observe(Observed::What::end, "a.v").run();
  EXPECT_NEAR(d.gradient[0], -2 / 0.5, 1e-7);
}

// Heat while below the lower threshold, none above the upper: events whose times depend on everything.
TEST_F(AdaptiveForward, discrete_variables_with_hysteresis) {
  Study study(R"toml(
h = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "Q*(1 - k.y)" }
r = { kind = "thermal.resistor", p = "a", n = "datum", R = "R" }
c = { kind = "thermal.capacitor", p = "a", n = "datum", C = 2, T0 = 0 }
k = { kind = "signals.comparator", u = "a.T", upper = "upper", lower = "upper - 5" }
[parameters]
Q = 100
R = 0.5
upper = 30
)toml",
              6.0);
  study.by({"Q", "R", "upper"}).observe(Observed::What::end, "a.T").integral("h.Q");
  const RunDerivatives d = study.run();
  // With A = Q R and tau = 2 R: up A - (A - from) exp(-t/tau), down exp(-t/tau).
  const auto at_end = [](double Q, double R, double upper) {
    const double A = Q * R, tau = 2 * R, low = upper - 5;
    double t = tau * std::log(A / (A - upper));
    const double down = tau * std::log(upper / low), up = tau * std::log((A - low) / (A - upper));
    int cycles = 0;
    while (t + down + up < 6.0) t += down + up, ++cycles;
    const double T =
        t + down < 6.0 ? A - (A - low) * std::exp(-(6 - t - down) / tau) : upper * std::exp(-(6 - t) / tau);
    EXPECT_GT(cycles, 3);
    return T;
  };
  EXPECT_NEAR(d.values[0], at_end(100, 0.5, 30), 1e-7);
  const auto slope = [&](double value, auto f) {
    const double h = 1e-5 * value;
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
  };
  expect_near(d.gradient[0], slope(100, [&](double e) { return at_end(100 + e, 0.5, 30); }), 1e-6);
  expect_near(d.gradient[1], slope(0.5, [&](double e) { return at_end(100, 0.5 + e, 30); }), 1e-6);
  expect_near(d.gradient[2], slope(30, [&](double e) { return at_end(100, 0.5, 30 + e); }), 1e-6);
  EXPECT_GT(d.events.size(), 6u);
  for (const auto& event : d.events) EXPECT_EQ(event.gradient.size(), 3u);
  for (std::size_t p = 0; p < 3; ++p) expect_near(d.gradient[3 + p], study.difference(1, p, 1e-4), 1e-5);
}

// What a computer samples and holds has derivatives too, though its times have none.
TEST_F(AdaptiveForward, a_sampled_controller) {
  Study study(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "ctl.y" }
r = { kind = "electrical.resistor", p = "s", n = "a", R = "R" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5 }
ctl = { kind = "signals.sampled_pi", u = "w - a.v", period = 0.1, k = "k", Ti = 0.7, high = 2.5, I0 = "w/3" }
[parameters]
R = 2
k = 1.7
w = 1.2
)toml",
              1.55);
  study.by({"R", "k", "w"})
      .observe(Observed::What::end, "a.v")
      .observe(Observed::What::end, "ctl.y")
      .integral("r.i^2");
  const RunDerivatives d = study.run();
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t p = 0; p < 3; ++p) expect_near(d.gradient[3 * k + p], study.difference(k, p), 1e-6);
  ASSERT_GE(d.events.size(), 15u);
  for (const auto& event : d.events) EXPECT_TRUE(event.gradient.empty());
}

// A capacitor straight at a source has no state of its own: its current is C dV/dt.
TEST_F(AdaptiveForward, redundant_storage) {
  Study study(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "U*sin(w*t)" }
q = { kind = "electrical.capacitor", p = "s", n = "datum", C = "C" }
c = { kind = "electrical.capacitor", p = "s", n = "a", C = 0.5 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 2 }
[parameters]
U = 3
w = 2
C = 0.25
)toml",
              3.0);
  study.by({"U", "w", "C"}).follow("q.i").observe(Observed::What::end, "r.i");
  const RunDerivatives d = study.run();
  for (std::size_t k = 0; k < d.t.size(); ++k) {
    const double t = d.t[k], U = 3, w = 2, C = 0.25;
    EXPECT_NEAR(d.by_parameter[3 * k], C * w * std::cos(w * t), 1e-7) << t;
    EXPECT_NEAR(d.by_parameter[3 * k + 1], C * U * (std::cos(w * t) - w * t * std::sin(w * t)), 1e-7) << t;
    EXPECT_NEAR(d.by_parameter[3 * k + 2], U * w * std::cos(w * t), 1e-7) << t;
  }
  for (std::size_t p = 0; p < 2; ++p) expect_near(d.gradient[p], study.difference(0, p), 1e-6);
}

// A ramp that saturates: a kink at a time that the parameters move, with rates that do not jump.
TEST_F(AdaptiveForward, kinks_of_sources_and_of_states) {
  Study study(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "min(a0 + a1*t, top) - max(a.v - V, 0)" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5 }
[parameters]
a0 = 0.1
a1 = 1
top = 1.5
V = 2
)toml",
              3.0);
  study.by({"a0", "a1", "top", "V"})
      .observe(Observed::What::end, "a.v")
      .observe(Observed::What::maximum, "j.i");
  const RunDerivatives d = study.run();
  for (std::size_t k = 0; k < 1; ++k)
    for (std::size_t p = 0; p < 4; ++p) expect_near(d.gradient[4 * k + p], study.difference(k, p), 1e-6);
}

TEST_F(AdaptiveForward, a_diode_circuit_against_differences) {
  Study study(R"toml(
e = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "U*sin(100*t)" }
r = { kind = "electrical.resistor", p = "s", n = "a", R = "R" }
d = { kind = "electrical.diode", p = "a", n = "b", Is = 1e-12 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C" }
l = { kind = "electrical.resistor", p = "b", n = "datum", R = 1000 }
[parameters]
U = 5
R = 100
C = 1e-5
)toml",
              0.1);
  study.by({"U", "R", "C"})
      .observe(Observed::What::end, "b.v")
      .integral("b.v")
      .observe(Observed::What::maximum, "b.v");
  const RunDerivatives d = study.run();
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t p = 0; p < 3; ++p) expect_near(d.gradient[3 * k + p], study.difference(k, p), 1e-6);
}

// The torque converter from stall to lock-up: the stator lets go where its torque reaches zero, and the run
// ends at 20 rad/s of the stator. Expected numbers: integration of order 8 between events, rtol 1e-12, with
// its own sensitivities; they agree with Richardson's differences to 2e-9.
TEST_F(AdaptiveForward, the_torque_converter) {
  struct Expected {
    const char* parameter;
    double chi, total, lockup, tolerance;  // dE at fixed end time, dE, dT
  };
  constexpr Expected expected[] = {
      {"R_p", -19941527.609753549, -20103036.338744525, -1.7010327746168445, 1e-6},
      {"R_s", 18462775.14824339, 20992338.982833344, 26.641724041821814, 1e-6},
      {"R_t", -3614244.8839510502, -8941397.912520349, -56.1063290734091, 1e-6},
      {"rho", -363.13335662783732, -425.98437833311681, -0.00066195584911579871, 1e-6},
      {"A", -30430036.032399703, -35709521.855642378, -55.604291325718691, 1e-6},
      {"alpha_s", 14716.97530422172, 15840.405977637349, 0.011832130730201139, 1e-6},
      {"alpha_t", -3269.4763570277173, -4407.0442999302886, -0.011981026451758225, 1e-6},
      {"alpha_p", -1084.7968899217201, -779.32802042024366, 0.0032172413336012257, 1e-6},
      {"beta_s", -1798.8221969418485, -1994.7538993934313, -0.0020635803992689406, 1e-6},
      {"C_flow", 652511.03274483595, 674965.79827309866, 0.23649676614101431, 1e-6},
      {"C_shock", 488641.39858894103, 508304.13054287253, 0.20709067368124817, 1e-6},
      {"J_p", 86825.936367518196, 586647.09344584658, 5.2641871120455264, 1e-6},
      {"J_t", 91044.501004066435, 538948.17487996537, 4.717384836684384, 1e-6},
      {"J_s", -1052.3594099542736, 311671.05920879345, 3.293647270857011, 1e-6},
      {"L_f", -625.82121084127255, -692.64145246244232, -0.00070376023460488651, 1e-4},
      {"S_p", 35633.96529271207, -3761.2213026936006, -0.41491567656801592, 1e-4},
      {"S_t", 52986.92676492707, 19841.195082028396, -0.34909553361921847, 1e-4},
      {"S_s", 1795.2162386651269, -27026.844536330293, -0.30355802015509031, 1e-4},
  };
  Study study(shipped_model("torque-converter"), 13.0, 1.0);
  study.until("stator.shaft.w > 20").observe(Observed::What::end, "lost.y").when("clutch.locked < 0.5");
  study.follow("lost.y");
  for (const Expected& e : expected) study.by({e.parameter});
  study.request.simulation.tolerance = 1e-11;
  const RunDerivatives full = study.run();
  EXPECT_NEAR(full.values[0] / 557827.35732004801, 1.0, 1e-8);
  EXPECT_NEAR(full.values[1], 10.37969447173243, 1e-8);
  EXPECT_NEAR(full.end_time, 11.41695787043238, 1e-8);
  for (std::size_t p = 0; p < std::size(expected); ++p) {
    const Expected& e = expected[p];
    // Angles are reported by degree.
    const double unit =
        study.model.parameters[study.request.wrt[p]].unit == "deg" ? std::acos(-1.0) / 180 : 1.0;
    const double at_fixed_time = full.by_parameter[full.by_parameter.size() - std::size(expected) + p];
    EXPECT_NEAR(at_fixed_time * unit / e.chi, 1.0, e.tolerance) << e.parameter;
    EXPECT_NEAR(full.gradient[p] * unit / e.total, 1.0, e.tolerance) << e.parameter;
    EXPECT_NEAR(full.end_time_gradient[p] * unit / e.lockup, 1.0, e.tolerance) << e.parameter;
  }
}

TEST_F(AdaptiveForward, a_formula_for_the_end) {
  Study study(std::string(discharge) + "T = \"R*C*3\"\n", 3.0);
  study.model.simulation.stop = 3.0;
  study.model.simulation.stop_formula = parse_value(study.model, "T", {});
  const RunDerivatives d = study.by({"R", "U"}).observe(Observed::What::end, "a.v").run();
  EXPECT_NEAR(d.end_time_gradient[0], 1.5, 1e-12);
  EXPECT_NEAR(d.gradient[0], 0.0, 1e-9);  // exp(-3) whatever R is
  EXPECT_NEAR(d.gradient[1], std::exp(-3), 1e-9);
}

}  // namespace adaptive_forward_test
}  // namespace tellegen
