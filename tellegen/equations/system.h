// The equations of a whole model, in tableau form, assembled along the graph.
//
//   columns   node across variables (datum left out), edge through variables, internal variables
//   rows      one through balance per node, then the terminal equations, component by component
//
//   F(x, r, t, p) = 0      r: rates, the time derivatives of the differentiated variables
//
// Components of one kind share their equations: a Group holds them once, as expressions of local symbols,
// with the numbers and the columns of each of its members as structure of arrays. A component whose
// parameter is an expression of the model's variables joins the group of that expression's shape, with the
// variables it refers to as further local symbols. Derivatives are taken once per group.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/graph/graph.h"
#include "tellegen/graph/tree.h"
#include "tellegen/model/model.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

// What a local symbol stands for: the across of an edge, its through, an internal variable, the across
// variable of one of the component's own nodes, or a variable of another component.
struct LocalSymbol {
  enum class What : std::uint8_t { across, through, internal, node, external } what;
  int index = 0;  // edge, internal variable, node of the kind, or number of the reference
  Expr symbol;
  Expr rate;  // the symbol of its time derivative, where the equations contain it
};

struct Group {
  int kind = -1;
  std::vector<LocalSymbol> symbols;
  std::vector<Expr> parameters;  // symbols of the numbers that differ from member to member
  Expr time;
  std::vector<Expr> residuals;  // terminal equations; zero when satisfied

  std::vector<std::int32_t> components;                // the members
  std::vector<std::vector<double>> values;             // [parameter][member]
  std::vector<std::vector<std::int32_t>> plus, minus;  // [symbol][member]: value = x[plus] - x[minus]; -1: 0
  std::vector<std::int32_t> first_row;                 // [member]: row of its first terminal equation
  std::vector<std::int32_t> first_rate;                // [member]: its rates are consecutive from here
  std::vector<int> rated;                              // symbols that have a rate, in that order
  std::vector<char> keep;                              // per symbol: other components refer to it
  std::vector<char> keep_node;                         // per node of the kind: likewise, of internal nodes
  std::vector<int> held;       // parameters that stand for the kind's discrete variables
  std::vector<char> additive;  // of each: the equations' derivatives do not depend on it

  std::int32_t size() const { return static_cast<std::int32_t>(components.size()); }
};

// Value of a local symbol of one member, from the values of all columns.
inline double symbol_value(const Group& group, int symbol, std::int32_t member, std::span<const double> x) {
  const std::int32_t plus = group.plus[symbol][member], minus = group.minus[symbol][member];
  return (plus < 0 ? 0.0 : x[plus]) - (minus < 0 ? 0.0 : x[minus]);
}

// A differentiated variable: a state, unless topology makes it depend on others.
struct Rate {
  std::int32_t group = 0, member = 0;
  int symbol = 0;  // in Group::symbols
};

// A discrete variable: a parameter that changes at events, to what `update` then is.
inline constexpr double each_step = std::numeric_limits<double>::min();  // a sample time: see Discrete
struct Discrete {
  std::int32_t group = 0, member = 0;
  int held = 0;             // in Group::held
  std::int32_t column = 0;  // the variable that equals it
  Expr update;              // in column symbols and t
  double start = 0.0;
  // Sampled at multiples of this time; 0: whenever `update` differs; each_step: at every step, and at every
  // row of a run with a variable step.
  double every = 0.0;
  bool external = false;  // set from outside only
  std::string name;
  double interval(double step) const { return every == each_step ? step : every; }
};

struct EquationSystem {
  const Model* model = nullptr;
  LinearGraph graph;
  Tree tree;  // normal tree
  std::vector<Group> groups;
  std::vector<Rate> rates;
  std::vector<Discrete> discrete;
  std::int32_t node_columns = 0, through_columns = 0, internal_columns = 0;
  std::vector<std::int32_t> first_internal;       // per component
  std::vector<std::int32_t> group_of, member_of;  // per component
  std::vector<std::string> names;                 // of a system without a graph (minimal form): its columns

  std::int32_t size() const { return node_columns + through_columns + internal_columns; }
  std::int32_t node_column(NodeIndex n) const { return n.value - 1; }  // -1 for the datum
  std::int32_t through_column(EdgeIndex e) const { return node_columns + e.value; }
  std::int32_t internal_column(int component, int k) const {
    return node_columns + through_columns + first_internal[component] + k;
  }
};

// The model must outlive the system.
EquationSystem build_system(const Model& model);

// The component a column belongs to: one of its internal nodes, or a local symbol of its group. Ordinary
// nodes belong to nobody (component -1).
struct ColumnOwner {
  int component = -1, node = -1, symbol = -1;
};
ColumnOwner owner_of(const EquationSystem& system, std::int32_t column);

std::string column_name(const EquationSystem& system, std::int32_t column);
std::string column_unit(const EquationSystem& system, std::int32_t column);
double column_scale(const EquationSystem& system, std::int32_t column);  // Newton's yardstick
std::string row_name(const EquationSystem& system, std::int32_t row);    // in words
std::string rate_name(const EquationSystem& system, std::int32_t rate);  // "c1.v"

// An expression of the model with inputs and outputs of kinds written out: in parameters, t and variables.
Expr expand_names(const Model& model, Expr value);

// An expression of the model (full names) in the symbols "x<column>", inputs and model parameters replaced
// by their values; `t` stays.
Expr in_columns(const EquationSystem& system, Expr value);
Expr column_symbol(const EquationSystem& system, std::int32_t column);
Expr discrete_symbol(const EquationSystem& system,
                     std::int32_t k);  // "h<k>", where a form has no column for it

// The parameter of a group a discrete variable is.
inline int held_slot(const EquationSystem& system, const Discrete& d) {
  return system.groups[d.group].held[d.held];
}

// The counts of a model as the literature counts them: every node (a fixed one too) and every flow is a
// variable; an edge that only fixes a node carries no flow of its own.
struct Counts {
  std::int64_t variables = 0, algebraic = 0, differential = 0, nodes = 0, flows = 0;
};
Counts count(const EquationSystem& system);

}  // namespace tellegen
