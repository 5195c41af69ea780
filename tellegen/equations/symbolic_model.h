// A model's equations with everything by name: `r1.v - R1*r1.i`. Parameters stay symbols.
//
// A model parameter is its name; a number given in a component is `r1.R` (`q1.Q_given` where Q is a variable
// too); a value written as an expression is that expression, inputs and outputs of kinds written out. A
// discrete variable's value since the last event is `held(sw.on)`. For reading and for small models: every
// component has its own expressions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/equations/parameter_derivative.h"
#include "tellegen/graph/graph.h"
#include "tellegen/graph/tree.h"
#include "tellegen/model/model.h"

namespace tellegen {

struct SymbolicModel {
  const Model* model = nullptr;
  LinearGraph graph;
  std::vector<Expr> across, through;  // of each edge
  std::vector<Expr> node;             // across variable of each node; empty: the datum
  std::vector<Expr> internal;         // variables of components
  std::vector<Expr> terminal;    // residuals, component by component: as many as edges and internal variables
  std::vector<int> component;    // of each of them
  std::vector<Expr> parameters;  // symbols in the equations, by name
  std::vector<double> numbers;   // ... and their values
  std::vector<ParameterRef> own;  // ... and whose they are, where they are a component's own
  std::vector<Expr> held;         // discrete variables' values, likewise
};

// `own`: parameters of components that stay symbols though they are written as expressions. Throws
// ModelError: the faults of topology, T225 where the model is too large.
SymbolicModel symbolic_model(const Model& model, std::span<const std::string> own = {});

// Beyond this many edges and internal variables nobody reads the equations.
inline constexpr std::int32_t symbolic_limit = 1000;

Expr rate_symbol(Expr variable);  // der(variable)

// Edges by name as a tree. Throws ModelError: T222 an edge that closes a circuit, T223 a node that is not
// reached, T224 an edge that there is not.
Tree tree_of(const Model& model, const LinearGraph& graph, std::span<const std::string> edges);

}  // namespace tellegen
