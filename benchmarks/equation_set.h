// A set of implicit equations F(x, x', t) = 0 as it was derived, integrated by SUNDIALS IDA: to measure what
// a way of deriving equations costs, with nothing between the equations and the integrator.
//
// Written out, every formula is evaluated as it stands, equal subexpressions as often as they appear; named,
// each is evaluated once, in compiled code where there is a compiler. Parameters are numbers in both. The
// integrator has the exact Jacobian, evaluated in the same way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct EquationSet {
  std::vector<Expr> unknowns, residuals;  // as many; der(x) is a symbol
  ExprMap<double> numbers;                // of every other symbol
};

enum class Evaluation { written_out, named };

struct SetOptions {
  Evaluation evaluation = Evaluation::named;
  double stop = 1, tolerance = 1e-8;
  int samples = 100;
  std::vector<double> start;  // of the unknowns; what has no rate is made consistent
  std::vector<double> scale;  // of the unknowns: absolute tolerance over relative one
  int repetitions = 1;        // the shortest counts
};

struct SetRun {
  std::vector<double> values;  // [sample][unknown], the first at the start
  double seconds = 0;          // of processor time, the shortest integration
  double formula_seconds = 0;  // of evaluating residuals and Jacobian alone, as often as it did
  long steps = 0, residuals = 0, jacobians = 0;
  std::string failure;  // empty: finished
};

// Sets of the same unknowns, in turn.
std::vector<SetRun> integrate(std::span<const EquationSet> sets, const SetOptions& options);

}  // namespace tellegen
