#include "tellegen/equations/sensitivity_graph.h"

#include <gtest/gtest.h>

#include "tellegen/equations/system.h"
#include "tellegen/model/test_text.h"

namespace tellegen {
namespace sensitivity_graph_test {

using Parameters = std::vector<std::string>;

const char* const rc = R"(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "V0" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "2*R1" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 mF", v0 = "V0/2" }
[parameters]
V0 = "10 V"
R1 = "1 kohm"
R2 = "3*R1"
)";

Expr equation_of(const Model& model, const std::string& component, const std::string& variable) {
  const int c = model.component_by_name.at(component);
  const Kind& kind = model.kinds[model.components[c].kind];
  for (const KindEquation& q : kind.equations)
    if (depends_on(q.residual, model.pool->symbol(variable))) return q.residual;
  return {};
}

std::string fault_of(const Model& model, const Parameters& parameters) {
  try {
    with_sensitivities(model, parameters);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

Model rc_model() { return model_of(rc); }

TEST(SensitivityGraph, every_variable_has_its_copy) {
  const Model model = rc_model();
  const Model combined = with_sensitivities(model, Parameters{"R1", "c.C"});
  const EquationSystem before = build_system(model), after = build_system(combined);
  EXPECT_EQ(after.size(), 3 * before.size());
  EXPECT_EQ(after.rates.size(), 3 * before.rates.size());
  for (std::int32_t k = 0; k < before.size(); ++k)
    for (const char* p : {"R1", "c.C"}) {
      const auto copy = find_variable(combined, sensitivity_name(column_name(before, k), p));
      ASSERT_TRUE(copy) << column_name(before, k);
      EXPECT_EQ(variable_name(combined, *copy), sensitivity_name(column_name(before, k), p));
    }
  EXPECT_EQ(sensitivity_name("c.v", "c.C"), "c.v_c_C");
  EXPECT_EQ(sensitivity_name("der(c.v)", "R1"), "der(c.v_R1)");
  EXPECT_EQ(variable_unit(combined, *find_variable(combined, "b.v_c_C")), "V/(F)");
}

TEST(SensitivityGraph, terminal_equations_are_differentiated_by_the_chain_rule) {
  const Model combined = with_sensitivities(rc_model(), Parameters{"R1"});
  Pool& pool = *combined.pool;
  const Expr i = pool.symbol("i"), v_p = pool.symbol("v_R1"), i_p = pool.symbol("i_R1"), R = pool.symbol("R");
  const Expr residual = equation_of(combined, "r", "v_R1");
  EXPECT_EQ(residual, v_p - R * i_p - pool.symbol("d(R)/d(R1)") * i);
  const Component& r = combined.components[combined.component_by_name.at("r")];
  EXPECT_DOUBLE_EQ(r.values.back().number, 2.0);  // R = 2*R1
}

TEST(SensitivityGraph, what_is_there_is_not_made_twice) {
  const Model once = with_sensitivities(rc_model(), Parameters{"R1"});
  const Model twice = with_sensitivities(once, Parameters{"R1"});
  const EquationSystem first = build_system(once), second = build_system(twice);
  EXPECT_EQ(second.size(), first.size() / 2 * 3);  // c.v, c.v_R1, c.v_R1_R1
  EXPECT_TRUE(find_variable(twice, "c.v_R1_R1"));
}

TEST(SensitivityGraph, an_unknown_parameter_is_refused_with_the_nearest) {
  const Model model = rc_model();
  EXPECT_NE(fault_of(model, {"R3"}).find("T220"), std::string::npos);
  EXPECT_NE(fault_of(model, {"r.S"}).find("did you mean 'r.R'?"), std::string::npos);
  EXPECT_NE(fault_of(model, {"R1", "R1"}).find("twice"), std::string::npos);
}

}  // namespace sensitivity_graph_test
}  // namespace tellegen
