// The numbers of a step in fixed point: what a scenario gives to it, the range and the binary point of every
// signal, and the step itself bit by bit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tellegen/deploy/fixed_step.h"

namespace tellegen {

// The model's own run in double: what goes into every step, and the outputs.
struct StepScenario {
  std::int64_t steps = 0;
  std::size_t given_width = 0, output_width = 0;
  std::vector<double> given, outputs;  // a row for each step
  std::string refused;                 // why a step is not like the others; empty: all are
};

// `external`: value of an input from outside in the step with this index.
using ExternalValue = std::function<double(std::size_t input, double index)>;
StepScenario run_scenario(const StraightStep& step, std::int64_t steps, const ExternalValue& external);

struct FixedRange {
  double low = 0.0, high = 0.0;
  double size() const { return std::max(-low, high); }
};

// Of every operation, in a run with real numbers. `start`: first states (of StraightStep).
std::vector<FixedRange> find_ranges(const FixedStep& fixed, const StraightStep& step,
                                    const StepScenario& scenario);

void set_points(FixedStep& fixed, const std::vector<FixedRange>& ranges, double margin);

// Places by which an operand is shifted to the left (negative: to the right) where `to` reads it.
int operand_shift(const FixedStep& fixed, const FixedOp& to, const FixedOperand& operand);
// Likewise the result of a product (to the right), and the numerator of a quotient or the radicand.
int result_shift(const FixedStep& fixed, const FixedOp& op);
// The bit of an operand that rounds its shift to the right; -1: none does.
int rounding_bit(const FixedStep& fixed, const FixedOp& to, const FixedOperand& operand);
// A sum as hardware makes it, p + q + c or p - q - c with a carry c: q is the one that is subtracted or
// rounded.
struct AdderOperands {
  FixedOperand p, q;
};
AdderOperands adder_operands(const FixedStep& fixed, const FixedOp& sum);
std::int64_t constant_raw(const FixedOp& op);  // at its own point
std::int64_t aligned_constant(const FixedStep& fixed, const FixedOp& to, const FixedOperand& operand);
// Where the function has no value, which is outside of what is read: 0.
std::int64_t table_raw(const FixedTable& table, std::size_t entry);
std::int64_t to_raw(double number, const FixedStep::Word& word, const FixedOp& op, int bits);

// Steps in whole numbers. The C model and the Verilog do the same.
class FixedMachine {
 public:
  FixedMachine(const FixedStep& fixed, const StraightStep& step);
  void step(const std::int64_t* given);  // raw, in the order of FixedStep::given
  std::int64_t state(std::size_t k) const { return raw_[fixed_.states[k].op]; }
  std::int64_t output_raw(std::size_t k) const { return outputs_[k]; }
  double output(std::size_t k) const;  // of the last step, as a number of the model; an angle in turns
  std::int64_t overflows() const { return overflows_; }
  // The largest size of every operation's result so far, before it was cut to a word.
  const std::vector<std::int64_t>& peaks() const { return peaks_; }

 private:
  std::int64_t operand(const FixedOp& to, const FixedOperand& from, bool rounded) const;
  std::int64_t value(const FixedOp& op) const;
  const FixedStep& fixed_;
  std::vector<std::vector<std::int64_t>> tables_;
  std::vector<std::int64_t> raw_, next_, outputs_;
  std::vector<std::int64_t> peaks_;
  std::int64_t overflows_ = 0;
};

struct FixedError {
  double largest = 0.0;  // relative to the largest value; of an angle: in turns
  double scale = 0.0;    // the largest value
};
struct FixedPointRun {
  std::vector<FixedError> errors;  // per output
  std::int64_t overflows = 0;
  std::vector<std::int64_t> peaks;  // per operation, see FixedMachine
};
FixedPointRun run_fixed(const FixedStep& fixed, const StraightStep& step, const StepScenario& scenario);

// All of it: operations with points for this scenario. What is a difference of nearly equal numbers is larger
// in fixed point than in real numbers: ranges grow until nothing overflows, where that can be.
FixedStep make_fixed(const StepFormulas& formulas, const StraightStep& step, const StepScenario& scenario,
                     const FixedOptions& options);

}  // namespace tellegen
