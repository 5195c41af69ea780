// A reference solution "at convergence" for any model: two different methods with shrinking steps, until
// neither their difference nor the last halving matters any more.
//
// Agreement is the largest difference at any sample, relative to each output's range. The trapezoidal rule
// and the third-order backward formula err in different ways, so what both agree on is the model's solution.
#pragma once

#include <functional>
#include <vector>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct ReferenceOptions {
  double agreement = 1e-7;  // wanted, relative to each output's range
  int most_halvings = 12;   // of the first step
};

struct ReferenceRound {
  double step = 0.0;
  double between_methods = 0.0, since_last = 0.0;  // worst output; since_last of the more accurate method
};

struct ReferenceResult {
  SimulationResult solution;        // bdf3 with the last step
  std::vector<double> differences;  // per output, absolute: the larger of the two measures
  std::vector<ReferenceRound> rounds;
  bool converged = false;
};

ReferenceResult find_reference(const EquationSystem& system, SimulationOptions options,
                               const std::vector<OutputColumn>& outputs, const ReferenceOptions& wanted,
                               const std::function<void(const ReferenceRound&)>& report = {});

}  // namespace tellegen
