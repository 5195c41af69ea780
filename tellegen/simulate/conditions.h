// Quantities whose sign a condition depends on: in the equations of every member of every group (`if`, min,
// max, abs ...), and in what discrete variables become. Where one changes its sign there is an event.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/program/program.h"
#include "tellegen/simulate/discrete.h"

namespace tellegen {

struct Condition {
  std::string owner;                     // the component, or the discrete variable
  std::int32_t group = -1, member = -1;  // whose local symbols `quantity` is in; -1: the model's full names
  Expr quantity;
};

class Conditions {
 public:
  explicit Conditions(const EquationSystem& system);
  std::size_t size() const { return list_.size(); }
  std::size_t of_equations() const { return of_equations_; }  // the first of them; the others are of updates
  const Condition& operator[](std::size_t k) const { return list_[k]; }

  void evaluate(std::span<const double> x, std::span<const double> rates, double t, double* values);
  std::vector<std::int32_t> columns() const;  // that they look at

 private:
  ColumnFormulas make_list();
  const EquationSystem& system_;
  std::vector<Condition> list_;
  std::size_t of_equations_ = 0;
  std::vector<Program> programs_;  // per group
  std::vector<double> registers_;
  ColumnFormulas updates_;  // last: made with the list
};

// Whether an equation jumps where one of its conditions changes with a variable, as if(v > 0.5, 1, 2) does
// and max(v, 0.5) does not. Found by numbers on both sides of where it changes; where that is not found, it
// may.
bool equations_jump(const EquationSystem& system);

}  // namespace tellegen
