// The step of a Kalman filter as straight-line code: predict and correct of a linear model with constant
// slopes.
//
//   x- = Phi x + G0 s(t, u) + G1 s'(t, u)          P- = Phi P Phi' + Q
//   for each sensor that reads:  k = P h'/(h P h' + r),  x += k (y - h x - d),  P += k (S k - P h')' - P h'
//   k'
//
// Zeros of the matrices are structure and cost nothing; other numbers are inputs of the code, and so is the
// process noise, zero or not. The same program is interpreted, compiled here, or written out for a target:
//
//   void tellegen_filter_prepare(double* w);
//   void tellegen_filter_predict(double* w, double t, const double* u, const double* du);
//   void tellegen_filter_correct(double* w, double t, const double* u, const double* y, double* nu, double*
//   s); void tellegen_filter_run(double* w, long rows, double t, double h, const double* u, const double* y,
//   double* nu,
//                            double* s, double* history);
//
// w begins with x, then the upper triangle of P by rows; a reading that is missing is NaN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tellegen/estimate/filter.h"
#include "tellegen/program/compile.h"
#include "tellegen/program/program.h"

namespace tellegen {

class FilterProgram {
 public:
  // The model's slopes must be constant, and its unknowns without bounds.
  FilterProgram(TwinModel& model, const FilterOptions& options, const Vector& process_noise);

  std::string c_source() const;                           // without the runtime's header
  std::vector<double> memory() const { return memory_; }  // w as it begins: start, covariance, numbers
  void compile();
  bool compiled() const { return run_ != nullptr; }
  bool refused() const { return refused_; }  // there is a compiler, and it failed

  // Another process noise in a memory; prepare() follows.
  void set_process_noise(double* w, const Vector& variance_per_step) const;

  // On a memory of one's own. `u`: inputs now; `du`: their rates; readings that are missing are NaN.
  void prepare(double* w) const;
  void predict(double* w, double t, const double* u, const double* du) const;
  void correct(double* w, double t, const double* u, const double* y, double* innovation,
               double* variance) const;
  // Row after row; the first is only corrected. `history`: x and P after each row, where not null.
  void run(double* w, long rows, double t, double h, const double* u, const double* y, double* innovation,
           double* variance, double* history) const;

  const Matrix& transition() const { return transition_; }  // Phi
  std::size_t states() const { return n_; }
  std::size_t width() const { return n_ + n_ * (n_ + 1) / 2; }  // x and P

 private:
  struct Part {
    Program program;
    std::vector<std::int32_t> constants;  // of each input: where in w it stands; -1: an argument
    std::vector<std::int32_t> kept;       // of each register of section 0: where in w it is kept
  };
  void build(TwinModel& model, const FilterOptions& options, const Vector& process_noise);
  Expr number(double value);
  bool is_noise(std::size_t at) const { return noise_at_ > 0 && at >= noise_at_ && at < noise_at_ + n_; }
  void share_tables();
  void finish(Part& part, const std::vector<Expr>& arguments, const std::vector<Assignment>& list,
              const std::vector<Expr>& roots);
  std::string c_part(const Part& part, const std::string& letter, int section) const;
  void interpret_part(const Part& part, int section, double* w, const double* arguments, std::size_t count,
                      std::vector<double>& registers) const;

  Pool* pool_;
  std::size_t n_, sensors_, inputs_;
  double gate_;
  std::vector<double> memory_;
  std::vector<std::pair<Expr, std::int32_t>> numbers_;  // symbols of constants, and where they stand
  Part predict_, correct_;
  std::size_t noise_at_ = 0;  // in w: the variances of the process noise
  bool refused_ = false;
  Matrix transition_;
  std::shared_ptr<const CompiledCode> code_;
  void (*prepare_)(double*) = nullptr;
  void (*predict_code_)(double*, double, const double*, const double*) = nullptr;
  void (*correct_code_)(double*, double, const double*, const double*, double*, double*) = nullptr;
  void (*run_)(double*, long, double, double, const double*, const double*, double*, double*,
               double*) = nullptr;
};

// The same behind the interface of all estimators.
std::unique_ptr<Filter> generated_filter(TwinModel& model, const FilterOptions& options);

}  // namespace tellegen
