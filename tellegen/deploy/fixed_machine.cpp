// A step in whole numbers.
#include <algorithm>
#include <cmath>

#include "tellegen/deploy/fixed_numbers.h"

namespace tellegen {
namespace {

std::int64_t shifted(std::int64_t x, int left, bool rounded) {
  if (left >= 0) return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << std::min(left, 63));
  const int right = std::min(-left, 62);
  return (rounded ? x + (std::int64_t{1} << (right - 1)) : x) >> right;
}

std::int64_t sign_extended(std::int64_t x, int bits) {
  const int unused = 64 - bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << unused) >> unused;
}

std::int64_t whole_root(std::int64_t x) {
  if (x <= 0) return 0;
  auto r = static_cast<std::int64_t>(std::sqrt(static_cast<double>(x)));
  while (r * r > x) --r;
  while ((r + 1) * (r + 1) <= x) ++r;
  return r;
}

// Comparisons are made at the finer of two points.
int compared_point(const FixedStep& fixed, const FixedOp& op) {
  return std::max(fixed.ops[op.a.op].point - op.a.exponent, fixed.ops[op.b.op].point - op.b.exponent);
}

}  // namespace

int operand_shift(const FixedStep& fixed, const FixedOp& to, const FixedOperand& operand) {
  const bool compares = to.kind == OpKind::below || to.kind == OpKind::at_most;
  const int point = compares ? compared_point(fixed, to) : to.point;
  return point - fixed.ops[operand.op].point + operand.exponent;
}

int result_shift(const FixedStep& fixed, const FixedOp& op) {
  const int a = fixed.ops[op.a.op].point;
  if (op.kind == OpKind::multiply) return a + fixed.ops[op.b.op].point - op.point;
  if (op.kind == OpKind::divide) return op.point - a + fixed.ops[op.b.op].point;
  return 2 * op.point - a + op.a.exponent;  // root
}

int rounding_bit(const FixedStep& fixed, const FixedOp& to, const FixedOperand& operand) {
  const int right = -operand_shift(fixed, to, operand);
  if (!to.rounded || right <= 0 || fixed.ops[operand.op].kind == OpKind::constant) return -1;
  return std::min(right, fixed.bits) - 1;
}

AdderOperands adder_operands(const FixedStep& fixed, const FixedOp& sum) {
  if (sum.a.negative || (!sum.b.negative && rounding_bit(fixed, sum, sum.a) >= 0)) return {sum.b, sum.a};
  return {sum.a, sum.b};
}

std::int64_t constant_raw(const FixedOp& op) { return std::llround(std::ldexp(op.number, op.point)); }

std::int64_t aligned_constant(const FixedStep& fixed, const FixedOp& to, const FixedOperand& operand) {
  const FixedOp& from = fixed.ops[operand.op];
  return std::llround(std::ldexp(from.number, from.point + operand_shift(fixed, to, operand)));
}

std::int64_t table_raw(const FixedTable& table, std::size_t entry) {
  const double number = table.entries[entry];
  return std::isfinite(number) ? std::llround(std::ldexp(number, table.point)) : 0;
}

std::int64_t to_raw(double number, const FixedStep::Word& word, const FixedOp& op, int bits) {
  double scaled = number * word.scale;
  if (word.angle) scaled -= std::floor(scaled + 0.5);
  const std::int64_t raw = std::llround(std::ldexp(scaled, op.point));
  if (word.angle) return sign_extended(raw, bits);
  const std::int64_t largest = (std::int64_t{1} << (bits - 1)) - 1;
  return std::clamp(raw, -largest - 1, largest);
}

FixedMachine::FixedMachine(const FixedStep& fixed, const StraightStep& step)
    : fixed_(fixed),
      raw_(fixed.ops.size(), 0),
      next_(fixed.next.size()),
      outputs_(fixed.outputs.size()),
      peaks_(fixed.ops.size(), 0) {
  for (const FixedTable& table : fixed.tables) {
    tables_.emplace_back();
    for (std::size_t k = 0; k < table.entries.size(); ++k) tables_.back().push_back(table_raw(table, k));
  }
  for (std::size_t k = 0; k < fixed.states.size(); ++k) {
    const FixedStep::Word& word = fixed.states[k];
    raw_[word.op] = to_raw(step.states[k].start, word, fixed.ops[word.op], fixed.bits);
  }
  for (std::size_t k = 0; k < fixed.ops.size(); ++k)
    if (fixed.ops[k].kind == OpKind::constant) raw_[k] = constant_raw(fixed.ops[k]);
}

std::int64_t FixedMachine::operand(const FixedOp& to, const FixedOperand& from, bool rounded) const {
  const std::int64_t value = fixed_.ops[from.op].kind == OpKind::constant
                                 ? aligned_constant(fixed_, to, from)
                                 : shifted(raw_[from.op], operand_shift(fixed_, to, from), rounded);
  return from.negative ? -value : value;
}

