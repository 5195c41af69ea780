#include "tellegen/equations/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tellegen/model/test_text.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace system_test {

const Group& group_of(const EquationSystem& system, const std::string& component) {
  return system.groups[system.group_of[system.model->component_by_name.at(component)]];
}

std::vector<std::string> column_names(const EquationSystem& system) {
  std::vector<std::string> names;
  for (std::int32_t c = 0; c < system.size(); ++c) names.push_back(column_name(system, c));
  return names;
}

// [Rodriguez 2020] Energies 13, 1354, table 3: n variables, m algebraic and p differential equations.
TEST(EquationSystem, counts_the_four_circuit_problems_as_the_literature_does) {
  const struct {
    const char* model;
    std::int64_t n, m, p;
  } published[] = {
      {"rlc", 8, 5, 3}, {"ladder-2", 13, 9, 4}, {"rectifier", 20, 19, 1}, {"pmsm-thermal", 49, 40, 9}};
  for (const auto& row : published) {
    const Model model = shipped_model(row.model);
    const Counts counts = count(build_system(model));
    EXPECT_EQ(counts.variables, row.n) << row.model;
    EXPECT_EQ(counts.algebraic, row.m) << row.model;
    EXPECT_EQ(counts.differential, row.p) << row.model;
  }
}

TEST(EquationSystem, columns_are_nodes_then_throughs_then_internal_variables) {
  const Model model = shipped_model("rectifier");
  const EquationSystem system = build_system(model);
  EXPECT_EQ(system.node_columns, 9);
  EXPECT_EQ(system.through_columns, 12);  // four diodes of two edges, ground, source, resistor, inductor
  EXPECT_EQ(system.internal_columns, 0);
  const auto names = column_names(system);
  EXPECT_NE(std::find(names.begin(), names.begin() + 9, "n5.v"), names.begin() + 9);
  EXPECT_NE(std::find(names.begin(), names.end(), "d1.junction.i"), names.end());
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(column_unit(system, 0), "V");
  EXPECT_EQ(column_unit(system, 9), "A");
}

TEST(EquationSystem, components_of_one_kind_share_their_equations) {
  const Model model = shipped_model("pmsm-thermal");
  const EquationSystem system = build_system(model);
  EXPECT_EQ(group_of(system, "r_yoke").size(), 17);
  EXPECT_EQ(group_of(system, "c_axis").size(), 9);
  EXPECT_EQ(group_of(system, "r_yoke").residuals.size(), 1u);
}

TEST(EquationSystem, every_terminal_equation_has_a_row_of_its_own) {
  const Model model = shipped_model("rectifier");
  const EquationSystem system = build_system(model);
  std::set<std::int32_t> rows;
  for (const Group& g : system.groups)
    for (std::int32_t m = 0; m < g.size(); ++m)
      for (std::size_t q = 0; q < g.residuals.size(); ++q)
        rows.insert(g.first_row[m] + static_cast<std::int32_t>(q));
  EXPECT_EQ(static_cast<std::int32_t>(rows.size()), system.size() - system.node_columns);
  EXPECT_EQ(*rows.begin(), system.node_columns);
  EXPECT_EQ(*rows.rbegin(), system.size() - 1);
}

constexpr const char* controlled = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 20 }
f = { kind = "electrical.current_source", p = "datum", n = "b", I = "gain*r.i" }
g = { kind = "electrical.current_source", p = "datum", n = "b", I = "gain*s.i/10" }
[parameters]
gain = 3
)toml";

TEST(EquationSystem, a_variable_of_another_component_is_an_external_symbol_and_is_kept_there) {
  const Model model = model_of(controlled);
  const EquationSystem system = build_system(model);
  const Group& f = group_of(system, "f");
  const auto external = std::find_if(f.symbols.begin(), f.symbols.end(), [](const LocalSymbol& s) {
    return s.what == LocalSymbol::What::external;
  });
  ASSERT_NE(external, f.symbols.end());
  EXPECT_EQ(column_name(system, f.plus[external - f.symbols.begin()][0]), "r.i");
  EXPECT_EQ(f.minus[external - f.symbols.begin()][0], -1);
  const Group& r = group_of(system, "r");
  for (std::size_t s = 0; s < r.symbols.size(); ++s)
    EXPECT_EQ(static_cast<bool>(r.keep[s]), r.symbols[s].what == LocalSymbol::What::through);
  ASSERT_EQ(f.parameters.size(), 1u);  // the model's, instead of the source's own
  EXPECT_EQ(f.values[0][0], 3.0);
}

