#include "tellegen/sensitivity/combined.h"

#include "tellegen/sensitivity/test_study.h"

namespace tellegen {
namespace combined_test {

constexpr const char* oscillator = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
l = { kind = "electrical.inductor", p = "b", n = "k", L = "10 mH", i0 = "i0" }
c = { kind = "electrical.capacitor", p = "k", n = "datum", C = "C", v0 = "R*i0/2" }
[parameters]
U = "5 V"
R = "20 ohm"
C = "10 uF"
i0 = "0.01 A"
)toml";

TEST(Combined, methods_that_know_nothing_of_derivatives) {
  for (const char* method : {"rk4", "exact"}) {
    SCOPED_TRACE(method);
    const TestStudy study(model_of(oscillator), method, 2e-3, 2e-5, {"k.v", "l.i*R"},
                          {"U", "R", "C", "i0", "l.L"});
    const RunDerivatives forward = forward_run(study.model, study.request);
    ASSERT_EQ(forward.failure, "");
    study.expect_near(forward.gradient, study.differences(plain_run), 1e-6);
  }
}

// A fast circuit whose loss heats a slow body: derivatives are those of the steps that are taken, long ones
// too.
TEST(Combined, slow_states_and_their_sensitivities_take_the_same_steps) {
  TestStudy study(model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "10*sin(300*t) + 0.02*(body.T - 300)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-3 }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "r.v*r.i" }
m = { kind = "thermal.capacitor", p = "body", n = "datum", C = "Cth", T0 = 300 }
w = { kind = "thermal.resistor", p = "body", n = "datum", R = 10 }
[parameters]
R = "1 ohm"
Cth = 0.5
)toml"),
                  "rk4", 0.1, 1e-4, {"body.T", "c.v"}, {"R", "Cth"});
  study.request.simulation.slow = {"thermal"};
  study.request.simulation.slow_steps = 20;
  const RunDerivatives forward = forward_run(study.model, study.request);
  ASSERT_EQ(forward.failure, "");
  study.expect_near(forward.gradient, study.differences(plain_run), 1e-6);
}

TEST(Combined, second_derivatives_are_differences_of_first_ones) {
  for (const auto& [method, tolerance] : {std::pair("bdf3", 1e-5), std::pair("adaptive", 1e-4)}) {
    SCOPED_TRACE(method);
    const TestStudy study(model_of(oscillator), method, 1e-3, 1e-5, {"k.v", "integral of r.v*r.i"},
                          {"U", "R", "C"});
    const RunDerivatives second = second_order_run(study.model, study.request);
    ASSERT_EQ(second.failure, "");
    ASSERT_EQ(second.gradient.size(), 18u);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto at = [&](std::size_t p, std::size_t q) { return second.gradient[(k * 3 + p) * 3 + q]; };
      double largest = 0.0;
      const auto size = [&](std::size_t p) { return study.model.parameters[study.request.wrt[p]].number; };
      for (std::size_t p = 0; p < 3; ++p)
        for (std::size_t q = 0; q < 3; ++q)
          largest = std::max(largest, std::abs(at(p, q)) * size(p) * size(q));
      for (std::size_t q = 0; q < 3; ++q) {
        Model moved = study.model;
        const double h = 1e-4 * size(q);
        const std::array index{study.request.wrt[q]};
        set_parameters(moved, index, std::array{size(q) - h});
        const RunDerivatives low = forward_run(moved, study.request);
        set_parameters(moved, index, std::array{size(q) + h});
        const RunDerivatives high = forward_run(moved, study.request);
        for (std::size_t p = 0; p < 3; ++p) {
          const double difference = (high.gradient[k * 3 + p] - low.gradient[k * 3 + p]) / (2 * h);
          EXPECT_NEAR(at(p, q) * size(p) * size(q), difference * size(p) * size(q), tolerance * largest);
          EXPECT_NEAR(at(p, q) * size(p) * size(q), at(q, p) * size(p) * size(q), 0.1 * tolerance * largest);
        }
      }
    }
  }
}

TEST(Combined, what_it_cannot_do_is_said) {
  Model model = model_of(oscillator);
  add_watch(model, "w", parse_value(model, "k.v > 1", {}), {});
  const TestStudy study(model, "rk4", 1e-3, 1e-5, {"k.v"}, {"R"});
  EXPECT_THROW(forward_run(study.model, study.request), ModelError);
  EXPECT_THROW(second_order_run(study.model, study.request), ModelError);
}

}  // namespace combined_test
}  // namespace tellegen
