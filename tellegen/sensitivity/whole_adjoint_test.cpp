#include "tellegen/sensitivity/whole_adjoint.h"

#include "tellegen/sensitivity/fixed_step.h"
#include "tellegen/sensitivity/test_study.h"

namespace tellegen {
namespace whole_adjoint_test {

// Against the forward sensitivities of the same steps, and against differences.
void check(const TestStudy& study, double of_differences = 1e-5) {
  const auto back = whole_adjoint_run(study.model, study.request);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->failure, "");
  const RunDerivatives forward = fixed_forward_run(study.model, study.request);
  ASSERT_EQ(forward.failure, "");
  for (std::size_t k = 0; k < forward.values.size(); ++k)
    EXPECT_NEAR(back->values.at(k), forward.values[k], 1e-8 * (1.0 + std::abs(forward.values[k])));
  study.expect_near(back->gradient, forward.gradient, 1e-8);
  study.expect_near(back->gradient, study.differences(plain_run), of_differences);
}

TEST(WholeAdjoint, of_every_method_and_of_a_sine_that_turns_on) {
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "trnp"}) {
    SCOPED_TRACE(method);
    check(TestStudy(model_of(oscillator), method, 3e-3, 2e-5, {"k.v", "l.i*R", "integral of r.v^2/R"},
                    {"U", "w", "R", "C", "i0", "l.L"}));
  }
}

TEST(WholeAdjoint, of_exponentials_and_tables) {
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
    check(TestStudy(model_of(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "a", Q = "P*map(a.T)*(1 + rise(t))" }
c = { kind = "thermal.capacitor", p = "a", n = "datum", C = "50 J/K", T0 = "310 K" }
r = { kind = "thermal.resistor", p = "a", n = "datum", R = "R" }
[parameters]
P = "100 W"
R = "3 K/W"
[tables]
map = { points = [[0, 0.1], [200, 0.4], [300, 0.9], [330, 0.5], [500, 0.2]], interpolation = "cubic" }
rise = { points = [[0, 0], [20, 1], [60, 0.2]], interpolation = "cubic" }
)toml"),
                    method, 40.0, 0.5, {"a.T", "integral of r.Q"}, {"P", "R", "c.C", "c.T0"}));
  }
}

TEST(WholeAdjoint, of_mechanisms_and_a_machine) {
  check(TestStudy(model_of(closed_crank), "tr", 0.5, 2e-3,
                  {"integral of slide.position^2 + pin.angle^2", "slide.position"},
                  {"L1", "L2", "k", "rod_body.mass", "crank_body.mass", "crank_body.com_x", "block.mass"}));
  check(TestStudy(shipped_model("dc-motor"), "bdf3", 0.05, 1e-4,
                  {"integral of motor.armature.i^2", "shaft.w"},
                  {"V", "motor.R", "motor.L", "motor.k", "rotor.J", "friction.d"}));
}

TEST(WholeAdjoint, compiled_and_interpreted_are_equal) {
  TestStudy study(model_of(oscillator), "bdf2", 3e-3, 2e-5, {"k.v", "integral of r.v^2/R"},
                  {"U", "w", "R", "C"});
  const auto interpreted = whole_adjoint_run(study.model, study.request);
  study.request.simulation.compile = true;
  const auto compiled = whole_adjoint_run(study.model, study.request);
  ASSERT_TRUE(interpreted && compiled);
  EXPECT_NE(compiled->method.find("compiled"), std::string::npos);
  EXPECT_EQ(interpreted->values, compiled->values);
  EXPECT_EQ(interpreted->gradient, compiled->gradient);
}

TEST(WholeAdjoint, leaves_to_others_what_it_has_not) {
  const auto suits = [](const char* text, const std::string& parameter, Observed::What what) {
    TestStudy study(model_of(text), "bdf2", 3e-3, 2e-5, {"k.v"}, {parameter});
    study.request.observed[0].what = what;
    return whole_adjoint_run(study.model, study.request).has_value();
  };
  EXPECT_TRUE(suits(oscillator, "R", Observed::What::end));
  EXPECT_FALSE(suits(oscillator, "R", Observed::What::maximum));
  const std::string zero = std::string(oscillator) + "K = 0.0\n";
  std::string jumps = zero;
  jumps.replace(jumps.find("U*sin(w*t)"), 10, "U*if(t < 1e-3, K, 1)");
  EXPECT_FALSE(suits(jumps.c_str(), "R", Observed::What::end));
  std::string structure = zero;
  structure.replace(structure.find("U*sin(w*t)"), 10, "U + K*t");
  EXPECT_TRUE(suits(structure.c_str(), "R", Observed::What::end));
  EXPECT_FALSE(suits(structure.c_str(), "K", Observed::What::end));  // a number that is zero is structure
}

}  // namespace whole_adjoint_test
}  // namespace tellegen
