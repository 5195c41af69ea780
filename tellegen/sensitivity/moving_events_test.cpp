// Derivatives where the times of events, of samples and of the end move with a parameter: against closed
// forms.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tellegen/model/read.h"
#include "tellegen/sensitivity/study.h"
#include "tellegen/simulate/adaptive.h"

namespace tellegen {
namespace moving_events_test {

using Way = StudyOptions::Method;

struct Case {
  std::string text, method;
  Way way = Way::forward;
};

StudyResult derivatives(const Case& c, const std::vector<std::string>& of,
                        const std::vector<std::string>& by) {
  StudyOptions options;
  options.method = c.way;
  options.simulation.method = c.method;
  options.simulation.compile = false;
  Study study(
      read_model_text(c.text, "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}}), of,
      by, options);
  StudyResult result = study.evaluate(study.nominal());
  EXPECT_EQ(result.failure, "");
  return result;
}

// A capacitor charged from a source V through R, to be completed.
const std::string charging = R"toml(
[parameters]
V = 3
R = 1.5
C = 0.05
[components]
s = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "V" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C" }
)toml";

// Half the resistance from 0.9 V on: v = V - (V - 0.9) exp(-(t - T)/RC), T = -2RC ln(1 - 0.9/V).
const std::string switched = charging + R"toml(
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "if(b.v > 0.9, R, 2*R)" }
[objectives]
I = { integral = "b.v" }
e = { end = "b.v" }
[simulation]
step = 1e-3
stop = 0.2
tolerance = 1e-9
)toml";

double switched_end(double V, double R, double C) {
  const double T = -2 * R * C * std::log(1 - 0.9 / V);
  return V - (V - 0.9) * std::exp(-(0.2 - T) / (R * C));
}
double switched_integral(double V, double R, double C) {  // of V - v: the charge times the resistance
  return V * 0.2 - 2 * R * C * 0.9 - R * C * (switched_end(V, R, C) - 0.9);
}

template <class F>
std::vector<double> gradient(F f, std::vector<double> at) {
  std::vector<double> result;
  for (double& v : at) {
    const double here = v, h = 1e-5 * here;
    v = here + h;
    const double high = f(at[0], at[1], at[2]);
    v = here - h;
    const double low = f(at[0], at[1], at[2]);
    v = here;
    result.push_back((high - low) / (2 * h));
  }
  return result;
}

TEST(MovingEvents, a_condition_of_an_equation_moves_with_parameters) {
  if (!has_adaptive()) GTEST_SKIP() << "built without SUNDIALS";
  const StudyResult d = derivatives({switched, "adaptive"}, {"e", "I"}, {"V", "R", "C"});
  const auto end = gradient(switched_end, {3, 1.5, 0.05}),
             total = gradient(switched_integral, {3, 1.5, 0.05});
  EXPECT_NEAR(d.gradient[0], 0.94328, 1e-5);
  for (int p = 0; p < 3; ++p) {
    EXPECT_NEAR(d.gradient[p] / end[p], 1.0, 1e-5) << p;
    EXPECT_NEAR(d.gradient[3 + p] / total[p], 1.0, 1e-5) << p;
  }
  EXPECT_TRUE(d.warnings.empty());
}

TEST(MovingEvents, fixed_steps_warn_of_a_condition_of_an_equation) {
  for (const Way way : {Way::forward, Way::adjoint})
    for (const char* method : {"bdf2", "tr"}) {
      const StudyResult d = derivatives({switched, method, way}, {"e"}, {"V"});
      ASSERT_EQ(d.warnings.size(), 1u) << method;
      EXPECT_NE(d.warnings[0].find("b.v > 0.9"), std::string::npos) << d.warnings[0];
    }
}

