// Formulas of columns, t and parameters, with their derivatives: outputs, updates of discrete variables,
// conditions of events.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "tellegen/equations/slopes.h"
#include "tellegen/program/program.h"

namespace tellegen {

class DifferentiatedFormulas {
 public:
  DifferentiatedFormulas(const EquationSystem& system, std::span<const ColumnValue> formulas);
  // In the model's full names; parameters by index into `wrt`.
  DifferentiatedFormulas(const EquationSystem& system, std::span<const Expr> formulas,
                         std::span<const int> wrt);

  struct Slope {
    int formula;
    int of;  // a column of the tableau, or a parameter
    double value;
  };
  void evaluate(std::span<const double> x, double t);
  std::span<const double> values() const { return values_; }
  std::span<const Slope> by_column() const { return by_column_; }
  std::span<const Slope> by_parameter() const { return by_parameter_; }
  std::span<const double> by_time() const { return by_time_; }
  const std::vector<std::int32_t>& columns() const { return columns_; }  // that any of them uses
  std::size_t size() const { return values_.size(); }
  // d(value) of one of them where columns move by dx, time by dt and a parameter (not -1) by 1.
  double along(std::size_t formula, std::span<const double> dx, double dt, int parameter = -1) const;

 private:
  Program program_;
  std::vector<std::int32_t> columns_;
  std::vector<double> registers_, values_, by_time_;
  std::vector<Slope> by_column_, by_parameter_;
};

}  // namespace tellegen
