// Arithmetic that is done once and can be done again with other numbers.
//
// An elimination chooses its pivots by size and drops what cancels; everything else it does is the same for
// all numbers. Recorded, it is a function of them. Done again it also looks whether the choices still hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tellegen/symbolic/row_list.h"

namespace tellegen {

// A number, and where the tape keeps it. Slot -1: not recorded, or the same whatever the inputs are.
struct Traced {
  double value = 0.0;
  std::int32_t slot = -1;
};

class Tape {
 public:
  explicit Tape(bool records) : records_(records) {}
  bool records() const { return records_; }

  Traced input(double value);
  Traced add(Traced a, Traced b);
  Traced multiply(Traced a, Traced b);
  Traced subtract_product(Traced a, Traced b, Traced c);  // a - b c
  Traced invert(Traced a);

  // What the elimination relied on.
  void is_zero(Traced a);                      // exactly
  void cancels(Traced a, Traced b, Traced c);  // a - b c, but for rounding
  void is_large_among(Traced a, std::span<const Traced> others);

  // With other inputs, in the order they came. False where what was relied on does not hold.
  bool replay(std::span<const double> inputs);
  double value(std::int32_t slot) const { return values_[slot]; }
  // The same as operations of a list: what stands in every slot.
  std::vector<RowValue> write(RowList& list, std::span<const RowValue> inputs) const;

 private:
  enum class Code : std::uint8_t { add, multiply, subtract_product, invert, is_zero, cancels, is_large };
  struct Operation {
    Code code;
    std::int32_t target, a, b, c;
  };
  std::int32_t slot_of(Traced a);
  Traced record(Code code, double value, Traced a, Traced b = {}, Traced c = {});
  bool constant(Traced a) const { return !records_ || a.slot < 0; }

  bool records_;
  std::vector<double> values_;
  std::vector<std::int32_t> inputs_;  // slots
  std::vector<Operation> operations_;
};

}  // namespace tellegen