std::int64_t FixedMachine::value(const FixedOp& op) const {
  switch (op.kind) {
    case OpKind::add:
      return operand(op, op.a, op.rounded) + operand(op, op.b, op.rounded);
    case OpKind::multiply:
      return shifted(raw_[op.a.op] * raw_[op.b.op], -result_shift(fixed_, op), false);
    case OpKind::divide: {
      const std::int64_t b = raw_[op.b.op];
      return b == 0 ? 0 : shifted(raw_[op.a.op], result_shift(fixed_, op), false) / b;
    }
    case OpKind::root:
      return whole_root(
          shifted(op.a.negative ? -raw_[op.a.op] : raw_[op.a.op], result_shift(fixed_, op), false));
    case OpKind::table: {
      const FixedTable& table = fixed_.tables[op.table];
      const auto size = static_cast<std::int64_t>(table.entries.size());
      return tables_[op.table]
                    [static_cast<std::size_t>(((raw_[op.a.op] >> table.shift) + op.first) & (size - 1))];
    }
    case OpKind::offset: {
      const int shift = fixed_.tables[op.table].shift;
      return (raw_[op.a.op] & ((std::int64_t{1} << shift) - 1)) - (std::int64_t{1} << (shift - 1));
    }
    case OpKind::larger:
      return std::max(operand(op, op.a, false), operand(op, op.b, false));
    case OpKind::smaller:
      return std::min(operand(op, op.a, false), operand(op, op.b, false));
    case OpKind::below:
      return operand(op, op.a, false) < operand(op, op.b, false);
    case OpKind::at_most:
      return operand(op, op.a, false) <= operand(op, op.b, false);
    case OpKind::both:
      return raw_[op.a.op] != 0 && raw_[op.b.op] != 0;
    case OpKind::either:
      return raw_[op.a.op] != 0 || raw_[op.b.op] != 0;
    case OpKind::choice:
      return raw_[op.c.op] != 0 ? operand(op, op.a, false) : operand(op, op.b, false);
    default:
      return 0;
  }
}

void FixedMachine::step(const std::int64_t* given) {
  for (std::size_t k = 0; k < fixed_.given.size(); ++k) raw_[fixed_.given[k].op] = given[k];
  const std::int64_t limit = std::int64_t{1} << (fixed_.bits - 1);
  for (std::size_t k = 0; k < fixed_.ops.size(); ++k) {
    const FixedOp& op = fixed_.ops[k];
    if (op.kind <= OpKind::given) continue;
    const std::int64_t exact = value(op);
    raw_[k] = sign_extended(exact, fixed_.bits);
    if (op.wraps) continue;
    peaks_[k] = std::max(peaks_[k], exact < 0 ? -exact : exact);
    overflows_ += exact < -limit || exact >= limit;
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) outputs_[k] = raw_[fixed_.outputs[k].op];
  for (std::size_t k = 0; k < next_.size(); ++k) next_[k] = raw_[fixed_.next[k]];
  for (std::size_t k = 0; k < next_.size(); ++k) raw_[fixed_.states[k].op] = next_[k];
}

double FixedMachine::output(std::size_t k) const {
  const FixedStep::Word& word = fixed_.outputs[k];
  const double scaled =
      std::ldexp(static_cast<double>(outputs_[k]), fixed_.output_of[k].exponent - fixed_.ops[word.op].point);
  return word.angle ? scaled : scaled / word.scale;
}

FixedPointRun run_fixed(const FixedStep& fixed, const StraightStep& step, const StepScenario& scenario) {
  FixedMachine machine(fixed, step);
  FixedPointRun result;
  result.errors.resize(fixed.outputs.size());
  std::vector<std::int64_t> given(fixed.given.size());
  for (std::int64_t n = 0; n < scenario.steps; ++n) {
    const double* row = scenario.given.data() + static_cast<std::size_t>(n) * scenario.given_width;
    const double* wanted = scenario.outputs.data() + static_cast<std::size_t>(n) * scenario.output_width;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const FixedOp& op = fixed.ops[fixed.given[k].op];
      given[k] = to_raw(row[op.leaf], fixed.given[k], op, fixed.bits);
    }
    machine.step(given.data());
    for (std::size_t k = 0; k < result.errors.size(); ++k) {
      const FixedStep::Word& word = fixed.outputs[k];
      double error = machine.output(k) - (word.angle ? wanted[k] * word.scale : wanted[k]);
      if (word.angle) error -= std::round(error);
      FixedError& e = result.errors[k];
      e.largest = std::max(e.largest, std::abs(error));
      e.scale = std::max(e.scale, std::abs(wanted[k]));
    }
  }
  for (std::size_t k = 0; k < result.errors.size(); ++k)
    if (!fixed.outputs[k].angle && result.errors[k].scale > 0.0)
      result.errors[k].largest /= result.errors[k].scale;
  result.overflows = machine.overflows();
  result.peaks = machine.peaks();
  return result;
}

}  // namespace tellegen
