// Formulas of a model and their derivatives along directions: all columns move, time, and a parameter.
//
//   d(value) = sum of d(value)/d(column) dx + d(value)/dt dt + d(value)/dp
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tellegen/equations/slopes.h"
#include "tellegen/simulate/discrete.h"

namespace tellegen {

class FormulaSlopes {
 public:
  // Formulas in the model's full names; parameters by index into `wrt`.
  FormulaSlopes(const EquationSystem& system, std::span<const Expr> formulas, std::span<const int> wrt);
  std::size_t size() const { return parts_.size(); }

  void evaluate(std::span<const double> x, double t);  // at a point; what follows is there
  double value(std::size_t k) const { return numbers_[parts_[k].value]; }
  double along(std::size_t k, std::span<const double> dx, double dt, int parameter = -1) const;

 private:
  struct Part {  // places in numbers_
    std::size_t value = 0;
    std::vector<std::pair<std::int32_t, std::size_t>> by_column;
    std::ptrdiff_t by_time = -1;
    std::map<int, std::size_t> by_parameter;
  };
  std::vector<Part> parts_;
  std::unique_ptr<ColumnFormulas> formulas_;
  std::vector<double> numbers_;
};

}  // namespace tellegen
