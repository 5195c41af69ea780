// Operations written down once and done for many sets of numbers side by side: a value is a row, one number
// for each lane.
//
//   RowList list;
//   const RowValue r = list.input(), g = list.divide(1.0, r);
//   list.require(RowCheck::nonzero, r);
//   list.start(lanes); list.row(r)[lane] = ...; list.run(good);
//
// What follows from no input is computed when it is written down, and is the same number in all lanes. Each
// lane does the operations that an Evaluator, a tape or an interpreted program would do, in their order: its
// numbers are those that it has alone, to the last bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct Function;

struct RowValue {
  RowValue(double value = 0.0) : number(value) {}
  double number;          // where it is the same in all lanes
  std::int32_t row = -1;  // otherwise
  bool varies() const { return row >= 0; }
};

// What must hold in a lane; `above`: a > b, and so on.
enum class RowCheck : std::uint8_t { zero, nonzero, finite, equal, above, at_least };

class RowList {
 public:
  RowValue input();

  RowValue add(RowValue a, RowValue b);
  RowValue subtract(RowValue a, RowValue b);
  RowValue multiply(RowValue a, RowValue b);
  RowValue divide(RowValue a, RowValue b);
  RowValue negate(RowValue a);
  RowValue subtract_product(RowValue a, RowValue b, RowValue c);  // a - b c
  RowValue square_root(RowValue a);
  RowValue raise(RowValue base, RowValue exponent);  // tellegen_pow
  RowValue power(RowValue base, RowValue exponent);  // power_value()
  RowValue call(const Function& function, std::span<const RowValue> arguments);
  RowValue look_up(std::shared_ptr<const Table> table, int order, std::span<const RowValue> arguments);
  // Expressions, with the bits of evaluate(); symbols that have no value are NaN.
  std::vector<RowValue> evaluate(std::span<const Expr> values, const ExprMap<RowValue>& symbols);

  void require(RowCheck what, RowValue a, RowValue b = 0.0);
  void require_cancelling(RowValue a, RowValue b, RowValue c, double rounding);  // a - b c
  void require_share(RowValue a, RowValue b, double share);                      // |a| >= share |b|
  // False: a requirement fails in every lane, or there is an operation that cannot be done in rows.
  bool possible() const { return possible_; }

  void start(int lanes);
  double* row(RowValue v) { return rows_.data() + static_cast<std::size_t>(v.row) * lanes_; }
  void put(RowValue v, double* to);  // one number for each lane
  // good: 0 from now on in lanes where a requirement does not hold.
  void run(std::span<char> good);

 private:
  enum class Code : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    negate,
    subtract_product,
    square_root,
    raise,
    power,
    call,
    look_up,
    check,
    cancels,
    share
  };
  struct Operation {
    Code code;
    std::uint8_t check = 0;
    std::int32_t target = -1;
    std::int32_t operands[3] = {0, 0, 0};  // rows
    std::int32_t count = 0, extra = -1;    // of operands; a function or a table
    int order = 0;
    double number = 0.0;
  };
  RowValue operation(Operation o, std::span<const RowValue> arguments);
  double value(const Operation& o, const double* arguments) const;
  std::int32_t row_of(RowValue v);

  std::vector<Operation> operations_;
  std::int32_t row_count_ = 0;
  int lanes_ = 0;
  std::vector<std::pair<std::int32_t, double>> constants_;  // rows of one number
  std::vector<const Function*> functions_;
  std::vector<std::shared_ptr<const Table>> tables_;
  std::vector<double> rows_;  // [row][lane]
  bool possible_ = true;
};

}  // namespace tellegen