// x' = p f(x) with a step in f: only adaptive has the derivative, the others say so.
TEST(MovingEvents, functions_that_jump) {
  for (const char* factor :
       {"1 + 2*(x.y > 0.33)", "1 + floor(3*x.y)", "2 + sign(x.y - 0.33)", "1 + mod(3*x.y, 1)"}) {
    SCOPED_TRACE(factor);
    const std::string text = std::string("[parameters]\np = 0.7\n[components]\n") +
                             "x = { kind = \"signals.integrator\", u = \"p*(" + factor + ")\" }\n" +
                             "[objectives]\ne = { end = \"x.y\" }\n[simulation]\nstep = 1e-2\nstop = 1\n";
    for (const char* method : {"bdf2", "tr", "rk4"})
      EXPECT_EQ(derivatives({text, method}, {"e"}, {"p"}).warnings.size(), 1u) << method;
    if (!has_adaptive()) continue;
    const StudyResult d = derivatives({text + "tolerance = 1e-9\n", "adaptive"}, {"e"}, {"p"});
    EXPECT_TRUE(d.warnings.empty());
    // The solution depends on p t alone: dx/dp = x'/p.
    const double x = d.values[0];
    const std::map<std::string, double> slope{{"1 + 2*(x.y > 0.33)", 3.0},
                                              {"1 + floor(3*x.y)", 1 + std::floor(3 * x)},
                                              {"2 + sign(x.y - 0.33)", 3.0},
                                              {"1 + mod(3*x.y, 1)", 1 + std::fmod(3 * x, 1.0)}};
    EXPECT_NEAR(d.gradient[0] / slope.at(factor), 1.0, 1e-4);
  }
}

// The comparison with the carrier changes where the carrier is reset; only the other edges move.
TEST(MovingEvents, pulse_width) {
  if (!has_adaptive()) GTEST_SKIP() << "built without SUNDIALS";
  for (const char* k : {"0.4", "0.4037"}) {
    const std::string text = std::string("[parameters]\nk = ") + k + R"toml(
T = 0.1
[components]
pw = { kind = "signals.pwm", u = "k", period = "T" }
x  = { kind = "signals.integrator", u = "pw.y" }
[objectives]
e = { end = "x.y" }
[simulation]
step = 1e-3
stop = 0.97
)toml";
    for (const auto& [method, way] : {std::pair("adaptive", Way::forward), std::pair("bdf2", Way::forward),
                                      std::pair("bdf3", Way::adjoint), std::pair("tr", Way::forward)}) {
      SCOPED_TRACE(std::string(method) + " " + k);
      // On for k T in each of ten periods; the tenth ends before the run does.
      const StudyResult d = derivatives({text, method, way}, {"e"}, {"k", "T"});
      EXPECT_NEAR(d.gradient[0], 1.0, 1e-6);
      EXPECT_NEAR(d.gradient[1], 10 * std::stod(k), 1e-5);
      EXPECT_TRUE(d.warnings.empty());
    }
  }
}

// The run ends where the voltage is 1 V: so is its maximum, whatever the parameters.
TEST(MovingEvents, a_maximum_at_the_end_moves_with_it) {
  const std::string parts = charging + R"toml(
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
[objectives]
m = { maximum = "b.v" }
l = { minimum = "-2*b.v" }
e = { end = "b.v" }
[simulation]
step = 1e-3
tolerance = 1e-9
)toml";
  const std::string at_event = parts + "stop = 0.2\nstop_when = \"b.v > 1\"\n";
  const std::string at_formula = parts + "stop = \"R*C\"\n";
  std::vector<std::pair<std::string, Way>> ways{{"bdf2", Way::forward}, {"bdf2", Way::adjoint},
                                                {"tr", Way::forward},   {"tr", Way::adjoint},
                                                {"bdf1", Way::forward}, {"bdf3", Way::adjoint}};
  if (has_adaptive()) ways.push_back({"adaptive", Way::forward});
  for (const auto& [method, way] : ways) {
    SCOPED_TRACE(method);
    const StudyResult event = derivatives({at_event, method, way}, {"m", "l", "e"}, {"V", "R"});
    EXPECT_NEAR(event.values[0], 1.0, 1e-6);
    for (double g : event.gradient) EXPECT_NEAR(g, 0.0, 1e-5);
    const StudyResult formula = derivatives({at_formula, method, way}, {"m", "l", "e"}, {"V", "R"});
    const double by_V = 1 - std::exp(-1.0), tolerance = method == "bdf1" ? 3e-2 : 5e-4;
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(formula.gradient[2 * k], (k == 1 ? -2 : 1) * by_V, tolerance) << k;
      EXPECT_NEAR(formula.gradient[2 * k + 1], 0.0, tolerance) << k;
    }
  }
}

