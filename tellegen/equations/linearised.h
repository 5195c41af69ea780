// The sensitivity graph: the same topology, the terminal equations of each component differentiated.
//
//   dF/dx(@) s + dF/dr(@) s' + e = 0         e: dF/dp times the direction, per equation
//
// A group's symbols stand for the sensitivities now; what the symbols stood for before are numbers of a point
// on the trajectory, named "@v", "@der(v)". Everything here is linear, so condensing gives sums in which the
// coefficients of terminals, histories and e can be read off. The same system serves every parameter and,
// transposed, the adjoint.
#pragma once

#include <vector>

#include "tellegen/equations/network.h"
#include "tellegen/equations/system.h"

namespace tellegen {

// Groups of the linearised system have the numbers of the original first, then nothing: points are inputs.
EquationSystem linearised_system(const EquationSystem& system);

Expr point_symbol(Expr symbol);                   // "@v" of "v", "@der(v)" of "der(v)"
Expr direction_symbol(Pool& pool, int equation);  // e of an equation of the group

// One condensed group as coefficients: row = sum K*terminal + A*history + B*e, and for each differentiated
// variable value = V*terminal + W*history + U*e. In alpha, numbers of the group, t and points.
struct LinearGroup {
  struct Coefficient {
    int row, column;  // of `values`: row is the number of the differentiated variable
    Expr value;
  };
  std::vector<Coefficient> row_by_terminal, row_by_history, row_by_direction;
  std::vector<Coefficient> value_by_terminal, value_by_history, value_by_direction;
};
LinearGroup linear_group(const EquationSystem& linear, const Group& group, const CondensedGroup& form);

// Every column of the tableau in terms of the network's unknowns, likewise: what is condensed inside a
// component. Index: symbols of the group, or nodes of the kind after them.
LinearGroup linear_recovery(const EquationSystem& linear, const Group& group, const CondensedGroup& form);

}  // namespace tellegen
