// Arrival-rate conditions against hand calculations.
#include "tellegen/estimate/arrival.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/identifiability/identifiability.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace arrival_test {

// A heat capacity of 1 J/K without losses, heated by a power that nobody knows: T' = Q, Q' = 0. A step of 1 s
// is [1 1; 0 1], whose norm is the golden ratio.
Model heated(const std::string& sensors, const std::string& keep = "0.5") {
  return read_model_text(R"toml(
[parameters]
Q = { value = 10, unit = "W" }
[components]
source = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "Q" }
mass   = { kind = "thermal.capacitor", p = "body", n = "datum", C = "1 J/K", T0 = "300 K" }
[sensors]
)toml" + sensors + R"toml(
[unknowns]
Q = { deviation = "1 W", coordinate = "value", walk = 1.0, keep = )toml" +
                             keep + R"toml( }
[estimate]
estimator = "pkf"
[estimate.states]
"body.T" = { deviation = 1.0, noise = 1.0 }
)toml",
                         "test.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
}

ArrivalConditions conditions_of(const Model& model, double stop = 10.0) {
  const auto found = arrival_conditions(model, planned_record(model.estimation.sensors, 0.0, stop, 1.0), {0});
  EXPECT_TRUE(found);
  return found.value_or(ArrivalConditions{});
}

const double golden = 0.5 * (1.0 + std::sqrt(5.0));

TEST(Arrival, invertible_readings_of_two_states_by_hand) {
  const ArrivalConditions a = conditions_of(
      heated("a = { measures = \"body.T\", noise = 1.0 }\nb = { measures = \"source.Q\", noise = 1.0 }"));
  EXPECT_TRUE(a.is_invertible);
  EXPECT_EQ(a.states, 2u);
  EXPECT_DOUBLE_EQ(a.keep, 0.5);
  EXPECT_NEAR(a.si.norm, golden, 1e-9);
  ASSERT_TRUE(a.si.invertible);
  EXPECT_NEAR(*a.si.invertible, (1.0 - 1.0 / (golden * golden)) / 0.75, 1e-9);  // 0.824
  // In other units the coupling is as small as one likes, and any rate will do.
  ASSERT_TRUE(a.best.invertible);
  EXPECT_LT(*a.best.invertible, 1e-3);
}

TEST(Arrival, fewer_sensors_than_states_give_nothing_and_say_so) {
  const ArrivalConditions a = conditions_of(heated("a = { measures = \"body.T\", noise = 1.0 }"));
  EXPECT_FALSE(a.is_invertible);
  EXPECT_FALSE(a.best.invertible || a.best.general || a.si.general || a.sized.general);
  EXPECT_EQ(a.best.information, 0.0);
  EXPECT_NEAR(a.si.norm, golden, 1e-9);
  EXPECT_NE(a.sentences().at(1).find("give nothing: 1 sensor has no inverse for 2 states"), std::string::npos)
      << a.sentences().at(1);
}

// Two sensors for the one state of a leaking capacity. Nothing disturbs it, so P shrinks: lambda_0 belongs to
// the last step. P-(1) = a^2 P0/(1 + 2 P0), 1/P-(k+1) = (1/P-(k) + 2)/a^2, lambda = 2 P/(1 + 2 P).
TEST(Arrival, more_sensors_than_states_by_hand) {
  const Model model = read_model_text(R"toml(
[components]
leak = { kind = "thermal.resistor", p = "body", n = "datum", R = "1 K/W" }
mass = { kind = "thermal.capacitor", p = "body", n = "datum", C = "10 J/K", T0 = "300 K" }
[sensors]
a = { measures = "body.T", noise = 1.0 }
b = { measures = "body.T", noise = 1.0 }
[estimate.states]
"body.T" = { deviation = 2.0 }
)toml",
                                      "test.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
  const auto found = arrival_conditions(model, planned_record({0, 1}, 0.0, 3.0, 1.0), {});
  ASSERT_TRUE(found);
  const double a = std::exp(-0.1);
  double p = 4.0, lambda = INFINITY;
  for (int k = 0; k < 3; ++k) {
    p = a * a * p / (1.0 + 2.0 * p);
    lambda = std::min(lambda, 2.0 * p / (1.0 + 2.0 * p));
  }
  EXPECT_FALSE(found->is_invertible);
  EXPECT_NEAR(found->si.norm, a, 1e-9);
  EXPECT_NEAR(found->si.information, lambda, 1e-9);
  EXPECT_NEAR(found->sized.information, lambda, 1e-9);
  ASSERT_TRUE(found->best.general);  // what fades by itself needs no readings
  EXPECT_EQ(*found->best.general, 0.0);
  EXPECT_FALSE(found->best.invertible);
}

TEST(Arrival, bounds_by_hand) {
  // a = 2: the growth is 3/4.
  EXPECT_NEAR(*arrival_bounds(2.0, 0.0, 0.0, true).invertible, 0.75, 1e-15);
  EXPECT_FALSE(arrival_bounds(2.0, 0.0, 0.5, true).invertible);  // 1: every reading would not be enough
  EXPECT_FALSE(arrival_bounds(2.0, 0.9, 0.5, false).invertible);
  EXPECT_NEAR(*arrival_bounds(2.0, 0.9, 0.1, false).general, 0.75 / 0.89, 1e-15);
  EXPECT_FALSE(arrival_bounds(2.0, 0.2, 0.5, false).general);       // lambda_0 is below keep^2
  EXPECT_FALSE(arrival_bounds(1.0, 0.9, 1.0, true).invertible);     // a considered state is never corrected
  EXPECT_EQ(*arrival_bounds(0.9, 0.5, 0.5, true).invertible, 0.0);  // what does not grow needs little
}

}  // namespace arrival_test
}  // namespace tellegen
