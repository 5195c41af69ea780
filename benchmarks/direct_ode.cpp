#include "benchmarks/direct_ode.h"

#include <chrono>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace tellegen {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double omega = 10 * std::numbers::pi;
double source(double t) { return 100 * std::sin(omega * t); }
double source_rate(double t) { return 100 * omega * std::cos(omega * t); }

// Rows of a linear circuit: Phi = P x - e E(t) on top, A x_dot + B x below.
class Rows {
 public:
  Rows(int size, int constraints)
      : leading_(MatrixXd::Zero(size, size)), b_(MatrixXd::Zero(size, size)), constraints_(constraints) {}

  // Adds sum of coefficient * x[variable] = 0 to Phi.
  void constraint(std::initializer_list<std::pair<int, double>> terms) { fill(leading_, terms), ++row_; }
  // V_high - V_low = E(t).
  void voltage_source(int high, int low) {
    source_row_ = row_;
    constraint({{high, 1}, {low, -1}});
  }
  void resistor(int from, int to, int current, double ohm) {
    constraint({{from, 1}, {to, -1}, {current, -ohm}});
  }
  void inductor(int from, int to, int current, double henry) {
    leading_(row_, current) = henry;
    fill(b_, {{from, -1}, {to, 1}}), ++row_;
  }
  void capacitor(int from, int to, int current, double farad) {
    fill(leading_, {{from, farad}, {to, -farad}});
    fill(b_, {{current, -1}}), ++row_;
  }

  DirectOdeProblem problem(std::string name, double t_end, int samples, int first, int second) const {
    const MatrixXd a = leading_, b = b_;
    const int m = constraints_, driven = source_row_, size = static_cast<int>(a.rows());
    const auto a_hat = [a](const VectorXd&, double) { return a; };
    const auto b_hat = [b, driven](const VectorXd& x, double t) {
      VectorXd result = b * x;
      result(driven) = -source_rate(t);
      return result;
    };
    const auto phi = [a, m, driven](const VectorXd& x, double t) {
      VectorXd result = a.topRows(m) * x;
      result(driven) -= source(t);
      return result;
    };
    return {std::move(name), VectorXd::Zero(size), a_hat, b_hat, phi, t_end, samples, first, second};
  }

 private:
  void fill(MatrixXd& matrix, std::initializer_list<std::pair<int, double>> terms) {
    for (const auto& [variable, coefficient] : terms) matrix(row_, variable) = coefficient;
  }
  MatrixXd leading_, b_;
  int constraints_, row_ = 0, source_row_ = 0;
};

VectorXd derivative(const DirectOdeProblem& problem, const VectorXd& x, double t) {
  return problem.a_hat(x, t).partialPivLu().solve(-problem.b_hat(x, t));
}

VectorXd advance(const DirectOdeProblem& problem, DirectFormula formula, const VectorXd& x, double t,
                 double h) {
  const VectorXd k1 = derivative(problem, x, t);
  if (formula == DirectFormula::trapezoidal) {
    return x + h / 2 * (k1 + derivative(problem, x + h * k1, t + h));
  }
  const VectorXd k2 = derivative(problem, x + h / 2 * k1, t + h / 2);
  const VectorXd k3 = derivative(problem, x + h / 2 * k2, t + h / 2);
  const VectorXd k4 = derivative(problem, x + h * k3, t + h);
  return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
}

}  // namespace

DirectOdeRun run_direct_ode(const DirectOdeProblem& problem, DirectFormula formula, double h) {
  const long every = std::lround(problem.t_end / problem.samples / h);
  if (every < 1 || std::abs(every * h * problem.samples - problem.t_end) > 1e-9 * problem.t_end) {
    throw std::invalid_argument("direct ODE: the step does not divide the sample interval");
  }
  DirectOdeRun run;
  VectorXd x = problem.x0;
  run.size = static_cast<int>(x.size());
  run.rank = static_cast<int>(problem.a_hat(x, 0).fullPivLu().rank());
  run.singular = run.rank < run.size;
  if (run.singular) return run;

  run.steps = every * problem.samples;
  const auto start = std::chrono::steady_clock::now();
  for (long k = 0; k < run.steps; ++k) {
    x = advance(problem, formula, x, k * h, h);
    if ((k + 1) % every != 0) continue;
    const double t = (k + 1) / every * problem.t_end / problem.samples;
    run.t.push_back(t), run.first.push_back(x(problem.first)), run.second.push_back(x(problem.second));
    run.drift.push_back(problem.phi(x, t).norm());
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

DirectOdeProblem direct_rlc() {
  enum { v1, v2, v3, i_e, i_r, i_l, i_c1, i_c2, size };
  Rows rows(size, 5);
  rows.constraint({{v1, 1}});
  rows.voltage_source(v2, v1);
  rows.resistor(v2, v3, i_r, 10);
  rows.constraint({{i_e, 1}, {i_r, 1}});
  rows.constraint({{i_r, -1}, {i_l, 1}, {i_c1, 1}, {i_c2, 1}});
  rows.inductor(v3, v1, i_l, 0.1);
  rows.capacitor(v3, v1, i_c1, 0.4);
  rows.capacitor(v3, v1, i_c2, 0.2);
  return rows.problem("rlc", 10, 1000, v3, i_l);
}

DirectOdeProblem direct_two_loops() {
  enum { v1, v2, v3, v4, v5, v6, i_e, i_r1, i_l1, i_c1, i_r2, i_l2, i_c2, size };
  Rows rows(size, 9);
  rows.constraint({{v1, 1}});
  rows.voltage_source(v2, v1);
  rows.resistor(v2, v3, i_r1, 10);
  rows.resistor(v3, v5, i_r2, 10);
  rows.constraint({{i_e, 1}, {i_r1, 1}});
  rows.constraint({{i_r1, -1}, {i_l1, 1}, {i_r2, 1}});
  rows.constraint({{i_l1, -1}, {i_c1, 1}});
  rows.constraint({{i_r2, -1}, {i_l2, 1}});
  rows.constraint({{i_l2, -1}, {i_c2, 1}});
  rows.inductor(v3, v4, i_l1, 0.1);
  rows.capacitor(v4, v1, i_c1, 0.1);
  rows.inductor(v5, v6, i_l2, 0.1);
  rows.capacitor(v6, v1, i_c2, 0.1);
  return rows.problem("ladder 2", 1, 100, v6, i_l2);
}

}  // namespace tellegen
