#include "tellegen/equations/condense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tellegen/model/test_text.h"

namespace tellegen {
namespace condense_test {

// A model of which one component's group is condensed.
struct Condensed {
  Condensed(std::string_view text, const std::string& component)
      : model(model_of(text)),
        system(build_system(model)),
        index(model.component_by_name.at(component)),
        group(system.groups[system.group_of[index]]),
        form(condense(system, group)) {}
  Model model;
  EquationSystem system;
  int index;
  const Group& group;
  CondensedGroup form;

  int member() const { return system.member_of[index]; }
  int terminals_of(Terminal::What what) const {
    int n = 0;
    for (const Terminal& t : form.terminals) n += t.what == what;
    return n;
  }
  // Numbers for everything the form is written in; definitions follow.
  ExprMap<double> numbers(double alpha, double history, double t) const {
    ExprMap<double> at{{form.alpha, alpha}, {group.time, t}};
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      at[group.parameters[p]] = group.values[p][member()];
    for (Expr h : form.histories) at[h] = history;
    return at;
  }
  void define(ExprMap<double>& at) const {
    for (const Definition& d : form.definitions) at[d.symbol] = evaluate(d.value, at);
  }
};

constexpr const char* parts = R"toml(
r = { kind = "electrical.resistor", p = "a", n = "b", R = 4 }
c = { kind = "electrical.capacitor", p = "a", n = "b", C = 0.5 }
l = { kind = "electrical.inductor", p = "a", n = "b", L = 0.5 }
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
j = { kind = "electrical.current_source", p = "a", n = "b", I = 3 }
d = { kind = "electrical.diode", p = "a", n = "b", Rs = 0.01 }
m = { kind = "machines.dc_machine", p = "a", n = "b", r = "s", c = "datum", R = 1, L = 0.01, k = 0.1 }
w = { kind = "rotational.inertia", p = "s", J = 1 }
)toml";

TEST(Condense, one_edge_kinds_become_a_conductance_and_a_source) {
  const struct {
    const char* component;
    double conductance, source;  // at alpha = 10, history = 2, node potentials zero
  } expected[] = {
      {"r", 0.25, 0.0}, {"c", 0.5 * 10, 0.5 * 2}, {"l", 1 / (0.5 * 10), -2.0 / 10}, {"j", 0.0, 3.0}};
  for (const auto& row : expected) {
    const Condensed c(parts, row.component);
    EXPECT_EQ(c.form.terminals.size(), 2u) << row.component;
    EXPECT_TRUE(c.form.kept_symbols.empty());
    EXPECT_FALSE(c.form.iterative());
    ASSERT_EQ(c.form.rows.size(), 2u);
    auto at = c.numbers(10.0, 2.0, 0.0);
    c.define(at);
    const auto coefficient = [&](int r, int t) {
      const Expr e = c.form.rows[r].coefficients[t];
      return e ? evaluate(e, at) : 0.0;
    };
    for (int r = 0; r < 2; ++r) {
      const double sign = c.form.rows[r].node == 0 ? 1.0 : -1.0;
      EXPECT_DOUBLE_EQ(coefficient(r, 0), sign * row.conductance) << row.component;
      EXPECT_DOUBLE_EQ(coefficient(r, 1), -sign * row.conductance) << row.component;
      EXPECT_DOUBLE_EQ(evaluate(c.form.rows[r].constant, at), sign * row.source) << row.component;
    }
  }
}

TEST(Condense, an_exponential_of_time_is_not_limited) {
  const Condensed c(R"toml(
j = { kind = "electrical.current_source", p = "a", n = "datum", I = "limexp(t)" }
)toml",
                    "j");
  EXPECT_TRUE(c.form.exponentials.empty());
  EXPECT_FALSE(c.form.iterative());
}

TEST(Condense, a_voltage_source_keeps_its_current) {
  const Condensed c(parts, "e");
  ASSERT_EQ(c.form.kept_symbols.size(), 1u);
  EXPECT_EQ(c.group.symbols[c.form.kept_symbols[0]].what, LocalSymbol::What::through);
  EXPECT_EQ(c.terminals_of(Terminal::What::kept), 1);
  int kept_rows = 0;
  for (const CondensedRow& row : c.form.rows) kept_rows += row.node < 0;
  EXPECT_EQ(kept_rows, 1);
}

TEST(Condense, a_diode_hides_its_junction_and_its_inner_node) {
  const Condensed c(parts, "d");
  EXPECT_EQ(c.form.terminals.size(), 2u);
  EXPECT_TRUE(c.form.kept_symbols.empty());
  EXPECT_TRUE(c.form.kept_nodes.empty());
  EXPECT_EQ(c.form.exponentials.size(), 1u);
  EXPECT_TRUE(c.form.iterative());
  EXPECT_EQ(c.form.rows.size(), 2u);
}

