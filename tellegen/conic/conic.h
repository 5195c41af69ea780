// Linear optimisation over symmetric cones, by a primal-dual interior-point method.
//
//   minimise   c'x     subject to  A x = b,  G x + s = h,  s in K
//   maximise  -b'y - h'z           A'y + G'z + c = 0,      z in K
//
// K is a nonnegative orthant, then second-order cones, then cones of symmetric positive semidefinite matrices
// (their lower triangle by columns, entries off the diagonal times sqrt(2)). The homogeneous self-dual
// embedding is followed with Nesterov-Todd scaling and Mehrotra's predictor and corrector, so that a problem
// without a solution ends with a certificate instead of a failure [Andersen 2003; Vandenberghe 2010].
//
// Each cone is condensed onto the variables that it meets and the rest is one sparse L D L'. So a problem
// made of blocks in time, with a few variables in all of them, costs as much again for every block more. A
// second-order cone over d variables costs d^2 for each iteration, a semidefinite one of order n costs n^4:
// small cones, as many as there are. Where no solution is attained (an infimum that is only approached) the
// iterates grow until the tolerances are met; what they are then is a point on the central path, not a
// solution.
//
// [Andersen 2003] Andersen, Roos and Terlaky, Mathematical Programming 95. [Vandenberghe 2010] The CVXOPT
// linear and quadratic cone program solvers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

struct SparseEntry {
  std::int32_t row = 0, column = 0;
  double value = 0.0;
};

struct ConicProblem {
  std::int32_t variables = 0;
  std::vector<double> c, b, h;
  std::vector<SparseEntry> A, G;  // equal places add up
  int nonnegative = 0;            // rows of G in the orthant; then
  std::vector<int> second_order;  // rows of each, then
  std::vector<int> semidefinite;  // order of each
};

struct ConicOptions {
  int most_iterations = 100;
  double feasibility = 1e-8;  // residuals, relative to the data
  double gap = 1e-8;          // absolute, or relative to the objective
};

enum class ConicStatus {
  solved,
  infeasible,       // (y, z) proves it: A'y + G'z = 0, z in K, b'y + h'z = -1
  unbounded,        // x proves it: A x = 0, -G x = s in K, c'x = -1
  stalled,          // rounding stopped it: the best point, with its residuals
  iteration_limit,  // likewise
};

// "solved", "infeasible", ...
std::string to_string(ConicStatus status);

struct ConicSolution {
  ConicStatus status = ConicStatus::iteration_limit;
  std::vector<double> x, s, y, z;
  double objective = 0.0, dual_objective = 0.0;
  double gap = 0.0;                                   // s'z
  double primal_residual = 0.0, dual_residual = 0.0;  // relative, as the tolerances
  int iterations = 0;
  std::int64_t factor_nonzeros = 0;  // of L
  std::string brief() const;         // one line
};

ConicSolution solve(const ConicProblem& problem, const ConicOptions& options = {});

}  // namespace tellegen
