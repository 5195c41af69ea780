// The branch-chord formulation, symbolically.
//
//   through of a branch  = signed sum of its cutset's chords        (A_f tau = 0)
//   across of a chord    = signed sum of its circuit's branches     (B_f alpha = 0)
//
// put into the terminal equations leaves as many of them as there are branches, chords and internal
// variables, in branch across, chord through and internal variables. What one of them gives explicitly is put
// into the others: `r1.i = r1.v/R1` of a resistor among the chords, a source's across. What is left are the
// differential equations of the storage and the implicit ones. Nothing is divided by but a product of
// parameters.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tellegen/equations/symbolic_model.h"
#include "tellegen/symbolic/common.h"

namespace tellegen {

struct SymbolicEquations {
  std::vector<Expr> unknowns;
  std::vector<Expr> residuals;                // zero; as many as unknowns
  std::vector<std::pair<Expr, Expr>> solved;  // what was given explicitly, in the unknowns that are left
};

// Cutset, circuit and terminal equations as they are; node potentials as sums along the tree.
SymbolicEquations symbolic_tableau(const SymbolicModel& model, const Tree& tree);

SymbolicEquations branch_chord(const SymbolicModel& model, const Tree& tree);  // every terminal equation

// What is explicit put into the others. `graph` numbers the variables of sensitivity graphs (the system's are
// 0): an equation gives variables of its own graph only, so that the system's stay free of sensitivities.
SymbolicEquations simplified(const SymbolicModel& model, const Tree& tree, const ExprMap<int>& graph = {});
int graph_of(Expr equation, const ExprMap<int>& graph);  // the highest of its variables

// The normal tree with the fewest simplified equations, then the fewest operations, found by exchanging a
// branch for a chord of its cutset and class as long as that helps. The search is bounded: a good tree, not
// always the best one, and the first normal tree for a model of more than 24 edges.
Tree choose_tree(const SymbolicModel& model);

// The tree of a model with sensitivities, from one for the model and one for its sensitivities.
Tree combined_tree(const Model& system, const LinearGraph& system_graph, const Tree& system_tree,
                   const Tree& sensitivity_tree, const Model& combined, const LinearGraph& combined_graph);

// The assembled equations differentiated as a whole, to compare the sensitivity graph with.
std::vector<Expr> differentiate_directly(const SymbolicModel& model, const SymbolicEquations& equations,
                                         ParameterDerivative& wrt);

// A_u (rows branches, columns chords) and B_w (rows chords, columns branches) of A_f = [1 A_u], B_f = [B_w
// 1].
std::vector<std::vector<int>> cutset_part(const LinearGraph& graph, const Tree& tree);
std::vector<std::vector<int>> circuit_part(const LinearGraph& graph, const Tree& tree);

}  // namespace tellegen