// At the solution the linearised form is exact: the diode's own law in its terminals.
TEST(Condense, a_diode_at_its_operating_point_gives_its_current_and_slope) {
  const Condensed c(parts, "d");
  const double vt = 1.380649e-23 * 300.0 / 1.602176634e-19, junction = 0.7,
               i = 1e-14 * std::expm1(junction / vt);
  const double potential = junction + 0.01 * i;
  auto at = c.numbers(1.0, 0.0, 0.0);
  for (std::size_t k = 0; k < c.form.iterated.size(); ++k) {
    const LocalSymbol& s = c.group.symbols[c.form.iterated[k]];
    const bool is_junction = s.index == 0;
    if (s.what == LocalSymbol::What::across)
      at[c.form.iterates[k]] = is_junction ? junction : 0.01 * i;
    else
      at[c.form.iterates[k]] = i;
  }
  for (const auto& x : c.form.exponentials) at[x.previous] = junction / vt;
  c.define(at);
  at[c.form.terminals[0].symbol] = 3.0 + potential;
  at[c.form.terminals[1].symbol] = 3.0;
  for (std::size_t s = 0; s < c.group.symbols.size(); ++s)
    if (c.group.symbols[s].what == LocalSymbol::What::through) {
      EXPECT_NEAR(evaluate(c.form.symbol_values[s], at), i, 1e-9 * i);
    }
  const double slope = evaluate(c.form.rows[0].coefficients[0], at);
  EXPECT_NEAR(slope, 1.0 / (vt / (i + 1e-14) + 0.01), 1e-9 * slope);
  EXPECT_NEAR(evaluate(c.form.exponentials[0].argument, at), junction / vt, 1e-9 * junction / vt);
}

TEST(Condense, a_machine_with_two_edges_leaves_node_potentials_only) {
  const Condensed c(parts, "m");
  EXPECT_EQ(c.terminals_of(Terminal::What::node), 4);
  EXPECT_EQ(c.form.terminals.size(), 4u);
  EXPECT_TRUE(c.form.kept_symbols.empty());
}

// Whatever the terminals are, the condensed values satisfy the terminal equations of linear kinds.
TEST(Condense, recovered_values_satisfy_the_terminal_equations) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-2.0, 2.0);
  for (const char* component : {"r", "c", "l", "j", "m", "w"}) {
    const Condensed c(parts, component);
    auto at = c.numbers(7.0, number(random), 0.3);
    c.define(at);
    for (const Terminal& t : c.form.terminals) at[t.symbol] = number(random);
    ExprMap<double> local = at;
    for (std::size_t s = 0; s < c.group.symbols.size(); ++s)
      local[c.group.symbols[s].symbol] = evaluate(c.form.symbol_values[s], at);
    for (std::size_t k = 0; k < c.group.rated.size(); ++k) {
      const LocalSymbol& s = c.group.symbols[c.group.rated[k]];
      local[s.rate] = 7.0 * local.at(s.symbol) + at.at(c.form.histories[k]);
    }
    for (Expr r : c.group.residuals) EXPECT_NEAR(evaluate(r, local), 0.0, 1e-12) << component;
    // and the rows are the throughs that leave the nodes
    for (const CondensedRow& row : c.form.rows) {
      double total = evaluate(row.constant, at), through = 0.0;
      for (std::size_t t = 0; t < c.form.terminals.size(); ++t)
        if (row.coefficients[t])
          total += evaluate(row.coefficients[t], at) * at.at(c.form.terminals[t].symbol);
      if (row.node < 0) continue;
      const Kind& kind = c.model.kinds[c.group.kind];
      for (std::size_t s = 0; s < c.group.symbols.size(); ++s) {
        if (c.group.symbols[s].what != LocalSymbol::What::through) continue;
        const KindEdge& e = kind.edges[c.group.symbols[s].index];
        if (e.from == row.node) through += local.at(c.group.symbols[s].symbol);
        if (e.to == row.node) through -= local.at(c.group.symbols[s].symbol);
      }
      EXPECT_NEAR(total, through, 1e-12) << component;
    }
  }
}

TEST(Condense, a_variable_that_others_refer_to_is_kept) {
  constexpr const char* text = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 20 }
f = { kind = "electrical.current_source", p = "datum", n = "b", I = "3*r.i" }
)toml";
  const Condensed r(text, "r"), s(text, "s"), f(text, "f");
  EXPECT_EQ(r.terminals_of(Terminal::What::kept), 1);
  EXPECT_EQ(s.terminals_of(Terminal::What::kept), 0);
  EXPECT_EQ(f.terminals_of(Terminal::What::external_plus), 1);
  EXPECT_EQ(f.terminals_of(Terminal::What::external_minus), 0);
}

TEST(Condense, an_inner_node_that_others_refer_to_is_kept_with_its_balance) {
  const Condensed d(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 0.6 }
d = { kind = "electrical.diode", p = "a", n = "datum" }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 20 }
f = { kind = "electrical.current_source", p = "datum", n = "b", I = "0.5*d.junction.v" }
)toml",
                    "d");
  EXPECT_EQ(d.form.kept_nodes.size(), 1u);
  EXPECT_EQ(d.terminals_of(Terminal::What::node), 3);
}

// dT = R*Q with R = 2*T - 5: at T = 2.5 the pivot would be zero, so Q must stay.
TEST(Condense, a_resistance_that_depends_on_temperature_keeps_its_heat_flow) {
  const Condensed c(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "x", Q = 1 }
r = { kind = "thermal.resistor", p = "x", n = "datum", R = "2*x.T - 5" }
)toml",
                    "r");
  EXPECT_EQ(c.terminals_of(Terminal::What::kept), 1);
  EXPECT_TRUE(c.form.iterative());
}

}  // namespace condense_test
}  // namespace tellegen