// 2t held at multiples of T: x(1) = 2T T + 4T T + 6T (1 - 3T) = 6T - 12T^2.
TEST(MovingEvents, a_sample_time_that_is_a_parameter) {
  const std::string text = R"toml(
[parameters]
T = 0.3
[components]
h = { kind = "signals.sample_hold", u = "2*t", period = "T" }
x = { kind = "signals.integrator", u = "h.y" }
[objectives]
e = { end = "x.y" }
[simulation]
step = 1e-2
stop = 1
)toml";
  if (has_adaptive()) {
    const StudyResult d = derivatives({text, "adaptive"}, {"e"}, {"T"});
    EXPECT_NEAR(d.values[0], 6 * 0.3 - 12 * 0.09, 1e-8);
    EXPECT_NEAR(d.gradient[0], 6 - 24 * 0.3, 1e-6);
    EXPECT_TRUE(d.warnings.empty());
  }
  for (const Way way : {Way::forward, Way::adjoint}) {
    const StudyResult d = derivatives({text, "bdf2", way}, {"e"}, {"T"});
    ASSERT_EQ(d.warnings.size(), 1u);
    EXPECT_NE(d.warnings[0].find("sample times"), std::string::npos);
  }
}

// x rises with slope p to 0.5, where a comparator turns it: the maximum is 0.5 whatever p is, at a time that
// is no sample.
TEST(MovingEvents, a_maximum_at_an_event_between_samples_is_warned_of) {
  const std::string text = R"toml(
[parameters]
p = 0.7
[components]
k = { kind = "signals.comparator", u = "x.y", upper = "0.5", lower = "-10" }
x = { kind = "signals.integrator", u = "if(k.y > 0.5, -1, p)" }
y = { kind = "signals.integrator", u = "p*cos(4*t)" }
[objectives]
m = { maximum = "x.y" }
l = { minimum = "-x.y" }
smooth = { maximum = "y.y" }
[simulation]
step = 1e-2
stop = 1.005
sample = 3e-2
)toml";
  std::vector<std::pair<std::string, Way>> ways{
      {"bdf2", Way::forward}, {"bdf2", Way::adjoint}, {"tr", Way::forward}, {"bdf3", Way::adjoint}};
  if (has_adaptive()) ways.push_back({"adaptive", Way::forward});
  for (const auto& [method, way] : ways)
    for (const char* of : {"m", "l"}) {
      SCOPED_TRACE(method + " " + of);
      const StudyResult d = derivatives({text, method, way}, {of}, {"p"});
      ASSERT_EQ(d.warnings.size(), 1u);
      EXPECT_NE(d.warnings[0].find("is at the event at t = 0.714"), std::string::npos) << d.warnings[0];
      const StudyResult smooth = derivatives({text, method, way}, {"smooth"}, {"p"});
      EXPECT_TRUE(smooth.warnings.empty());
      EXPECT_NEAR(smooth.gradient[0], 0.25, 2e-3);
    }
}

// x = p t is 0.5 at the very end of the run, where what follows is no part of it yet.
TEST(MovingEvents, an_event_at_the_end_of_the_run_is_warned_of) {
  const std::string text = R"toml(
[parameters]
p = 0.5
[components]
x = { kind = "signals.integrator", u = "p" }
k = { kind = "signals.comparator", u = "x.y", upper = "0.5", lower = "-10" }
z = { kind = "signals.integrator", u = "1 + 2*k.y" }
[objectives]
e = { end = "z.y" }
[simulation]
step = 1e-2
stop = )toml";
  std::vector<std::pair<std::string, Way>> ways{
      {"bdf2", Way::forward}, {"bdf2", Way::adjoint}, {"tr", Way::adjoint}, {"bdf3", Way::forward}};
  for (const auto& [method, way] : ways) {
    SCOPED_TRACE(method);
    const StudyResult at_end = derivatives({text + "1\n", method, way}, {"e"}, {"p"});
    ASSERT_EQ(at_end.warnings.size(), 1u);
    EXPECT_NE(at_end.warnings[0].find("'k.y' changes at the very end"), std::string::npos);
    // Before and after it there is nothing to be said: 0, and 2 (stop - 0.5/p) by p.
    const StudyResult before = derivatives({text + "0.9\n", method, way}, {"e"}, {"p"}),
                      after = derivatives({text + "1.2\n", method, way}, {"e"}, {"p"});
    EXPECT_TRUE(before.warnings.empty());
    EXPECT_TRUE(after.warnings.empty());
    EXPECT_NEAR(before.gradient[0], 0.0, 1e-9);
    EXPECT_NEAR(after.gradient[0], 2 * 0.5 / 0.25, 1e-5);
  }
}

