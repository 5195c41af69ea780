// The step of a Kalman filter as a program: predict and correct, in formulas (filter_formulas.h), of a model
// whose rates have formulas or whose slopes are constant.
//
// Zeros of the matrices are structure and cost nothing; other numbers are registers, and so is the process
// noise, zero or not. One procedure (program/procedure.h) with the entries prepare, predict, correct and run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tellegen/estimate/filter_formulas.h"
#include "tellegen/program/procedure.h"

namespace tellegen {

class FilterProgram {
 public:
  // FilterFormulas::possible() must say so. `whole_run`: run() is compiled too.
  // `straight`: for a target; row() is all there is.
  FilterProgram(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                FilterFormulas::Method method = FilterFormulas::Method::one_by_one, bool whole_run = false,
                const StraightForm* straight = nullptr);

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

  // The next row without loops or choices, of a straight form: registers of its number, of what is given with
  // it (readings, whether each is there, inputs), and of the inputs as they are after it.
  struct Row {
    Body body;
    std::int32_t index = -1, value = -1, there = -1, u = -1, time = -1;
    std::vector<std::int32_t> inputs;
  };
  const Row& row() const { return row_; }
  int halvings(const double* w) const;  // of the flow's matrix in the last prediction

  const std::vector<int>& step_sections() const { return step_sections_; }  // that a step runs

  void transition(const double* w, Matrix& phi) const;  // of the last prediction
  // Of the last correction, where readings are taken together; else nothing.
  std::optional<double> log_likelihood(const double* w) const {
    return likelihood_ < 0 ? std::optional<double>() : w[likelihood_];
  }
  std::size_t states() const { return n_; }
  std::size_t width() const { return n_ + n_ * (n_ + 1) / 2; }  // x and P

 private:
  using Registers = std::vector<std::int32_t>;
  Procedure build(const FilterFormulas& formulas, Pool& pool, bool whole_run, const StraightForm* straight,
                  double step);
  void write_row(const FilterFormulas& formulas, const StraightForm& straight, double step,
                 const Registers& predicted, const Registers& corrected, int correct, SectionWriter& write);
  Body lead(const FilterFormulas& formulas, const Registers& roots, SectionWriter& write,
            const StraightForm* straight);
  void add_flow(const FilterFormulas& formulas, const Registers& roots, SectionWriter& write, Body& body,
                const StraightForm* straight);

  std::size_t n_, sensors_, inputs_;
  std::vector<double> memory_;
  std::size_t noise_ = 0;  // the first of the process noise
  struct {
    std::int32_t time, left, row, start, step, u, du, reading;
  } at_{};
  Registers innovation_, variance_, phi_at_;
  std::int32_t likelihood_ = -1, scale_ = -1;
  Row row_;
  std::vector<int> step_sections_;
  Matrix transition_;
  ProcedureCode code_;
  bool refused_ = false;
};

// The same behind the interface of all estimators.
std::unique_ptr<Filter> generated_filter(TwinModel& model, const FilterOptions& options,
                                         FilterFormulas::Method method);

}  // namespace tellegen
