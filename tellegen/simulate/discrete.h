// Discrete variables while a model runs: what they become, and when.
//
// An event is the change of a discrete variable. Fixed-step methods look at the end of each step; `adaptive`
// finds the time at which a comparison in an update changes. Variables with a sample time (`every`) are taken
// over at its multiples only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/tellegen_events.h"
#include "tellegen/equations/system.h"
#include "tellegen/numeric/byte_stream.h"
#include "tellegen/program/program.h"

namespace tellegen {

// Formulas of columns and t, as one program.
class ColumnFormulas {
 public:
  ColumnFormulas(const EquationSystem& system, std::span<const Expr> formulas);
  void evaluate(std::span<const double> x, double t, double* values);
  std::size_t size() const { return program_.roots.size(); }
  std::span<const std::int32_t> columns() const { return columns_; }  // that the formulas are in

 private:
  Program program_;
  std::vector<std::int32_t> columns_;  // of the inputs after t
  std::vector<double> registers_;
};

// What the discrete variables become.
std::vector<Expr> update_expressions(const EquationSystem& system);

// Which discrete variable a symbol of a formula stands for; -1: none.
int discrete_of(const EquationSystem& system, Expr symbol);

// Quantities whose sign decides a comparison, a minimum, a magnitude in these expressions.
std::vector<Expr> switching_quantities(std::span<const Expr> expressions);
std::vector<Expr> jumping_quantities(std::span<const Expr> expressions);  // without those of min, max, abs

// Whether an update is another value.
inline bool differs(double update, double held) { return tellegen_differs(update, held) != 0; }

// Who changed in 50 steps on end, and when; empty: nobody.
std::string chatter_text(const EquationSystem& system, const tellegen_schedule& schedule);

// When sampled variables are due in a fixed-step run, who changes, and who changes in every step.
class Schedule {
 public:
  // Throws ModelError (T319) where a sample time is shorter than the step.
  Schedule(const EquationSystem& system, double step);
  bool empty() const { return empty_; }                // nothing ever changes but from outside
  std::int64_t next_due() const { return next_due_; }  // step at whose end something is sampled
  // Takes over what `updates` say at the end of step `index`. True where a value has changed.
  bool take(std::int64_t index, std::span<const double> updates, std::span<double> held);
  std::span<const int> taken() const {
    return std::span(taken_).first(taken_count_);
  }  // by the last take(): changed, or sampled
  std::string chatter() const { return chatter_; }
  tellegen_schedule view();  // of this object, for runtime/tellegen_events.h
  void keep(Checkpoint& parts) { parts(each_, taken_, taken_count_, next_due_, chatter_); }

 private:
  const EquationSystem& system_;
  double step_;
  std::vector<double> every_;
  std::vector<tellegen_sampling> each_;
  std::vector<int> taken_;
  std::size_t taken_count_ = 0;
  std::int64_t next_due_ = 0;
  bool empty_ = true;
  std::string chatter_;
};

}  // namespace tellegen