// The eighth sample falls on the end, which the parameter moves: from the left 7*8*8, from the right 8*8*8.
TEST(MovingEvents, a_sample_at_an_end_that_moves_is_warned_of) {
  const std::string text = R"toml(
[parameters]
p = 1
[components]
h = { kind = "signals.sample_hold", u = "t", period = 1 }
g = { kind = "signals.integrator", u = 1 }
[objectives]
I = { integral = "h.y*g.y" }
[simulation]
step = 1e-2
stop = )toml";
  std::vector<std::pair<std::string, Way>> ways{{"bdf2", Way::forward}, {"tr", Way::adjoint}};
  if (has_adaptive()) ways.push_back({"adaptive", Way::forward});
  for (const auto& [method, way] : ways) {
    SCOPED_TRACE(method);
    const StudyResult at_end = derivatives({text + "\"8*p\"\n", method, way}, {"I"}, {"p"});
    ASSERT_EQ(at_end.warnings.size(), 1u);
    EXPECT_NE(at_end.warnings[0].find("'h.y' changes at the very end"), std::string::npos);
    const StudyResult after = derivatives({text + "\"8.5*p\"\n", method, way}, {"I"}, {"p"});
    EXPECT_TRUE(after.warnings.empty());
    EXPECT_NEAR(after.gradient[0], 8.5 * 8 * 8.5, 0.01);
  }
}

// p and q have the same peak at different times: the maximum goes with one of them.
TEST(MovingEvents, tied_maxima_are_warned_of_in_either_direction) {
  const std::string text = R"toml(
[parameters]
p = 1
q = 1
[components]
x = { kind = "signals.integrator", u = "0*p" }
[objectives]
m = { maximum = "x.y + p*max(sin(2*pi*t), 0) + q*max(-sin(2*pi*t), 0)" }
[simulation]
step = 1e-2
stop = 1
)toml";
  for (const Way way : {Way::forward, Way::adjoint}) {
    const StudyResult tied = derivatives({text, "bdf2", way}, {"m"}, {"p", "q"});
    ASSERT_EQ(tied.warnings.size(), 1u);
    EXPECT_NE(tied.warnings[0].find("several samples share the maximum"), std::string::npos);
    std::string apart = text;
    apart.replace(apart.find("q = 1"), 5, "q = 2");
    const StudyResult alone = derivatives({apart, "bdf2", way}, {"m"}, {"p", "q"});
    EXPECT_TRUE(alone.warnings.empty());
    EXPECT_NEAR(alone.gradient[0], 0.0, 1e-12);
    EXPECT_NEAR(alone.gradient[1], 1.0, 1e-12);
  }
}

// v rises to V with R C; at `upper` the source becomes 3 V. e = 3 - (3 - upper) exp(-(1 - T)/RC), with
// T = -RC ln(1 - upper/V).
TEST(MovingEvents, a_comparator_in_an_equation) {
  const std::string text = R"toml(
[parameters]
V = 1
upper = 0.5
[components]
k = { kind = "signals.comparator", u = "b.v", upper = "upper", lower = "-10" }
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(k.y > 0.5, 3, V)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.5, v0 = 0 }
[objectives]
e = { end = "b.v" }
[simulation]
step = 1e-3
stop = 1
)toml";
  const auto end = [](double V, double upper, double) {
    return 3 - (3 - upper) * std::exp(-(1 + 0.5 * std::log(1 - upper / V)) / 0.5);
  };
  const auto expected = gradient(end, {1.0, 0.5, 1.0});
  std::vector<std::pair<std::string, Way>> ways{{"bdf2", Way::forward}, {"bdf2", Way::adjoint},
                                                {"tr", Way::forward},   {"tr", Way::adjoint},
                                                {"bdf3", Way::forward}, {"bdf3", Way::adjoint}};
  if (has_adaptive()) ways.push_back({"adaptive", Way::forward});
  for (const auto& [method, way] : ways) {
    SCOPED_TRACE(method);
    const StudyResult d = derivatives({text, method, way}, {"e"}, {"V", "upper"});
    EXPECT_TRUE(d.warnings.empty()) << d.warnings[0];
    for (int p = 0; p < 2; ++p) EXPECT_NEAR(d.gradient[p] / expected[p], 1.0, 2e-3) << p;
  }
}

