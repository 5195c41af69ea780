#include "tellegen/equations/minimal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/test_text.h"

namespace tellegen {
namespace minimal_test {

struct Reduced {
  explicit Reduced(Model m)
      : model(std::move(m)),
        system(build_system(model)),
        storage(analyse_storage(system)),
        form(minimal_form(system, storage)) {}
  explicit Reduced(std::string_view text) : Reduced(model_of(text)) {}
  Model model;
  EquationSystem system;
  Storage storage;
  MinimalForm form;

  double a(std::size_t row, std::size_t column) const {
    for (const auto& entry : form.a)
      if (entry.row == static_cast<std::int32_t>(row) && entry.column == static_cast<std::int32_t>(column))
        return entry.value;
    return 0.0;
  }
  std::size_t state(const std::string& name) const {
    for (std::size_t k = 0; k < form.state_rates.size(); ++k)
      if (rate_name(system, form.state_rates[k]) == name) return k;
    ADD_FAILURE() << "no state " << name;
    return 0;
  }
};

std::string code_of(std::string_view text) {
  try {
    Reduced reduced(text);
    return "";
  } catch (const ModelError& error) {
    return error.faults()[0].code;
  }
}

TEST(MinimalForm, of_the_rlc_has_two_states_of_three_rates) {
  const Reduced r(shipped_model("rlc"));
  EXPECT_EQ(r.system.rates.size(), 3u);
  EXPECT_EQ(r.form.states.size(), 2u);
  EXPECT_TRUE(r.form.linear());
  // 0.6 V3' = (E1 - V3)/10 - I, 0.1 I' = V3
  const std::size_t v = r.state("l1.i") == 0 ? 1 : 0, i = 1 - v;
  EXPECT_NEAR(r.a(v, v), -1 / 6.0, 1e-14);
  EXPECT_NEAR(r.a(v, i), -1 / 0.6, 1e-14);
  EXPECT_NEAR(r.a(i, v), 10.0, 1e-13);
  EXPECT_NEAR(r.a(i, i), 0.0, 1e-14);
}

TEST(MinimalForm, of_the_rectifier_has_one_state_and_unknowns_of_the_diodes) {
  const Reduced r(shipped_model("rectifier"));
  EXPECT_EQ(r.form.states.size(), 1u);
  EXPECT_FALSE(r.form.linear());
  EXPECT_EQ(r.form.unknowns.size(), r.form.residuals.size());
  EXPECT_EQ(r.form.unknowns.size(), 4u);
}

TEST(MinimalForm, of_the_ladder_has_four_states) {
  const Reduced r(shipped_model("ladder-2"));
  EXPECT_EQ(r.form.states.size(), 4u);
  EXPECT_TRUE(r.form.linear());
}

TEST(MinimalForm, a_state_that_follows_a_source_brings_in_the_sources_derivative) {
  // The capacitor's current is C dE/dt, and it is all that the resistor above does not carry.
  const Reduced r(R"toml(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 2, frequency = 3 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5 }
)toml");
  EXPECT_TRUE(r.form.states.empty());
  const Expr current = in_minimal_columns(r.form, in_columns(r.system, parse_value(r.model, "c.i", {})));
  const double w = 2 * M_PI * 3;
  EXPECT_NEAR(evaluate(current, {{r.model.pool->symbol("t"), 0.2}}), 0.5 * 2 * w * std::cos(w * 0.2), 1e-12);
}

// Every linear row of the tableau holds for the columns in states, whatever the states are.
TEST(MinimalForm, its_columns_satisfy_the_balances) {
  for (const char* name : {"rlc", "ladder-2", "dc-motor", "rectifier", "rc-subsystem"}) {
    const Reduced r(shipped_model(name));
    ExprMap<double> at{{r.model.pool->symbol("t"), 0.37}};
    for (std::size_t k = 0; k < r.form.states.size(); ++k)
      at[r.form.states[k]] = std::sin(1.0 + static_cast<double>(k));
    for (std::size_t k = 0; k < r.form.unknowns.size(); ++k)
      at[r.form.unknowns[k]] = std::cos(static_cast<double>(k));
    for (std::size_t k = 0; k < r.form.parameters.size(); ++k) at[r.form.parameters[k]] = r.form.values[k];
    std::vector<double> balance(r.system.node_columns, 0.0);
    double largest = 1.0;
    for (std::int32_t e = 0; e < r.system.graph.edge_count(); ++e) {
      const double through = evaluate(r.form.columns[r.system.through_column(EdgeIndex{e})], at);
      largest = std::max(largest, std::abs(through));
      const GraphEdge& edge = r.system.graph.edges[e];
      if (edge.from != datum_node) balance[r.system.node_column(edge.from)] += through;
      if (edge.to != datum_node) balance[r.system.node_column(edge.to)] -= through;
    }
    for (double b : balance) EXPECT_NEAR(b, 0.0, 1e-12 * largest) << name;
  }
}

TEST(MinimalForm, as_a_system_it_has_its_states_and_unknowns_as_columns) {
  const Reduced r(shipped_model("rectifier"));
  const EquationSystem system = as_system(r.system, r.form);
  EXPECT_EQ(system.size(), 5);
  EXPECT_EQ(column_name(system, 0), "l1.i");
  EXPECT_EQ(system.rates.size(), 1u);
  EXPECT_EQ(system.groups.at(0).residuals.size(), 5u);
}

// A chain: each state is moved by itself and its two neighbours, and nothing else is in the matrix.
TEST(MinimalForm, of_a_large_network_is_as_sparse_as_the_network) {
  constexpr int nodes = 2000;
  std::string text;
  for (int k = 0; k < nodes; ++k)
    text += fmt::format(
        "c{0} = {{ kind = \"electrical.capacitor\", p = \"n{0}\", n = \"datum\", C = 1 }}\n"
        "r{0} = {{ kind = \"electrical.resistor\", p = \"n{0}\", n = \"n{1}\", R = 1 }}\n",
        k, k + 1);
  text += fmt::format("r = {{ kind = \"electrical.resistor\", p = \"n{}\", n = \"datum\", R = 1 }}\n", nodes);
  const Reduced r(text);
  EXPECT_EQ(r.form.states.size(), static_cast<std::size_t>(nodes));
  EXPECT_EQ(r.form.a.size(), 3u * nodes - 2u);
  EXPECT_NEAR(r.a(r.state("c7.v"), r.state("c7.v")), -2.0, 1e-14);
  EXPECT_NEAR(r.a(r.state("c7.v"), r.state("c8.v")), 1.0, 1e-14);
  EXPECT_THROW(check_written_out(r.system), ModelError);
}

TEST(MinimalForm, is_refused_where_a_storage_follows_a_nonlinear_controlled_source) {
  EXPECT_EQ(code_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "b.v*b.v" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
r = { kind = "electrical.resistor", p = "b", n = "datum", R = 1 }
j = { kind = "electrical.current_source", p = "datum", n = "b", I = "t" }
)toml"),
            "T213");
}

}  // namespace minimal_test
}  // namespace tellegen
