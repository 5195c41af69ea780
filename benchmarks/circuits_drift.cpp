// The derivative of the trapezoidal rule and its drift (Figs. 12 and 13): rectifier, V5.
//
// The paper carries a derivative for every variable by the rule itself,
//
//   x_dot_next = 2/h (x_next - x) - x_dot                                    (TRnP)
//
// which no equation holds in check: an error made at a commutation alternates in sign for ever. Its remedy
// moves x_dot after every step to the nearest one that satisfies the differential equations and the
// differentiated algebraic ones (Eqs. 15 to 17),
//
//   minimise ||x_dot_projected - x_dot||   subject to   [Phi_x; A] x_dot_projected + [Phi_t; b] = 0      (TR)
//
// Tellegen carries rates of
// differentiated variables only, so both are rebuilt here from the states of a run.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "benchmarks/circuits_sections.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// [Phi_x; A] x_dot + [Phi_t; b] = 0 at one state.
class Derivatives {
 public:
  explicit Derivatives(const EquationSystem& system) : system_(system), tableau_(system) {
    std::vector<char> differential(system.size(), 0);
    for (const auto& entry : tableau_.rate_entries()) differential[entry.row] = 1;
    for (int row = 0; row < system.size(); ++row) {
      if (!differential[row]) algebraic_.push_back(row);
    }
  }

  void set(const VectorXd& x, double t) {
    const int n = system_.size(), m = tableau_.rate_count();
    std::vector<double> f(n), by_x(tableau_.x_entries().size()), by_rate(tableau_.rate_entries().size());
    std::vector<double> rates(m, 0.0);
    const std::span<const double> state(x.data(), n);
    tableau_.jacobian(state, rates, t, {}, by_x, by_rate);
    MatrixXd f_x = MatrixXd::Zero(n, n), f_rate = MatrixXd::Zero(n, m);
    for (std::size_t k = 0; k < by_x.size(); ++k) {
      const auto [row, column] = tableau_.x_entries()[k];
      if (row >= 0 && column >= 0) f_x(row, column) += by_x[k];  // -1: the datum
    }
    for (std::size_t k = 0; k < by_rate.size(); ++k) {
      f_rate(tableau_.rate_entries()[k].row, tableau_.rate_entries()[k].column) += by_rate[k];
    }
    // The rates from the equations themselves, which are linear in them.
    tableau_.residual(state, rates, t, {}, f);
    const VectorXd rate = f_rate.completeOrthogonalDecomposition().solve(-Eigen::Map<VectorXd>(f.data(), n));
    tableau_.by_time(state, rates, t, f);
    const auto rows = static_cast<Eigen::Index>(algebraic_.size());
    a_.resize(rows + m, n), b_.resize(rows + m);
    a_.topRows(rows) = f_x(algebraic_, Eigen::all);
    b_.head(rows) = Eigen::Map<VectorXd>(f.data(), n)(algebraic_);
    // A differentiated variable is linear in x: its row by unit vectors.
    std::vector<double> unit(n, 0.0);
    for (int k = 0; k < m; ++k) {
      for (int column = 0; column < n; ++column) {
        unit[column] = 1;
        a_(rows + k, column) = tableau_.rate_value(unit, k);
        unit[column] = 0;
      }
      b_[rows + k] = -rate[k];
    }
  }

  double violation(const VectorXd& x_dot) const { return (a_ * x_dot + b_).norm(); }

  // The correction of least norm; tolerates dependent equations.
  VectorXd project(const VectorXd& x_dot) const {
    return x_dot - a_.completeOrthogonalDecomposition().solve(a_ * x_dot + b_);
  }

 private:
  const EquationSystem& system_;
  Tableau tableau_;
  std::vector<int> algebraic_;
  MatrixXd a_;
  VectorXd b_;
};

int column_named(const EquationSystem& system, const std::string& name) {
  for (int column = 0; column < system.size(); ++column) {
    if (column_name(system, column) == name) return column;
  }
  throw std::runtime_error("benchmark: no variable " + name);
}

}  // namespace

void section_drift(Circuits& run) {
  const Circuit& circuit = run.circuit("rectifier");
  const EquationSystem& system = *circuit.system;
  run.report.begin({"drift", "rectifier, trapezoidal rule, 0.5 ms, 0 to 1 s, all variables at every step",
                    "V5' by the rule alone (TRnP) and projected (TR)",
                    "the run's errors within 2 % of section 9"});
  SimulationOptions options = circuit_options(circuit, "tr", 5e-4);
  const CircuitRun checked = run_circuit(circuit, options);
  if (!run.report.require(checked.failure.empty() && std::abs(checked.errors.first / 2.87e-4 - 1) <= 0.02 &&
                              std::abs(checked.errors.second / 1.70e-4 - 1) <= 0.02,
                          "the trapezoidal rule's errors are not those of section 9")) {
    return;
  }
  options.sample = options.step;
  Simulation simulation(system, options, default_outputs(system, true));
  const SimulationResult states = simulation.run();

  const int n = system.size(), v5 = column_named(system, "n5.v");
  const auto state = [&](std::size_t k) -> VectorXd {
    return Eigen::Map<const VectorXd>(&states.values[k * n], n);
  };
  Derivatives derivatives(system);
  derivatives.set(state(0), 0);
  VectorXd rule = derivatives.project(VectorXd::Zero(n)), projected = rule;
  Trajectory curves{{"V5", "dV5_rule", "dV5_projected", "violation_rule", "violation_projected"},
                    {"V", "V/s", "V/s", "", ""},
                    {},
                    {}};
  for (std::size_t k = 1; k < states.t.size(); ++k) {
    const VectorXd slope = 2 / options.step * (state(k) - state(k - 1));
    derivatives.set(state(k), states.t[k]);
    rule = slope - rule;
    projected = derivatives.project(slope - projected);
    const double row[] = {state(k)[v5], rule[v5], projected[v5], derivatives.violation(rule),
                          derivatives.violation(projected)};
    curves.append(states.t[k], row);
  }
  TextTable table{
      {"window [s]", "max |V5'| TRnP", "max |V5'| TR", "max |TRnP - TR|", "violation TRnP", "violation TR"},
      {}};
  for (int window = 0; window < 10; ++window) {
    double most[5] = {};
    for (std::size_t k = 0; k < curves.rows(); ++k) {
      if (curves.t[k] <= 0.1 * window + 1e-9 || curves.t[k] > 0.1 * (window + 1) + 1e-9) continue;
      const auto row = curves.row(k);
      const double values[5] = {row[1], row[2], row[1] - row[2], row[3], row[4]};
      for (int c = 0; c < 5; ++c) most[c] = std::max(most[c], std::abs(values[c]));
    }
    table.rows.push_back({fmt::format("{:.1f} to {:.1f}", 0.1 * window, 0.1 * (window + 1))});
    for (const double value : most) table.rows.back().push_back(cell(value));
  }
  run.report.table("V5' [V/s] and norm of the violated differentiated equations, largest in each window",
                   table);
  if (!run.options.output.empty()) write_csv(run.options.output / "drift.csv", curves);
}

}  // namespace tellegen
