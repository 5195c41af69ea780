#include "tellegen/sensitivity/fixed_step.h"

#include "tellegen/sensitivity/test_study.h"

namespace tellegen {
namespace fixed_step_test {

void check(const TestStudy& study, double tolerance = 1e-6) {
  const RunDerivatives forward = fixed_forward_run(study.model, study.request);
  ASSERT_EQ(forward.failure, "");
  study.expect_near(forward.gradient, study.differences(fixed_forward_run), tolerance);
  const RunDerivatives adjoint = fixed_adjoint_run(study.model, study.request);
  ASSERT_EQ(adjoint.failure, "");
  EXPECT_EQ(adjoint.values, forward.values);
  study.expect_near(adjoint.gradient, forward.gradient, 1e-9);
}

TEST(FixedStep, every_method_on_a_linear_circuit) {
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "trnp"}) {
    SCOPED_TRACE(method);
    check(TestStudy(model_of(oscillator), method, 2e-3, 2e-5, {"k.v", "l.i*R", "integral of r.v^2/R"},
                    {"U", "w", "R", "C", "i0", "l.L"}));
  }
}

TEST(FixedStep, diodes) {
  for (const char* method : {"bdf2", "tr"}) {
    SCOPED_TRACE(method);
    check(TestStudy(model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*sin(314*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "1 ohm" }
d = { kind = "electrical.diode", p = "b", n = "k", Is = "1e-12 A" }
c = { kind = "electrical.capacitor", p = "k", n = "datum", C = "100 uF" }
l = { kind = "electrical.resistor", p = "k", n = "datum", R = "100 ohm" }
[parameters]
U = "10 V"
)toml"),
                    method, 12e-3, 1e-4, {"k.v", "integral of l.v*l.i"}, {"U", "r.R", "d.Is", "c.C", "l.R"}));
  }
}

TEST(FixedStep, sampled_controller_and_located_events) {
  // Two-point control: the heater switches where the temperature crosses its limits.
  constexpr const char* thermostat = R"toml(
s = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "P*k.y" }
c = { kind = "thermal.capacitor", p = "a", n = "datum", C = "50 J/K", T0 = "300 K" }
r = { kind = "thermal.resistor", p = "a", n = "b", R = "R" }
z = { kind = "thermal.fixed_temperature", p = "b", T = "290 K" }
k = { kind = "signals.comparator", u = "320 - a.T", upper = "band", lower = "-band" }
[parameters]
P = "100 W"
R = "1 K/W"
band = "2 K"
)toml";
  check(TestStudy(model_of(thermostat), "bdf2", 60.0, 0.5, {"a.T", "integral of P*k.y"},
                  {"P", "R", "c.C", "band"}),
        1e-5);
}

// A condition that is only watched changes nothing of the run but its steps.
TEST(FixedStep, a_watched_condition_leaves_the_derivatives_as_they_are) {
  Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 uF", v0 = "0 V" }
[parameters]
R = "1 kohm"
U = "5 V"
)toml");
  const std::vector<std::string> observed{"b.v", "integral of r.v*r.i"}, wrt{"R", "U", "c.C"};
  const TestStudy plain(model, "bdf2", 2e-3, 1e-5, observed, wrt);
  add_watch(model, "seen", parse_value(model, "b.v > 3", {}), {});
  const TestStudy watched(model, "bdf2", 2e-3, 1e-5, observed, wrt);
  check(watched, 1e-6);
  plain.expect_near(fixed_forward_run(watched.model, watched.request).gradient,
                    fixed_forward_run(plain.model, plain.request).gradient, 1e-3);
}

}  // namespace fixed_step_test
}  // namespace tellegen
