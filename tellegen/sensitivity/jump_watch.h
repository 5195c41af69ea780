// Choices that jump: `if(t*f < duty, 1, 0)`, floor(x) inside an equation is no event to a fixed step. Where
// one switches between two steps at a time that parameters move, the derivative of the steps misses that
// part; a run says so.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/simulate/discrete.h"

namespace tellegen {

class JumpWatch {
 public:
  JumpWatch(const EquationSystem& system, std::span<const int> wrt);
  bool looks() const { return !choices_.empty(); }
  void look(std::span<const double> x, double t);
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::vector<std::string> names() const;  // of all choices, whether they switch or not

 private:
  struct Choice {
    std::string where;
    bool said = false, stairs = false;  // a function that jumps by itself, not an `if`
  };
  std::vector<Choice> choices_;
  std::unique_ptr<ColumnFormulas> formulas_;  // of each choice: what decides it, its two values
  std::vector<double> now_, before_;
  bool began_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace tellegen
