#include "tellegen/sensitivity/explicit_adjoint.h"

#include "tellegen/sensitivity/test_study.h"

namespace tellegen {
namespace explicit_adjoint_test {

RunDerivatives adjoint(const TestStudy& study, double kept_bytes = 64e6) {
  std::string why;
  const auto found = explicit_adjoint_run(study.model, study.request, why, kept_bytes);
  EXPECT_TRUE(found) << why;
  return found ? *found : RunDerivatives{};
}

// Against the sensitivity graph beside the model, which takes the same steps, and against differences.
void check_forward(const TestStudy& study, const RunDerivatives& back) {
  const RunDerivatives forward = forward_run(study.model, study.request);
  EXPECT_EQ(back.failure, "");
  EXPECT_EQ(forward.failure, "");
  for (std::size_t k = 0; k < forward.values.size(); ++k)
    EXPECT_NEAR(back.values.at(k), forward.values[k], 1e-9 * (1.0 + std::abs(forward.values[k])));
  study.expect_near(back.gradient, forward.gradient, 1e-8);
}

void check(const TestStudy& study) {
  const RunDerivatives back = adjoint(study);
  check_forward(study, back);
  study.expect_near(back.gradient, study.differences(plain_run), 1e-5);
}

TestStudy rk4(const char* text, double stop, double step, const std::vector<std::string>& observed,
              const std::vector<std::string>& wrt) {
  return TestStudy(model_of(text), "rk4", stop, step, observed, wrt);
}

constexpr const char* series_circuit = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*sin(w*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
l = { kind = "electrical.inductor", p = "b", n = "k", L = "10 mH", i0 = "i0" }
c = { kind = "electrical.capacitor", p = "k", n = "datum", C = "C", v0 = "R*i0/2" }
[parameters]
U = "5 V"
w = "3000 rad/s"
R = "20 ohm"
C = "10 uF"
i0 = "0.01 A"
)toml";

TEST(ExplicitAdjoint, of_a_circuit_its_source_and_its_start) {
  check(rk4(series_circuit, 2e-3, 2e-5, {"k.v", "l.i*R", "integral of r.v^2/R"},
            {"U", "w", "R", "C", "i0", "l.L"}));
}

TEST(ExplicitAdjoint, through_equations_that_are_iterated) {
  // The current of a resistor that grows with it; a source follows from a parameter that follows.
  check(rk4(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "twice + t" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R*(1 + k*r.i^2 + 0.1*sin(r.i))" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "0.3 F" }
[parameters]
U = "5 V"
twice = "2*U"
R = "2 ohm"
k = 0.3
)toml",
            1.0, 0.01, {"c.v", "integral of r.i^2"}, {"U", "R", "k", "c.C"}));
}

TEST(ExplicitAdjoint, of_a_table) {
  check(rk4(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "P*map(a.T)*(1 + rise(t))" }
c = { kind = "thermal.capacitor", p = "a", n = "datum", C = "50 J/K", T0 = "310 K" }
r = { kind = "thermal.resistor", p = "a", n = "datum", R = "R" }
[parameters]
P = "100 W"
R = "3 K/W"
[tables]
map = { points = [[0, 0.1], [200, 0.4], [300, 0.9], [330, 0.5], [500, 0.2]], interpolation = "cubic" }
rise = { points = [[0, 0], [20, 1], [60, 0.2]], interpolation = "cubic" }
)toml",
            40.0, 0.5, {"a.T", "integral of r.Q"}, {"P", "R", "c.C", "c.T0"}));
}

constexpr const char* pendulum = R"toml(
gravity = { kind = "multibody.gravity", g = [0, "-g", 0] }
h = { kind = "multibody.revolute", from = "datum", to = "pin", axis = [0, 0, 1], angle0 = "angle0", damping = "0.1 N m s/rad" }
bar = { kind = "multibody.body", at = "pin", mass = "m", com = [0, "-L/2", 0], inertia = [0, 0, "m*L^2/12"] }
arm = { kind = "multibody.arm", from = "pin", to = "tip", offset = [0, "-L", 0] }
h2 = { kind = "multibody.revolute", from = "tip", to = "pin2", axis = [0, 0, 1], angle0 = "1 rad" }
bar2 = { kind = "multibody.body", at = "pin2", mass = "2 kg", com = [0, "-0.3 m", 0], inertia = [0, 0, 0.1] }
[parameters]
m = "1 kg"
L = "1 m"
g = "9.8 m/s2"
angle0 = "0.5 rad"
)toml";

TEST(ExplicitAdjoint, of_a_pendulum) {
  check(rk4(pendulum, 0.5, 2e-3, {"integral of h.angle^2 + h2.angle^2", "tip.x", "mechanism.kinetic"},
            {"m", "L", "g", "angle0", "bar2.mass", "bar2.com_y", "h2.angle0"}));
}

