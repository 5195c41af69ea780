#include "tellegen/simulate/equilibrium.h"

#include <gtest/gtest.h>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace equilibrium_test {

std::optional<double> growth(std::string_view text, double stop) {
  const Model model = model_of(text);
  const EquationSystem system = build_system(model);
  const Storage storage = analyse_storage(system);
  Tableau tableau(system);
  return growth_of_disturbances(system, find_initial_state(tableau, storage), stop);
}

// C*der(v) = G*v - v/R: v grows at (G - 1/R)/C = 500/s.
constexpr std::string_view latch = R"toml(
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1e-6 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1000 }
g = { kind = "electrical.current_source", p = "datum", n = "a", I = "1.5e-3*c.v" }
)toml";

TEST(Equilibrium, growth_of_one_state_is_its_rate) {
  const auto found = growth(latch, 0.1);
  ASSERT_TRUE(found);
  EXPECT_NEAR(*found, 500.0, 5.0);
}

TEST(Equilibrium, what_grows_too_slowly_to_be_seen_in_the_run_is_not_said) {
  EXPECT_FALSE(growth(latch, 1e-3));
}

TEST(Equilibrium, a_damped_circuit_and_an_integrator_are_stable) {
  EXPECT_FALSE(growth(R"toml(
e = { kind = "electrical.voltage_source", p = "in", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "in", n = "a", R = 10 }
l = { kind = "electrical.inductor", p = "a", n = "b", L = 1e-3 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-6, v0 = 5 }
)toml",
                      1.0));
  EXPECT_FALSE(growth(R"toml(
i = { kind = "electrical.current_source", p = "datum", n = "a", I = 0 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1e-6, v0 = 5 }
)toml",
                      1.0));
}

}  // namespace equilibrium_test
}  // namespace tellegen
