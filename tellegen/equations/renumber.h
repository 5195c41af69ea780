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
#include "tellegen/model/parameters.h"

namespace tellegen {

class BakedNumbers {
 public:
  // Model parameters in these formulas (full names) and in what discrete variables of the system become.
  BakedNumbers(const EquationSystem& system, std::span<const Expr> formulas);
  bool same(const Model& model) const;                         // none has another number now
  void write(RowList& list, const NumberRows& numbers) const;  // requires it

 private:
  std::vector<std::pair<int, double>> parameters_;
};

using SystemRows = std::vector<std::vector<std::vector<RowValue>>>;  // [group], as Group::values

// Takes over the numbers that the system's model has now; where each comes from is looked up once.
class Renumbering {
 public:
  explicit Renumbering(EquationSystem& system);
  // Discrete variables start anew; their sample times must be as before (false: they are not).
  bool take_over();
  // The numbers of a system without discrete variables as rows, where those of its model are.
  SystemRows write(const NumberRows& numbers) const;

 private:
  struct Number {
    std::int32_t group, slot, member;
    int component, index;  // of its values; component -1: of the model's parameters
  };
  EquationSystem& system_;
  std::vector<Number> numbers_;
};

}  // namespace tellegen