TEST(EquationSystem, expressions_of_one_shape_share_a_group) {
  const Model model = model_of(R"toml(
e  = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r1 = { kind = "thermal.resistor", p = "x", n = "datum", R = "2*x.T + 1" }
r2 = { kind = "thermal.resistor", p = "y", n = "datum", R = "2*y.T + 1" }
r3 = { kind = "thermal.resistor", p = "y", n = "datum", R = "3*y.T + 1" }
r4 = { kind = "thermal.resistor", p = "y", n = "x", R = 1 }
q  = { kind = "thermal.heat_source", p = "datum", n = "x", Q = 1 }
r  = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
)toml");
  const EquationSystem system = build_system(model);
  EXPECT_EQ(&group_of(system, "r1"), &group_of(system, "r2"));
  EXPECT_NE(&group_of(system, "r1"), &group_of(system, "r3"));
  EXPECT_NE(&group_of(system, "r1"), &group_of(system, "r4"));
}

TEST(EquationSystem, an_across_variable_of_another_component_is_a_difference_of_columns) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 20 }
f = { kind = "electrical.current_source", p = "datum", n = "b", I = "2*r.v" }
)toml");
  const EquationSystem system = build_system(model);
  const Group& f = group_of(system, "f");
  const auto s = f.symbols.size() - 1;
  ASSERT_EQ(f.symbols[s].what, LocalSymbol::What::external);
  EXPECT_EQ(column_name(system, f.plus[s][0]), "a.v");
  EXPECT_EQ(column_name(system, f.minus[s][0]), "b.v");
}

TEST(EquationSystem, expressions_are_rewritten_in_columns_with_parameters_and_inputs_put_in) {
  const Model model = model_of(R"toml(
d = { kind = "electrical.diode", p = "a", n = "datum" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
e = { kind = "electrical.voltage_source", p = "b", n = "datum", V = "u" }
[parameters]
k = 4
[inputs]
u = "2*t"
)toml");
  const EquationSystem system = build_system(model);
  const auto value_of = [&](std::string_view text) {
    const Expr e = in_columns(system, parse_value(model, text, {}));
    ExprMap<double> at{{model.pool->symbol("t"), 0.5}};
    for (std::int32_t c = 0; c < system.size(); ++c) at[column_symbol(system, c)] = 1.0 + 10.0 * c;
    return evaluate(e, at);
  };
  const auto column = [&](std::string_view name) {
    for (std::int32_t c = 0; c < system.size(); ++c)
      if (column_name(system, c) == name) return 1.0 + 10.0 * c;
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(value_of("k*u"), 4.0);
  EXPECT_DOUBLE_EQ(value_of("a.v"), column("a.v"));
  EXPECT_DOUBLE_EQ(value_of("r.v"), column("a.v") - column("b.v"));
  EXPECT_DOUBLE_EQ(value_of("d.i"), column("d.junction.i"));  // an output of the kind
  EXPECT_DOUBLE_EQ(value_of("d.v"), column("a.v"));
}

TEST(EquationSystem, rows_and_rates_have_names_in_the_models_words) {
  const Model model = shipped_model("rlc");
  const EquationSystem system = build_system(model);
  ASSERT_EQ(system.rates.size(), 3u);
  std::set<std::string> names;
  for (std::int32_t k = 0; k < 3; ++k) names.insert(rate_name(system, k));
  EXPECT_EQ(names, (std::set<std::string>{"c1.v", "c2.v", "l1.i"}));
  std::set<std::string> rows;
  for (std::int32_t r = 0; r < system.size(); ++r) rows.insert(row_name(system, r));
  EXPECT_TRUE(rows.contains("'v = R*i' of 'r1' (electrical.resistor, line 6)"));
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const std::string& s) { return s.starts_with("balance of"); }),
            3);
  EXPECT_EQ(static_cast<std::int32_t>(rows.size()), system.size());
}

TEST(EquationSystem, a_column_knows_the_component_it_belongs_to) {
  const Model model = shipped_model("rectifier");
  const EquationSystem system = build_system(model);
  for (std::int32_t c = 0; c < system.size(); ++c) {
    const ColumnOwner owner = owner_of(system, c);
    const std::string name = column_name(system, c);
    if (owner.component < 0) {
      EXPECT_EQ(name[0], 'n') << name;
      continue;
    }
    EXPECT_TRUE(name.starts_with(model.components[owner.component].name + ".")) << name;
    if (owner.symbol < 0) continue;
    const int g = system.group_of[owner.component];
    EXPECT_EQ(system.groups[g].plus[owner.symbol][system.member_of[owner.component]], c);
  }
}

}  // namespace system_test
}  // namespace tellegen
