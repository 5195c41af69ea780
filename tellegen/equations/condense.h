// A component as the network sees it, with an integration formula put in.
//
//   rate = alpha * value + history        for every differentiated variable, whatever the method
//
// makes the terminal equations algebraic. Linearised about the iterate, they are solved here, once per group
// and symbolically, for the component's own unknowns (throughs, internal variables, potentials of internal
// nodes) wherever a safe pivot exists; what remains is its companion form in the *terminals*: node
// potentials, the unknowns that had to be kept (the current of a voltage source), and variables of other
// components. A resistor, a capacitor, a diode with its series resistance: all become one conductance and
// one source between their nodes.
//
// Sections, as in program.h: 0 parameters and alpha, 1 time and history, 2 the iterate.
#pragma once

#include <span>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct Terminal {
  enum class What { node, kept, external_plus, external_minus } what;
  int index = 0;  // node of the kind, or index of a symbol of the group
  Expr symbol;
};

struct CondensedRow {
  int node = -1;                   // balance of this node of the kind; -1: a kept equation
  std::vector<Expr> coefficients;  // per terminal; empty: zero
  Expr constant;                   // sum of coefficient * terminal + constant: the through that leaves the
                                   // node into the component, or zero for a kept equation
};

struct Definition {
  Expr symbol, value;
};

struct CondensedGroup {
  std::vector<Terminal> terminals;
  std::vector<int> kept_symbols;        // group symbols that became terminals
  std::vector<int> kept_nodes;          // internal nodes that became terminals; their balance is a row
  std::vector<Definition> definitions;  // in order; used by everything below
  std::vector<CondensedRow> rows;
  std::vector<Expr> node_values;    // per node of the kind: its potential in terminals
  std::vector<Expr> symbol_values;  // per symbol of the group: its value in terminals
  // Inputs beside parameters and terminals:
  Expr alpha;
  std::vector<Expr> histories;  // per Group::rated
  std::vector<int> iterated;    // symbols whose iterate the formulas use ...
  std::vector<Expr> iterates;   // ... and the symbol of that iterate
  // Exponentials limited between iterations: exp(u) is taken as exp(m) (1 + u - m), m = the limited argument.
  struct Exponential {
    Expr previous;  // input: m of the iteration before
    Expr limited;   // symbol m, defined in `definitions`
    Expr argument;  // u in symbol values: what m must have become
  };
  std::vector<Exponential> exponentials;
  std::vector<int> nonlinear;  // symbols in which the equations are nonlinear (exponentials apart)
  bool iterative() const { return !iterated.empty(); }
};

CondensedGroup condense(const EquationSystem& system, const Group& group);

}  // namespace tellegen
