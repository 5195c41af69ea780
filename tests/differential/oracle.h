// Solutions of a tableau that share no code with the program: what results are held against.
#pragma once

#include <Eigen/Dense>
#include <memory>
#include <string>
#include <vector>

#include "tests/differential/flat.h"
#include "tests/differential/tableau.h"

namespace differential {

// An expression at given columns, discrete values and time.
double value_at(const Tree& tree, const Eigen::VectorXd& x, const std::vector<double>& discrete, double t);

// Linear networks, exactly. With sines, exponentials and ramps of time as states of their own the tableau is
// E z' + A z = 0 between the jumps of its sources. With M = (s E + A)^-1 E, solutions lie in the range V of
// the powers of M, where z' = J z, so z(t) = V exp(J t) y(0); what an inconsistent z jumps to is its
// projection on that range along the null space of those powers [Campbell 1980]. Throws OracleError where the
// tableau is not linear, or its pencil singular.
//
// [Campbell 1980] Singular Systems of Differential Equations.
class LinearOracle {
 public:
  LinearOracle(const Tableau& tableau, double stop);
  ~LinearOracle();
  bool start();  // from the initial values the model gives; false: they contradict each other or leave
                 // something open
  double start_near(const Eigen::VectorXd& x);  // from the consistent point nearest to x; how far away it was
  Eigen::VectorXd at(double t) const;           // columns, the right limit at a jump
  const std::vector<double>& jumps() const;     // times at which a source jumps or bends
  int states() const;
  double fastest() const;  // largest modulus of an eigenvalue that does not belong to the sources
  // d(state)/dt = A state + ..., for the oracles of filters: z' = J z with z = [columns, 1, t, signals] in V.
  struct Segment;
  const Segment& segment(std::size_t k) const;

 private:
  std::vector<Segment> segments_;
  std::vector<double> jumps_;
  int columns_;
  const Tableau& tableau_;
};

struct LinearOracle::Segment {
  double from = 0.0, to = 0.0;
  Eigen::MatrixXd E, A;  // of z
  Eigen::MatrixXd V, J, P;
  Eigen::VectorXd exogenous;  // 1, t, signals at `from`
  Eigen::VectorXd y;          // z(from) = V y
};

// Nonlinear models and models with events, slowly: Radau IIA of order 5 with a dense Newton iteration on the
// tableau; a step over which any comparison changes is cut at that point, found by bisection; then discrete
// variables are updated until nothing changes, and everything but the differentiated variables is solved for
// again.
class Reference {
 public:
  Reference(const Tableau& tableau, double step);
  void start();
  void advance(double to);
  double t = 0.0;
  Eigen::VectorXd x;
  std::vector<double> discrete;
  std::vector<double> events;       // times at which a comparison or a discrete variable changed
  std::vector<TreePtr> integrands;  // to be integrated from the start on ...
  std::vector<double> integrals;    // ... and what has come together
  double grid = 0.0;                // samples are taken at multiples of it, as fixed steps do; 0: in time
  double lag = 0.0;  // by which samples are taken late, or early at an event, to see whether that matters

 private:
  using Signature = std::vector<double>;
  Signature signature(const Eigen::VectorXd& x, double t);
  double guess(const Signature& before);
  bool step(double h, Eigen::VectorXd& next, std::vector<double>* sums);
  void settle(const Eigen::MatrixXd& rows, const Eigen::VectorXd& held);
  Eigen::MatrixXd rate_rows();
  void settle_held();
  bool due(std::size_t k) const;
  double sample_time(std::size_t k) const;
  void update(bool sampled);
  const Tableau& tableau_;
  double step_;
  Flat residuals_, updates_, integrands_;
  Eigen::VectorXd stages_;                        // of the last step ...
  double staged_ = 0.0;                           // ... of this length; 0: it failed
  Eigen::PartialPivLU<Eigen::MatrixXd> factors_;  // of the equations of a step ...
  double factored_step_ = 0.0;                    // ... of this length; 0: none
  std::vector<long> samples_;                     // taken so far, of each discrete variable
};

}  // namespace differential
