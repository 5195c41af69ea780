// Trees of a tableau as flat instructions: what the reference integrator evaluates a million times. The same
// meaning as `evaluate` of expression.h gives them; slopes come by going back through what was executed.
#pragma once

#include <utility>
#include <vector>

#include "tests/differential/expression.h"

namespace differential {

class Flat {
 public:
  Flat() = default;
  Flat(const std::vector<TreePtr>& trees, int columns, int discrete);
  std::size_t size() const { return ends_.size(); }
  // Null rates are zeros.
  void set(const double* columns, const double* rates, const double* discrete, double t);
  double value(std::size_t tree);
  // Value, and slopes by columns (0 ...) and rates (columns ...), each at most once.
  double value(std::size_t tree, std::vector<std::pair<int, double>>& slopes);
  // Which way every comparison goes and which piece is taken, in all trees evaluated since it was cleared.
  std::vector<double> pieces;

 private:
  enum class Op {
    add,
    subtract,
    multiply,
    divide,
    power,
    greater,
    greater_equal,
    equal,
    unequal,
    logical_not,
    truth,
    modulo,
    arc_tangent,
    hypotenuse,
    negate,
    absolute,
    choose,  // c where a is true, otherwise b
    function,
    table,
    copy,
    jump,
    jump_unless
  };
  struct Instruction {
    Op op;
    int to, a, b, c;
    double (*f)(double);
    double (*slope)(double);
    const Tree* table;
    bool piecewise;
  };
  int put(Op op, int a, int b = -1, int c = -1);
  int constant(double value);
  int compile(const Tree& tree);
  int branch(int condition, const Tree* then, const Tree* otherwise, double value);
  template <bool trace>
  double execute(std::size_t tree);

  int columns_ = 0, discrete_ = 0;
  std::vector<TreePtr> trees_;  // tables are kept alive
  std::vector<Instruction> code_;
  std::vector<std::pair<int, int>> ends_;  // of each tree: where its code ends, where its value is
  std::vector<double> cells_, back_;
  std::vector<int> trail_, touched_;
};

}  // namespace differential
