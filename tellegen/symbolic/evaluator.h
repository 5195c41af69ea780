// Expressions of a few symbols, evaluated again and again: in order, without a hash table, with the bits of
// evaluate().
#pragma once

#include <span>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

class Evaluator {
 public:
  Evaluator() = default;
  // Every symbol of the roots must be among `symbols`; others are NaN.
  Evaluator(std::span<const Expr> roots, std::span<const Expr> symbols);
  void run(std::span<const double> symbols, std::span<double> roots);

 private:
  std::vector<Expr> nodes_;
  std::vector<std::vector<int>> args_;
  std::vector<std::vector<double>> inverse_;  // of a product's factors: a divisor's exponent, or 0
  std::vector<int> roots_, symbols_;
  std::vector<double> values_, at_;
};

}  // namespace tellegen
