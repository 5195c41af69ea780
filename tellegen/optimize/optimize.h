// Moves the design variables of a model to where its goal is smallest, within bounds and constraints, by
// NLopt with the derivatives of the runs.
//
//   slsqp   sequential quadratic programming [Kraft 1994]: few evaluations, the first choice
//   mma     method of moving asymptotes [Svanberg 2002]: more evaluations, patient with rough goals
//
// Both find the nearest minimum; several starts look further (splitmix64 from a stated seed: the same seed,
// the same answer). A start that breaks constraints is first moved to where none is broken, by minimising the
// sum of their squares. A run that fails on the way is answered by a slope back to the best point known.
//
// Weighted sums reach the convex part of a Pareto front only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tellegen/optimize/design_problem.h"

namespace tellegen {

struct OptimizeOptions {
  std::string algorithm = "slsqp";
  int starts = 1;  // the first at the model's own numbers
  std::uint64_t seed = 1;
  int most_evaluations = 300;  // of each start
  double tolerance = 1e-7;     // of the scaled variables, and of the goal relative to itself
  std::function<void(const std::string& what)> progress;
};
std::vector<std::string> optimize_algorithms();

struct StartResult {
  std::vector<double> x;  // the best point found, scaled
  DesignPoint best;
  bool feasible = false, converged = false;
  int evaluations = 0;
  std::string stopped;              // in words
  std::vector<std::string> broken;  // constraints that the start broke
  std::vector<DesignPoint> path;    // every point that was the best so far
};

struct OptimizeResult {
  DesignPoint before;
  StartResult best;
  std::vector<StartResult> starts;
  int same = 0;  // how many starts ended there
};

OptimizeResult optimize(DesignProblem& problem, const OptimizeOptions& options);
StartResult optimize_from(DesignProblem& problem, const OptimizeOptions& options, std::vector<double> x);

// Weights that make the ranges equal and their magnitudes' sum one; a goal's own weight is a factor.
// [Banerjee 2013] eq. 3.67.
std::vector<double> weights_from(const std::vector<GoalRange>& ranges, const ModelDesign& design);

// A front of two goals: minima for `count` mixtures of them, each begun where the last one ended; the points
// that no other beats in both. Leaves the weights of the problem as they were.
std::vector<StartResult> pareto_front(DesignProblem& problem, const OptimizeOptions& options, int count);

}  // namespace tellegen
