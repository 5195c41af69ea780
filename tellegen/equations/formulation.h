// From a model to symbolic equations in one call: form, trees, sensitivities; and what the ways to get
// sensitivities cost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tellegen/equations/branch_chord.h"
#include "tellegen/model/mechanism_trees.h"

namespace tellegen {

enum class SymbolicForm { tableau, branch_chord };

struct FormulationOptions {
  SymbolicForm form = SymbolicForm::branch_chord;
  std::vector<std::string> tree;              // edges; empty: choose_tree(), for a tableau the normal tree
  std::vector<std::string> parameters;        // sensitivities to these
  std::vector<std::string> sensitivity_tree;  // edges; empty: the same tree
  DifferentiatedParts differentiated{};       // of a mechanism whose sensitivities have a tree of their own
};

struct Formulation {
  std::vector<std::string> parameters;
  SymbolicModel system;
  Tree tree, sensitivity_tree;            // of the system's graph, both
  std::unique_ptr<const Model> combined;  // with the sensitivity graph; empty: none was asked for
  SymbolicModel symbolic;                 // the system, or both graphs together
  Tree combined_tree;
  ExprMap<int> graph;           // of the variables: 0 the system's, 1 that of the first parameter ...
  SymbolicEquations equations;  // the system's first, then those of each parameter
};

// The model must outlive the result. Throws ModelError.
Formulation formulate(const Model& model, const FormulationOptions& options);

// Operations of all equations, written out and with common subexpressions named.
struct MethodCost {
  std::string method;
  Cost before, after;
};

// Sensitivity graph; the assembled equations differentiated directly; finite differences, one evaluation of
// the system more than there are parameters. Without parameters: the system alone.
std::vector<MethodCost> compare_costs(const Model& model, const Formulation& formulation);

}  // namespace tellegen
