// The step of a Kalman filter as straight-line code: predict and correct of a linear model with constant
// slopes.
//
//   x- = Phi x + G0 s(t, u) + G1 s'(t, u)          P- = Phi P Phi' + Q
//   for each sensor that reads:  k = P h'/(h P h' + r),  x += k (y - h x - d),  P += k (S k - P h')' - P h'
//   k'
//
// Zeros of the matrices are structure and cost nothing; other numbers are registers, and so is the process
// noise, zero or not. One procedure (program/procedure.h) with the entries prepare, predict, correct and run.
#pragma once

#include <memory>
#include <vector>

#include "tellegen/estimate/filter.h"
#include "tellegen/program/procedure.h"

namespace tellegen {

class FilterProgram {
 public:
  // The model's slopes must be constant, and its unknowns without bounds. `whole_run`: run() is compiled too.
  FilterProgram(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                bool whole_run = false);

  // A register file as it begins: states, the upper triangle of the covariance by rows, numbers, ...
  const std::vector<double>& memory() const { return memory_; }
  void compile();
  bool compiled() const { return code_.compiled(); }
  bool refused() const { return refused_; }  // there is a compiler, and it failed

  // On a register file of one's own. `u`: inputs now; `du`: their rates; readings that are missing are NaN.
  void prepare(double* w) const { code_.call(0, w); }
  void predict(double* w, double t, const double* u, const double* du) const;
  void correct(double* w, double t, const double* u, const double* y, double* innovation,
               double* variance) const;
  // Row after row; the first is only corrected. Of each row inputs and readings in, innovations and their
  // variances out.
  void run(double* w, long rows, double t, double h, const double* in, double* out) const;
  // Another process noise; prepare() follows.
  void set_process_noise(double* w, const Vector& variance_per_step) const;

  // For a target: predict and correct, on registers of which the first are states and covariance.
  const Procedure& procedure() const { return code_.procedure(); }
  struct Places {
    std::int32_t time, u, du, reading;  // the first of each
  };
  Places places() const { return {at_.time, at_.u, at_.du, at_.reading}; }

  const Matrix& transition() const { return transition_; }  // Phi
  std::size_t states() const { return n_; }
  std::size_t width() const { return n_ + n_ * (n_ + 1) / 2; }  // x and P

 private:
  using Registers = std::vector<std::int32_t>;
  Procedure build(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                  bool whole_run);
  Expr input(Expr symbol, double value = 0.0);  // of both programs, in this order
  Expr number(double value);

  Pool* pool_;
  std::size_t n_, sensors_, inputs_;
  std::vector<Expr> symbols_;   // of the registers at the front
  std::vector<double> memory_;  // their values, then 0
  std::vector<std::pair<Expr, std::size_t>> constants_;
  std::size_t noise_ = 0;  // the first of the process noise
  struct {
    std::int32_t time, left, row, start, step, u, du, reading;
  } at_{};
  Registers innovation_, variance_;
  Matrix transition_;
  ProcedureCode code_;
  bool refused_ = false;
};

// The same behind the interface of all estimators.
std::unique_ptr<Filter> generated_filter(TwinModel& model, const FilterOptions& options);

}  // namespace tellegen