// The time at which a discrete variable changes is that of its event: 2 T for a ramp of slope 1/2.
TEST(MovingEvents, the_time_of_a_discrete_variable) {
  const std::string text = R"toml(
[parameters]
p = 0.3
[components]
x = { kind = "signals.integrator", u = "0.5" }
k = { kind = "signals.comparator", u = "x.y", upper = "p", lower = "-10" }
[objectives]
T = { time_when = "k.y > 0.5" }
[simulation]
step = 1e-2
stop = 1
)toml";
  for (const Way way : {Way::forward, Way::adjoint})
    for (const char* method : {"bdf2", "tr"}) {
      const StudyResult d = derivatives({text, method, way}, {"T"}, {"p"});
      EXPECT_NEAR(d.values[0], 0.6, 1e-6) << method;
      EXPECT_NEAR(d.gradient[0], 2.0, 1e-6) << method;
      EXPECT_TRUE(d.warnings.empty()) << method;
    }
}

// Without states: values and derivatives are those of each row alone, by every fixed step.
TEST(MovingEvents, a_model_without_states) {
  const std::string text = R"toml(
[parameters]
R = 2
unused = 1
[components]
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "sin(t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
q = { kind = "electrical.resistor", p = "b", n = "datum", R = 1 }
[objectives]
e = { end = "b.v" }
[simulation]
step = 1e-2
stop = 1
)toml";
  for (const Way way : {Way::forward, Way::adjoint})
    for (const char* method : {"bdf2", "tr"})
      for (const char* by : {"R", "unused"})
        EXPECT_NEAR(derivatives({text, method, way}, {"e"}, {by}).gradient[0],
                    by == std::string("R") ? -std::sin(1.0) / 9 : 0.0, 1e-12)
            << method << " " << by;
}

// A buck converter whose edges fall on the grid of steps; the value is that of adaptive.
const std::string converter = R"toml(
[parameters]
L = "47 uH"
[components]
v = { kind = "electrical.voltage_source", p = "in", n = "datum", V = "48 V" }
q = { kind = "electrical.mosfet_switch", d = "in", s = "sw", j = "j", gate = "m.y", Ron = "8 mohm" }
d = { kind = "electrical.ideal_diode", p = "datum", n = "sw", Vf = "0.5 V", Ron = "10 mohm" }
l = { kind = "electrical.inductor", p = "sw", n = "out", L = "L", i0 = "0 A" }
c = { kind = "electrical.capacitor", p = "out", n = "x", C = "220 uF", v0 = "0 V" }
e = { kind = "electrical.resistor", p = "x", n = "datum", R = "15 mohm" }
r = { kind = "electrical.resistor", p = "out", n = "datum", R = "2 ohm" }
m = { kind = "signals.pwm", u = 0.25, period = "10 us" }
k = { kind = "thermal.fixed_temperature", p = "case", T = "60 degC" }
z = { kind = "thermal.foster", p = "j", n = "case", R1 = "0.3 K/W", tau1 = "1 ms" }
[simulation]
stop = "20 us"
step = "100 ns"
[objectives]
E = { integral = "out.v^2" }
)toml";

TEST(MovingEvents, an_edge_on_the_grid_of_steps) {
  for (const char* method : {"bdf2", "tr"}) {
    SCOPED_TRACE(method);
    const StudyResult d = derivatives({converter, method}, {"E"}, {"L"});
    EXPECT_NEAR(d.values[0] / 8.0756e-07, 1.0, 2e-3);
    const StudyResult difference = derivatives({converter, method, Way::finite_difference}, {"E"}, {"L"});
    EXPECT_NEAR(d.gradient[0] / difference.gradient[0], 1.0, 1e-3);
    const StudyResult adjoint = derivatives({converter, method, Way::adjoint}, {"E"}, {"L"});
    EXPECT_NEAR(adjoint.gradient[0] / d.gradient[0], 1.0, 1e-6);
  }
}

}  // namespace moving_events_test
}  // namespace tellegen
