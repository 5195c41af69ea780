// Other numbers in equations that stand.
//
// A system keeps the numbers of its model in the arrays of its groups; formulas hold some as literals: those
// of model parameters in updates of discrete variables. Numbers tells which, so that whoever changes the
// model's parameters (set_parameters) knows whether the equations can go on with them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tellegen/equations/system.h"

namespace tellegen {

class BakedNumbers {
 public:
  // Model parameters in these formulas (full names) and in what discrete variables of the system become.
  BakedNumbers(const EquationSystem& system, std::span<const Expr> formulas);
  bool same(const Model& model) const;  // none has another number now

 private:
  std::vector<std::pair<int, double>> parameters_;
};

// Takes over the numbers that the system's model has now. Discrete variables start anew; their sample times
// must be as before (false: they are not).
bool renumber(EquationSystem& system);

}  // namespace tellegen