TEST(ExplicitAdjoint, of_closed_chains) {
  // A slider-crank, whose rod has a formula, with the angle of the rod itself in a spring.
  check(rk4(closed_crank, 0.5, 2e-3, {"integral of slide.position^2 + pin.angle^2", "slide.position"},
            {"L1", "L2", "k", "rod_body.mass", "crank_body.mass", "crank_body.com_x", "block.mass"}));
  // Four bars: two angles are found by iteration.
  check(rk4(R"toml(
gravity = { kind = "multibody.gravity", g = [0, "-9.81 m/s2", 0] }
a = { kind = "multibody.revolute", from = "datum", to = "one", axis = [0, 0, 1], angle0 = 1 }
one_body = { kind = "multibody.body", at = "one", mass = "1 kg", com = ["0.15 m", 0, 0], inertia = [0, 0, 0.01] }
one_arm = { kind = "multibody.arm", from = "one", to = "one_end", offset = ["L1", 0, 0] }
b = { kind = "multibody.revolute", from = "one_end", to = "two", axis = [0, 0, 1], angle0 = -0.6 }
two_body = { kind = "multibody.body", at = "two", mass = "2 kg", com = ["0.45 m", 0, 0], inertia = [0, 0, 0.1] }
two_arm = { kind = "multibody.arm", from = "two", to = "two_end", offset = ["L2", 0, 0] }
ground = { kind = "multibody.arm", from = "datum", to = "post", offset = ["1 m", 0, 0] }
c = { kind = "multibody.revolute", from = "post", to = "three", axis = [0, 0, 1], angle0 = 1.7 }
three_body = { kind = "multibody.body", at = "three", mass = "1.5 kg", com = ["0.35 m", 0, 0], inertia = [0, 0, 0.1] }
three_arm = { kind = "multibody.arm", from = "three", to = "three_end", offset = ["L3", 0, 0] }
close = { kind = "multibody.revolute", from = "two_end", to = "three_end", axis = [0, 0, 1] }
[parameters]
L1 = "0.3 m"
L2 = "0.9 m"
L3 = "0.7 m"
)toml",
            0.3, 1e-3, {"integral of a.angle^2 + c.angle^2", "c.speed"},
            {"L1", "L2", "L3", "two_body.mass", "ground.offset_x"}));
}

TEST(ExplicitAdjoint, of_a_machine) {
  check(TestStudy(shipped_model("dc-motor"), "rk4", 0.05, 1e-4, {"integral of motor.armature.i^2", "shaft.w"},
                  {"V", "motor.R", "motor.L", "motor.k", "rotor.J", "friction.d"}));
}

TEST(ExplicitAdjoint, of_extremes) {
  TestStudy study = rk4(pendulum, 1.5, 2e-3, {"h.angle", "h.angle", "h2.speed"}, {"m", "L", "g"});
  study.request.observed[0].what = Observed::What::maximum;  // at the start
  study.request.observed[1].what = Observed::What::minimum;
  study.request.observed[2].what = Observed::What::maximum;
  check_forward(study, adjoint(study));  // differences may find another sample
}

TEST(ExplicitAdjoint, compiled_and_interpreted_are_equal_and_so_is_a_run_from_checkpoints) {
  TestStudy study = rk4(pendulum, 0.5, 2e-3, {"integral of h.angle^2", "tip.x"}, {"m", "L", "bar2.mass"});
  const RunDerivatives interpreted = adjoint(study), again = adjoint(study, 1.0);
  EXPECT_NE(again.method.find("16 checkpoints"), std::string::npos) << again.method;
  EXPECT_EQ(interpreted.values, again.values);
  EXPECT_EQ(interpreted.gradient, again.gradient);
  study.request.simulation.compile = true;
  study.request.simulation.stop = 50.0;  // worth a compiler's time
  const RunDerivatives compiled = adjoint(study);
  EXPECT_NE(compiled.method.find("compiled"), std::string::npos) << compiled.method;
  study.request.simulation.compile = false;
  const RunDerivatives slowly = adjoint(study);
  EXPECT_EQ(compiled.values, slowly.values);
  EXPECT_EQ(compiled.gradient, slowly.gradient);
}

TEST(ExplicitAdjoint, what_it_cannot_do_is_said) {
  const auto why = [](const char* text, const std::string& parameter, const std::string& value) {
    const TestStudy study = rk4(text, 1.0, 0.01, {value}, {parameter});
    std::string reason;
    EXPECT_FALSE(explicit_adjoint_run(study.model, study.request, reason));
    return reason;
  };
  EXPECT_NE(why(R"toml(
s = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "P*k.y" }
c = { kind = "thermal.capacitor", p = "a", n = "datum", C = "50 J/K", T0 = "300 K" }
k = { kind = "signals.comparator", u = "320 - a.T", upper = 2, lower = -2 }
[parameters]
P = "100 W"
)toml",
                "P", "a.T")
                .find("discrete variables of 'k' change"),
            std::string::npos);
  EXPECT_NE(why(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*if(t < 0.1234, 0, 1)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
[parameters]
U = "1 V"
)toml",
                "U", "c.v")
                .find("a source jumps within a step, at t = 0.1234 s"),
            std::string::npos);
}

TEST(ExplicitAdjoint, a_source_that_jumps_between_steps) {
  check(rk4(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*if(t < 0.13, 0, 1)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
[parameters]
U = "1 V"
R = "0.7 ohm"
)toml",
            1.0, 0.01, {"c.v", "integral of r.i"}, {"U", "R"}));
}

}  // namespace explicit_adjoint_test
}  // namespace tellegen
