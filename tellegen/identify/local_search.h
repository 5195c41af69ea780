// The local search after a relaxation (relaxation.h): the discretised problem itself, all samples' currents,
// flux linkages, torque and speed unknown beside the parameters [Yadav 2021, (3.15) to (3.24)].
//
//   minimise  1/2 |r(x)|^2 + rho/2 |E(x)|^2      r: readings times the roots of their weights
//                                                E: the machine's equations by forward Euler, per unit
//
// by Levenberg-Marquardt's method. rho begins small, where the trajectories stay at the (smoothed) readings
// and the parameters are those that make the equations fit, and grows. A step is one sparse L D L' with the
// parameters last, linear in the samples. From every rho's end the equations are then kept exactly, with the
// parameters and the states at the beginning as unknowns: that is (3.8) itself, of which the best minimum is
// taken.
//
// Logarithms of L_s - L_m, L_m, r_s, r_r, J and B are searched: parameters that no machine has are not
// visited. It ends in a local minimum, and from a bad start in a bad one: the objective says so, beside the
// noise of the readings.
#pragma once

#include <string>
#include <vector>

#include "tellegen/identify/relaxation.h"

namespace tellegen {

struct LocalSearchOptions {
  double current_weight = 0.1, speed_weight = 0.1;
  int most_iterations = 100;  // of each stage
};

struct LocalSearch {
  InductionParameters parameters;
  std::vector<InductionState> states;
  double objective = 0.0;  // (3.8a); infinite: no stage ended where the difference equations can be run
  int iterations = 0;      // factorisations and runs, of all stages
  bool converged = false;
};

LocalSearch search_locally(const StartUp& data, const InductionParameters& start,
                           const std::vector<InductionState>& states, const LocalSearchOptions& options = {});

}  // namespace tellegen
