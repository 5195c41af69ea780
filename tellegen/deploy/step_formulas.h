// One step as sums, products and functions, in the form that needs few operations in hardware.
//
//   sum       c0 + c1 x1 + c2 x2 + ...   everything linear in between is multiplied out, sums that are
//   factors
//                                        or values at the end of the step are not
//   product   x1 x2                      numbers are factors of the sums that read it
//
// Pairs of terms that occur in several sums, in the same ratio, become sums of their own. Then each sum,
// state and input gets a scale, so that as many factors as possible are powers of two: with fixed binary
// points these cost nothing. Angles count in turns, so that they wrap by themselves.
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/straight_step.h"

namespace tellegen {

struct FormulaTerm {
  int node;
  double factor;
};

struct FormulaNode {
  enum class Kind {
    state,
    given,
    sum,
    product,
    quotient,
    sine,
    cosine,
    root,      // square root
    function,  // of one argument, smooth: `call` or a table
    choice,    // a where c is not 0, otherwise b
    larger,    // of a and b
    smaller,
    below,    // 1 where a < b, otherwise 0
    at_most,  // 1 where a <= b
    both,     // and
    either    // or
  };
  Kind kind;
  std::vector<FormulaTerm> terms = {};  // of a sum
  double constant = 0.0;
  int a = -1, b = -1, c = -1;      // operands of all others
  int leaf = -1;                   // index of the state or given value
  const Function* call = nullptr;  // of a function
  const Table* table = nullptr;    // likewise; with `order`
  int order = 0;
  double scale = 1.0;        // what is computed is this times the value
  bool fixed_scale = false;  // an angle, or an operand that is compared with others
  bool wraps = false;        // an angle in turns that may be off by whole turns

  bool same_function(const FormulaNode& other) const {
    return kind == Kind::function && other.kind == kind && call == other.call && table == other.table &&
           order == other.order;
  }
};

using NodeKind = FormulaNode::Kind;

struct StepFormulas {
  std::vector<FormulaNode> nodes;  // operands first
  std::vector<int> next;           // per state
  std::vector<int> outputs;
  std::string refused;  // an operation that hardware cannot do here; empty: none
};

StepFormulas make_formulas(const StraightStep& step);

// Products with numbers that are left: what scales are chosen for.
int constant_products(const StepFormulas& formulas);

}  // namespace tellegen
