// Consistent initial values of a linear model whose states all begin with given values, for numbers that
// change: the minimal form says every variable and rate in the states, and remembers how from the numbers
// (equations/minimal.h). Some hundred operations, where the search of initial.h takes thousands.
#pragma once

#include <memory>
#include <vector>

#include "tellegen/equations/minimal.h"
#include "tellegen/simulate/initial.h"
#include "tellegen/simulate/start_rows.h"
#include "tellegen/symbolic/evaluator.h"

namespace tellegen {

class LinearStart {
 public:
  // Null where the model is not like that.
  static std::unique_ptr<LinearStart> make(const EquationSystem& system, const Storage& storage);
  // With the numbers that the model and the system have now. False where the form does not fit them, or a
  // value is not finite: search for them.
  bool find(InitialState& state);
  // The same as operations of a list.
  void write(RowList& list, const NumberRows& numbers, StartRows& start) const;

 private:
  LinearStart(const EquationSystem& system, MinimalForm form, std::vector<Expr> given);
  const EquationSystem& system_;
  MinimalForm form_;
  std::vector<Expr> given_formulas_, solution_formulas_;
  Evaluator given_, solution_;  // of the model's parameters; of states, t and the form's parameters
  std::vector<double> numbers_, point_, found_;
};

}  // namespace tellegen
