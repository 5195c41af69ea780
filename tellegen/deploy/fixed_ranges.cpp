// Scenarios, ranges, binary points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/deploy/fixed_numbers.h"

namespace tellegen {
namespace {

double wrapped(double turns) { return turns - std::floor(turns + 0.5); }

// An operation in real numbers.
class RealOps {
 public:
  explicit RealOps(const FixedStep& fixed) : fixed_(fixed), values_(fixed.ops.size(), 0.0) {}
  double& value(int op) { return values_[op]; }
  void run() {
    for (std::size_t k = 0; k < fixed_.ops.size(); ++k)
      if (const FixedOp& op = fixed_.ops[k]; op.kind != OpKind::state && op.kind != OpKind::given) {
        const double v = result(op);
        values_[k] = op.wraps ? wrapped(v) : v;
      }
  }

 private:
  double operand(const FixedOperand& x) const {
    return std::ldexp(x.negative ? -values_[x.op] : values_[x.op], x.exponent);
  }
  // Which cell of its table an argument is in, and how far from its middle.
  std::pair<int, double> cell(const FixedOp& op) const {
    const FixedOp& from = fixed_.ops[op.a.op];
    const double width = from.wraps ? 1.0 : from.number,
                 size = std::exp2(fixed_.tables[op.table].address_bits);
    double u = values_[op.a.op] / width;
    u -= std::floor(u);
    const double k = std::min(std::floor(u * size), size - 1.0);
    return {static_cast<int>(k), (u - (k + 0.5) / size) * width};
  }
  double result(const FixedOp& op) const {
    const double a = op.a.op >= 0 ? operand(op.a) : 0.0, b = op.b.op >= 0 ? operand(op.b) : 0.0;
    switch (op.kind) {
      case OpKind::constant:
        return op.number;
      case OpKind::add:
        return a + b;
      case OpKind::multiply:
        return a * b;
      case OpKind::divide:
        return b == 0.0 ? 0.0 : a / b;
      case OpKind::root:
        return a > 0.0 ? std::sqrt(a) : 0.0;
      case OpKind::table: {
        const auto& entries = fixed_.tables[op.table].entries;
        return entries[static_cast<std::size_t>(cell(op).first + op.first) % entries.size()];
      }
      case OpKind::offset:
        return cell(op).second;
      case OpKind::larger:
        return std::max(a, b);
      case OpKind::smaller:
        return std::min(a, b);
      case OpKind::below:
        return a < b;
      case OpKind::at_most:
        return a <= b;
      case OpKind::both:
        return a != 0.0 && b != 0.0;
      case OpKind::either:
        return a != 0.0 || b != 0.0;
      case OpKind::choice:
        return operand(op.c) != 0.0 ? a : b;
      case OpKind::function:
        return op.function->table ? op.function->table->value(a, op.function->order)
                                  : op.function->call->value(&a, 1);
      case OpKind::state:
      case OpKind::given:
        break;
    }
    return 0.0;
  }

  const FixedStep& fixed_;
  std::vector<double> values_;
};

bool is_comparison(OpKind kind) { return kind >= OpKind::below && kind <= OpKind::either; }

}  // namespace

StepScenario run_scenario(const StraightStep& step, std::int64_t steps, const ExternalValue& external) {
  StepScenario result{.steps = steps,
                      .given_width = step.given.size(),
                      .output_width = step.outputs.size(),
                      .given = {},
                      .outputs = {},
                      .refused = {}};
  std::vector<double> r = first_registers(step), next(step.states.size());
  for (std::int64_t n = 0; n < steps && result.refused.empty(); ++n) {
    const double index = step.first_index + static_cast<double>(n);
    r[step.index] = index;
    for (std::size_t k = 0; k < step.external.size(); ++k) r[step.external[k]] = external(k, index);
    interpret(step.program, StraightStep::sources, r.data());
    interpret(step.program, StraightStep::step, r.data());
    for (const std::int32_t reg : step.given) result.given.push_back(r[reg]);
    for (const std::int32_t reg : step.outputs) result.outputs.push_back(r[reg]);
    for (const StraightStep::Assumption& a : step.assumptions)
      if ((r[a.reg] != 0.0) != a.holds)
        result.refused =
            fmt::format("what a step does depends on values: step {} goes another way than the first", n + 1);
    for (std::size_t k = 0; k < next.size(); ++k) {
      next[k] = r[step.states[k].next];
      if (!std::isfinite(next[k])) result.refused = fmt::format("step {} gives no finite number", n + 1);
    }
    for (std::size_t k = 0; k < next.size(); ++k) r[step.states[k].reg] = next[k];
  }
  return result;
}

std::vector<FixedRange> find_ranges(const FixedStep& fixed, const StraightStep& step,
                                    const StepScenario& scenario) {
  RealOps real(fixed);
  std::vector<FixedRange> ranges(fixed.ops.size());
  std::vector<double> states(fixed.states.size());
  const auto scaled = [](double value, const FixedStep::Word& word) {
    return word.angle ? wrapped(value * word.scale) : value * word.scale;
  };
  for (std::size_t k = 0; k < states.size(); ++k) states[k] = scaled(step.states[k].start, fixed.states[k]);
  for (std::int64_t n = 0; n < scenario.steps; ++n) {
    for (std::size_t k = 0; k < states.size(); ++k) real.value(fixed.states[k].op) = states[k];
    const double* row = scenario.given.data() + static_cast<std::size_t>(n) * scenario.given_width;
    for (const FixedStep::Word& word : fixed.given)
      real.value(word.op) = scaled(row[fixed.ops[word.op].leaf], word);
    real.run();
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const double v = real.value(static_cast<int>(k));
      if (n == 0) ranges[k] = {v, v};
      ranges[k].low = std::min(ranges[k].low, v);
      ranges[k].high = std::max(ranges[k].high, v);
    }
    for (std::size_t k = 0; k < states.size(); ++k) states[k] = real.value(fixed.next[k]);
  }
  return ranges;
}

