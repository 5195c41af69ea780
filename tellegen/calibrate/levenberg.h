// Levenberg-Marquardt between bounds, for a sum of squares whose normal equations somebody else forms.
//
//   minimise cost(x) = 1/2 |r(x)|^2     given  cost,  g = J'r  and  A = J'J  at a point
//
// Each step solves (A + damping D) dx = -g, D the largest diagonal of A so far, among the variables that are
// free: not at a bound that g pushes against, and felt by r at all. It is cut at the bounds and at the factor
// by which a positive variable may change. The damping follows the ratio of the decrease to the one predicted
// [Madsen 2004].
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

namespace tellegen {

struct SquaresPoint {
  double cost = 0.0;
  Eigen::VectorXd gradient;  // J'r
  Eigen::MatrixXd normal;    // J'J
  std::string failure;       // empty: it could be computed
};

struct SquaresProblem {
  std::function<SquaresPoint(const Eigen::VectorXd& x)> at;
  Eigen::VectorXd lower, upper;
  Eigen::VectorXd size;        // of each variable, where it passes through zero
  std::vector<char> positive;  // stays so: changes by a factor of ten at most in a step
  Eigen::VectorXd longest;     // step of the others; infinity: any
};

struct SquaresSearch {
  struct Visit {
    Eigen::VectorXd x;
    double cost, step;  // step: in standard deviations, sqrt(dx' A dx)
  };
  Eigen::VectorXd x;
  SquaresPoint point;
  std::vector<char> at_bound;
  bool converged = false;
  std::string stopped;
  int evaluations = 0;
  std::vector<Visit> path;
};

SquaresSearch levenberg_marquardt(const SquaresProblem& problem, Eigen::VectorXd start, int most_iterations);

}  // namespace tellegen
