#include "tellegen/equations/coupling.h"

#include <gtest/gtest.h>

#include "tellegen/model/test_text.h"

namespace tellegen {
namespace coupling_test {

struct Coupled {
  Model model;
  EquationSystem system;
  Storage storage;

  explicit Coupled(const std::string& components)
      : model(model_of(components)), system(build_system(model)), storage(analyse_storage(system)) {}
};

const std::string two_inertias =
    "j1 = { kind = \"rotational.inertia\", p = \"a\", J = 0.01 }\n"
    "g = { kind = \"rotational.gear\", p = \"a\", r = \"b\", c = \"datum\", ratio = 5.0 }\n"
    "j2 = { kind = \"rotational.inertia\", p = \"b\", J = 0.5 }\n";

TEST(Coupling, two_inertias_on_a_gear_have_one_state) {
  const Coupled coupled(two_inertias);
  ASSERT_EQ(coupled.storage.state_count(), 1);
  ASSERT_EQ(coupled.storage.redundant.size(), 1u);
  const RedundantRate& r = coupled.storage.redundant[0];
  ASSERT_EQ(r.terms.size(), 1u);
  // b.w = a.w/5, or a.w = 5 b.w, whichever stayed a state.
  const double factor = rate_name(coupled.system, r.rate) == "j2.w" ? 0.2 : 5.0;
  EXPECT_NEAR(r.terms[0].sign, factor, 1e-12);
  EXPECT_FALSE(r.drive);
}

TEST(Coupling, two_inertias_on_a_spring_have_two_states_and_the_spring_a_third) {
  const Coupled coupled(
      "j1 = { kind = \"rotational.inertia\", p = \"a\", J = 0.01 }\n"
      "k = { kind = \"rotational.spring\", p = \"a\", n = \"b\", c = 100.0 }\n"
      "j2 = { kind = \"rotational.inertia\", p = \"b\", J = 0.5 }\n");
  EXPECT_EQ(coupled.storage.state_count(), 3);
}

TEST(Coupling, an_inertia_behind_a_gear_on_a_given_speed_follows_its_slope) {
  const Coupled coupled(
      "s = { kind = \"rotational.speed_source\", p = \"a\", n = \"datum\", w = \"10*t\" }\n"
      "g = { kind = \"rotational.gear\", p = \"a\", r = \"b\", c = \"datum\", ratio = 5.0 }\n"
      "j = { kind = \"rotational.inertia\", p = \"b\", J = 0.5 }\n"
      "j2 = { kind = \"rotational.inertia\", p = \"c\", J = 0.5 }\n"
      "d = { kind = \"rotational.damper\", p = \"c\", n = \"b\", d = 0.5 }\n");
  ASSERT_EQ(coupled.storage.state_count(), 1);
  const RedundantRate& r = coupled.storage.redundant[0];
  EXPECT_EQ(rate_name(coupled.system, r.rate), "j.w");
  EXPECT_TRUE(r.terms.empty());
  ASSERT_TRUE(r.drive);
  EXPECT_NEAR(evaluate(r.drive, {{coupled.model.pool->symbol("t"), 0.3}}), 2.0, 1e-12);
}

TEST(Coupling, a_resistive_divider_into_an_amplifier_couples_through_its_resistors) {
  const Coupled coupled(
      "c1 = { kind = \"electrical.capacitor\", p = \"a\", n = \"datum\", C = 1e-6 }\n"
      "r1 = { kind = \"electrical.resistor\", p = \"a\", n = \"m\", R = 1000.0 }\n"
      "r2 = { kind = \"electrical.resistor\", p = \"m\", n = \"datum\", R = 3000.0 }\n"
      "e = { kind = \"electrical.vcvs\", cp = \"m\", cn = \"datum\", p = \"b\", n = \"datum\", A = 2.0 }\n"
      "c2 = { kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 1e-6 }\n");
  ASSERT_EQ(coupled.storage.state_count(), 1);
  const RedundantRate& r = coupled.storage.redundant[0];
  ASSERT_EQ(r.terms.size(), 1u);
  EXPECT_EQ(rate_name(coupled.system, r.rate), "c2.v");  // it follows the amplifier, not the other way round
  EXPECT_NEAR(r.terms[0].sign, 1.5, 1e-12);
}

}  // namespace coupling_test
}  // namespace tellegen
