// The direct approach of section 2.1 of the paper: differentiate the constraints, solve for the derivatives.
//
//   Phi(x, t) = 0,  A x_dot + b = 0   becomes   [Phi_x; A] x_dot = -[Phi_t; b],   A_hat x_dot = -b_hat
//
// A_hat is factored by dense LU at every evaluation and x_dot is integrated by an explicit formula. It
// disappoints twice, which is why it is here: A_hat is singular where two equations share their derivatives
// (two capacitors in parallel), and nothing holds Phi itself at zero, so that it drifts.
//
// [Rodriguez 2020] Energies 13, 1354, doi:10.3390/en13061354, Eqs. 4 and 5.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <string>
#include <vector>

namespace tellegen {

struct DirectOdeProblem {
  std::string name;
  Eigen::VectorXd x0;
  std::function<Eigen::MatrixXd(const Eigen::VectorXd& x, double t)> a_hat;
  std::function<Eigen::VectorXd(const Eigen::VectorXd& x, double t)> b_hat;
  std::function<Eigen::VectorXd(const Eigen::VectorXd& x, double t)> phi;
  double t_end = 0;
  int samples = 0;
  int first = 0, second = 0;  // positions of the monitored variables in x
};

enum class DirectFormula {
  trapezoidal,
  runge_kutta
};  // with a forward-Euler predictor; classical, order four

struct DirectOdeRun {
  bool singular = false;                        // A_hat at the start; then nothing else is filled
  int rank = 0, size = 0;                       // of A_hat at the start
  std::vector<double> t, first, second, drift;  // at the samples; drift = ||Phi||
  double seconds = 0;
  long steps = 0;
};

// The step must divide the sample interval; std::invalid_argument otherwise.
DirectOdeRun run_direct_ode(const DirectOdeProblem& problem, DirectFormula formula, double h);

// Node potentials first, then one current per element, as in the paper.
DirectOdeProblem direct_rlc();        // 8 variables; A_hat has rank 7
DirectOdeProblem direct_two_loops();  // the ladder with N = 2, 13 variables

}  // namespace tellegen
