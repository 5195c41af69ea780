// States that nobody measures, as sums of responses to what is known: state = sum of factor(parameters) *
// signal.
//
//   z' = A(t) z + sum of factor * signal       integrated once for each factor
//
// Only a parameter in A keeps z from being linear in factors: a pole. For given poles everything is linear.
#pragma once

#include <vector>

#include "tellegen/identify/relations.h"

namespace tellegen {

// Factors of states in rates of the same block of states, in the order in which they are met.
std::vector<Expr> poles_of(const Relations& relations);

// The equations without states, for given values of the poles; those with rates of known variables integrated
// from the first row on.
std::vector<Form> equations_in_signals(const Relations& relations, const ExprMap<double>& poles);

}  // namespace tellegen
