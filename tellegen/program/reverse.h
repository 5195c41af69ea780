// Reverse accumulation: from the instructions that compute values, those that compute the derivatives of a
// weighted sum of these by what they were computed from.
//
//   c = a*b:   weight of a += weight of c * b,   weight of b += weight of c * a
//
// A register's weight is the derivative of the sum by it. The instructions are gone through once, from the
// last to the first, so the cost is a few times that of the values, however many derivatives there are; the
// values themselves are read where they are. What a choice has switched off must not leak (0*inf is NaN): a
// weight that a choice may have set to zero is multiplied only where it is not.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tellegen/program/procedure.h"

namespace tellegen {

class ReverseWriter {
 public:
  // `active`: per register of the program, whether what it holds can move; what follows from it can, too.
  // Instructions are written by `write`, behind those of the program; its end() makes them a section.
  ReverseWriter(Program& program, SectionWriter& write, std::vector<char> active);

  bool active(std::int32_t reg) const { return active_[reg]; }
  std::int32_t weight(std::int32_t reg) const { return weights_[reg]; }  // -1: zero
  void add_weight(std::int32_t reg, std::int32_t weight);
  // The reverse of one of the program's own sections; those that ran after it have been reversed before.
  void section(int s);
  void forget();  // all weights

  // What section 0 computes stays the same for many turns: the weights of its registers are added to others,
  // which live on, ...
  using Sums = std::map<std::int32_t, std::int32_t>;  // register, register of its sum
  void gather(Sums& sums);
  // ... and go back through it once. Registers of the weights of these inputs.
  std::vector<std::int32_t> back_to(const std::vector<std::int32_t>& inputs, const Sums& sums);

 private:
  std::int32_t put(Instruction i);
  void instruction(const Instruction& i);
  void by_rule(const Instruction& i);
  void by_table(const Instruction& i);
  void add(std::int32_t reg, std::int32_t term, bool negative = false);
  std::int32_t product(std::int32_t weight, std::int32_t factor);
  std::int32_t quotient(std::int32_t weight, std::int32_t divisor);
  template <class Fn>
  std::int32_t where_not_zero(std::int32_t weight, Fn value);
  bool gated(std::int32_t weight) const {
    return gated_.size() > static_cast<std::size_t>(weight) && gated_[weight];
  }
  void set_gated(std::int32_t weight);

  Program& program_;
  SectionWriter& write_;
  std::vector<char> active_;  // per register that the program had
  std::vector<std::int32_t> weights_;
  std::vector<char> gated_;  // per register: a weight that a choice may have set to zero
  std::map<std::pair<const Function*, std::int32_t>, std::int32_t> known_;  // calls of one argument
  int ran_ = -1;  // the last section whose values are there
};

}  // namespace tellegen