void set_points(FixedStep& fixed, const std::vector<FixedRange>& ranges, double margin) {
  const int bits = fixed.bits, finest = bits + 40;
  // The largest point at which this size still fits; `limit` where it is 0.
  const auto point_of = [&](double size, int limit) {
    if (!(size > 0.0)) return std::min(limit, bits - 2);
    return std::min(limit, bits - 1 - (std::ilogb(size) + 1));
  };
  // Of a number that is known: it may be rounded up to what a word no longer holds.
  const auto word_point = [&](double size) {
    if (!(size > 0.0)) return bits - 2;
    const int point = bits - 2 - std::ilogb(size);
    return std::llround(std::ldexp(size, point)) >> (bits - 1) ? point - 1 : point;
  };
  for (FixedTable& table : fixed.tables) {
    double largest = 0.0;
    for (const double e : table.entries) largest = std::max(largest, std::abs(e));
    table.point = word_point(largest);
  }
  std::vector<int> given_point(fixed.ops.size(), finest + 1);
  for (std::size_t k = 0; k < fixed.states.size(); ++k) {
    const int op = fixed.states[k].op, next = fixed.next[k];
    const int point = fixed.states[k].angle
                          ? bits
                          : point_of(margin * std::max(ranges[op].size(), ranges[next].size()), finest);
    given_point[op] = given_point[next] = point;
  }
  const auto source = [&](const FixedOperand& x) { return fixed.ops[x.op].point - x.exponent; };
  for (std::size_t k = 0; k < fixed.ops.size(); ++k) {
    FixedOp& op = fixed.ops[k];
    int limit = finest;
    switch (op.kind) {
      case OpKind::constant:
        op.point = word_point(std::abs(op.number));
        continue;
      case OpKind::table:
        op.point = fixed.tables[op.table].point;
        continue;
      case OpKind::offset:
        op.point = fixed.ops[op.a.op].point;
        continue;
      case OpKind::add:
      case OpKind::larger:
      case OpKind::smaller:
      case OpKind::choice:
        limit = std::max(source(op.a), source(op.b));
        break;
      case OpKind::multiply:
        limit = fixed.ops[op.a.op].point + fixed.ops[op.b.op].point;
        break;
      case OpKind::divide:
        limit = bits - 1 + fixed.ops[op.a.op].point - fixed.ops[op.b.op].point;
        break;
      case OpKind::root:
        limit = (bits - 1 + source(op.a)) / 2;
        break;
      default:
        break;
    }
    if (is_comparison(op.kind))
      op.point = 0;
    else if (op.wraps)
      op.point = bits;
    else if (op.kind == OpKind::add && op.number > 0.0)  // the argument of a table
      op.point = bits - 1 - std::ilogb(op.number);
    else if (given_point[k] <= finest)
      op.point = given_point[k];
    else
      op.point = point_of(margin * ranges[k].size(), limit);
  }
}

FixedStep make_fixed(const StepFormulas& formulas, const StraightStep& step, const StepScenario& scenario,
                     const FixedOptions& options) {
  std::map<int, FixedSpan> spans;
  FixedStep fixed = lower_formulas(formulas, options, spans);
  std::vector<FixedRange> ranges = find_ranges(fixed, step, scenario);
  if (!fixed.functions.empty()) {
    for (const auto& [op, node] : fixed.functions) {
      const FixedRange& range = ranges[fixed.ops[op].a.op];
      const double sign = fixed.ops[op].a.negative ? -1.0 : 1.0, by = std::exp2(fixed.ops[op].a.exponent),
                   slack = 0.5 * (options.margin - 1.0) * (range.high - range.low) * by;
      const double x = sign * by * range.low, y = sign * by * range.high;
      spans[node] = {std::min(x, y) - slack, std::max(x, y) + slack};
    }
    // Where a function is read at several places, all read the same tables.
    for (auto& [node, span] : spans)
      for (const auto& [other, reaches] : spans)
        if (formulas.nodes[node].same_function(formulas.nodes[other]))
          span = {std::min(span.low, reaches.low), std::max(span.high, reaches.high)};
    fixed = lower_formulas(formulas, options, spans);
    ranges = find_ranges(fixed, step, scenario);
  }
  set_points(fixed, ranges, options.margin);
  constexpr int rounds = 60;  // a pivot of few digits needs the most
  for (int round = 0; round < rounds; ++round) {
    const FixedPointRun run = run_fixed(fixed, step, scenario);
    if (run.overflows == 0) break;
    const std::int64_t limit = std::int64_t{1} << (fixed.bits - 1);
    for (std::size_t k = 0; k < ranges.size(); ++k)
      if (run.peaks[k] >= limit)
        ranges[k].high =
            std::max(ranges[k].size(), std::ldexp(static_cast<double>(run.peaks[k]), -fixed.ops[k].point));
    set_points(fixed, ranges, options.margin);
  }
  return fixed;
}

}  // namespace tellegen
