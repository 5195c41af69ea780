#include "tellegen/simulate/linear_start.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/equations/renumber.h"
#include "tellegen/model/parameters.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace linear_start_test {

const char* const filter = R"(
e  = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 5, frequency = 50, phase = 1 }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-3, v0 = 2 }
l1 = { kind = "electrical.inductor", p = "b", n = "c", L = 0.01, i0 = 0.3 }
r2 = { kind = "electrical.resistor", p = "c", n = "datum", R = 3 }
)";

std::unique_ptr<LinearStart> start_of(const std::string& text) {
  const Model model = model_of(text);
  const EquationSystem system = build_system(model);
  return LinearStart::make(system, analyse_storage(system));
}

TEST(LinearStart, finds_what_the_search_finds_for_any_numbers) {
  Model model = model_of(filter);
  std::vector<int> parameters;
  for (const char* name : {"r1.R", "c1.C", "c1.v0", "l1.i0", "e.phase"})
    parameters.push_back(study_parameter(model, name));
  EquationSystem system = build_system(model);
  const Storage storage = analyse_storage(system);
  const auto start = LinearStart::make(system, storage);
  ASSERT_TRUE(start);
  Renumbering renumbering(system);
  for (const double factor : {1.0, 0.1, 30.0}) {
    set_parameters(model, parameters,
                   std::array{10.0 * factor, 1e-3 / factor, 2.0 - factor, 0.3 * factor, factor});
    ASSERT_TRUE(renumbering.take_over());
    InitialState found;
    ASSERT_TRUE(start->find(found));
    Tableau tableau(system);
    const InitialState wanted = find_initial_state(tableau, storage);
    for (std::size_t c = 0; c < wanted.x.size(); ++c)
      EXPECT_NEAR(found.x[c], wanted.x[c], 1e-12 * (1.0 + std::abs(wanted.x[c]))) << c;
    for (std::size_t k = 0; k < wanted.rates.size(); ++k)
      EXPECT_NEAR(found.rates[k], wanted.rates[k], 1e-12 * (1.0 + std::abs(wanted.rates[k]))) << k;
  }
}

TEST(LinearStart, is_for_linear_models_with_given_states) {
  EXPECT_TRUE(start_of(filter));
  EXPECT_FALSE(
      start_of(std::string(filter) + "d1 = { kind = \"electrical.diode\", p = \"c\", n = \"datum\" }"));
  EXPECT_FALSE(start_of(std::string(filter) +
                        "c2 = { kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 1e-3 }"));
}

// Numbers at which an equation has no slope any more are left to the search.
TEST(LinearStart, does_not_answer_for_numbers_it_does_not_fit) {
  Model model = model_of(filter);
  EquationSystem system = build_system(model);
  const auto start = LinearStart::make(system, analyse_storage(system));
  ASSERT_TRUE(start);
  system.groups[system.group_of[model.component_by_name.at("c1")]].values[0][0] = 0.0;
  InitialState found;
  EXPECT_FALSE(start->find(found));
}

}  // namespace linear_start_test
}  // namespace tellegen
