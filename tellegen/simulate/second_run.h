// A run compared with others of the same model that must give the same: by another method, with half the step
// (an adaptive one: a tenth of the tolerance), and without the compiler.
//
// Differences are measured by each output's range over the run. Judged is their root mean square: near an
// edge that two runs take a step apart a single row may differ by the whole range, which its largest
// difference shows. The interpreter runs the same instructions as compiled code, so there every bit must
// agree. Each run has equations made anew: sums are in the order in which their terms came into the pool, so
// in equations with a history the last digits may be others.
#pragma once

#include <functional>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct SecondRunDifference {
  std::string output, unit;
  double largest = 0.0, at = 0.0;  // in its unit; s
  double relative = 0.0;           // root mean square over the output's range
};

struct SecondRun {
  std::string name;     // "method tr", "half the step", "interpreted"
  std::string failure;  // empty: it was run to the end
  double tolerance = 0.0;
  std::vector<SecondRunDifference> differences;  // of every output, the largest relative one first
  bool agrees() const {
    return failure.empty() && (differences.empty() || differences[0].relative <= tolerance);
  }
};

using UseOfEquations = std::function<void(const EquationSystem&, const std::vector<OutputColumn>&)>;

// `run` is the result of a run with these options. `with_new_equations` reads the model again and calls what
// it is given with its equations and the same columns.
std::vector<SecondRun> second_runs(const std::function<void(const UseOfEquations&)>& with_new_equations,
                                   const SimulationOptions& options, const SimulationResult& run,
                                   double tolerance);

// What a user should know of them; empty where all agree.
std::vector<std::string> second_run_warnings(const std::vector<SecondRun>& runs);

}  // namespace tellegen
