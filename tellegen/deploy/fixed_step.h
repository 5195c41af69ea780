// One step in fixed point: operations on words of one length, each with a binary point of its own.
//
//   number = raw 2^-point,  -2^(bits-1) <= raw < 2^(bits-1)
//
// An operand is shifted by a number of places that is known beforehand, so that points fit. Shifts to the
// right round down; where `rounded` is set, to the nearest. Sines and other functions are read from tables
// and expanded to second order around the middle of each cell.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tellegen/deploy/step_formulas.h"

namespace tellegen {

struct FixedOperand {
  int op = -1;
  int exponent = 0;  // it counts 2^exponent times
  bool negative = false;
};

struct FixedOp {
  enum class Kind {
    constant,
    state,
    given,
    add,       // a + b
    multiply,  // a b
    divide,    // a/b, towards 0; 0 where b is 0
    root,      // square root of a, down; 0 where a is negative
    table,     // of a: entry ((raw >> shift) + first) mod size
    offset,    // of a from the middle of its cell
    larger,
    smaller,
    below,
    at_most,
    both,
    either,
    choice,   // a where c is not 0, otherwise b
    function  // exact; for finding ranges only
  };
  Kind kind;
  FixedOperand a = {}, b = {}, c = {};
  double number = 0.0;  // of a constant
  int leaf = -1;        // of a state or given value
  int table = -1;       // of a table or offset
  int first = 0;        // see `table`
  const FormulaNode* function = nullptr;
  bool rounded = false, wraps = false;
  int point = 0;
};

using OpKind = FixedOp::Kind;

struct FixedTable {
  std::string name;
  std::vector<double> entries;
  int address_bits = 0;
  int shift = 0;  // of raw arguments
  int point = 0;
};

// What lies between the least and the largest value of an argument.
struct FixedSpan {
  double low, high;
};

struct FixedStep {
  struct Word {
    std::string name;
    int op;        // that has its value
    double scale;  // number times this is what is computed
    bool angle;    // in turns, wraps
  };
  int bits = 27;
  std::vector<FixedOp> ops;  // operands first
  std::vector<FixedTable> tables;
  std::vector<Word> states, given, outputs;  // given: those of StraightStep that are used; see `leaf`
  std::vector<int> next;                     // op per state
  std::vector<FixedOperand> output_of;       // per output; it may count a power of two times
  std::map<int, int> functions;              // op of kind function -> node, while ranges are looked for
};

struct FixedOptions {
  int bits = 27;
  double margin = 1.3;
  int multiplier_latency = 1;  // sums are built in the order in which their terms arrive
  int table_bits = 0;          // that tables are good for; 0: as many as words have
};

// Operations without points. `spans`: of arguments, by node; without them functions stay exact.
FixedStep lower_formulas(const StepFormulas& formulas, const FixedOptions& options,
                         const std::map<int, FixedSpan>& spans);

}  // namespace tellegen
