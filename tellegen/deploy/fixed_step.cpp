#include "tellegen/deploy/fixed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>

#include "tellegen/deploy/formula_passes.h"

namespace tellegen {
namespace {

double value_of_function(const FormulaNode& f, double x) {
  return f.table ? f.table->value(x, f.order) : f.call->value(&x, 1);
}

class Lowering {
 public:
  Lowering(const StepFormulas& formulas, const FixedOptions& options, const std::map<int, FixedSpan>& spans)
      : nodes_(formulas.nodes), formulas_(formulas), options_(options), spans_(spans) {
    result_.bits = options.bits;
  }

  FixedStep lower() {
    std::vector<char> is_next(nodes_.size(), 0);
    for (const int n : formulas_.next) is_next[n] = 1;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      rounded_ = is_next[n];
      place_.push_back(lowered(static_cast<int>(n), nodes_[n]));
    }
    result_.next.resize(formulas_.next.size());
    for (std::size_t k = 0; k < formulas_.next.size(); ++k) {
      // A register of its own, whatever else has this value.
      FixedOperand next = place_[formulas_.next[k]];
      const FixedOp& op = result_.ops[next.op];
      if (next.exponent != 0 || next.negative || op.kind <= OpKind::given || used_as_next_[next.op]++ > 0)
        next = moved(next, nodes_[formulas_.next[k]].wraps);
      result_.next[k] = next.op;
    }
    for (const int n : formulas_.outputs) {
      FixedOperand output = place_[n];
      if (output.negative || result_.ops[output.op].kind == OpKind::constant)
        output = moved(output, nodes_[n].wraps);
      result_.output_of.push_back(output);
      result_.outputs.push_back({{}, output.op, nodes_[n].scale, nodes_[n].wraps});
    }
    return std::move(result_);
  }

 private:
  int table_bits() const { return options_.table_bits > 0 ? options_.table_bits : options_.bits; }

  // When a value is there at the earliest.
  int ready(int op) const { return ready_[op]; }

  FixedOperand put(FixedOp op) {
    int start = 0;
    for (const FixedOperand& operand : {op.a, op.b, op.c})
      if (operand.op >= 0) start = std::max(start, ready(operand.op));
    int latency = op.kind <= OpKind::given ? 0 : 1;
    if (op.kind == OpKind::multiply) latency = options_.multiplier_latency;
    if (op.kind == OpKind::divide || op.kind == OpKind::root) latency = options_.bits;
    ready_.push_back(start + latency);
    result_.ops.push_back(op);
    return {static_cast<int>(result_.ops.size()) - 1, 0, false};
  }

  FixedOperand constant(double number) {
    FixedOp op{.kind = OpKind::constant};
    op.number = number;
    return put(op);
  }

  FixedOperand moved(FixedOperand from, bool wraps) {
    FixedOp op{.kind = OpKind::add, .a = from, .b = constant(0.0)};
    op.wraps = wraps;
    return put(op);
  }

  FixedOperand multiplied(FixedOperand a, FixedOperand b) {
    FixedOp op{.kind = OpKind::multiply};
    op.a.op = a.op, op.b.op = b.op;
    FixedOperand result = put(op);
    result.exponent = a.exponent + b.exponent;
    result.negative = a.negative != b.negative;
    return result;
  }

  // A number times a value: a shift where that will do.
  FixedOperand times(FixedOperand x, double factor) {
    int exponent = 0;
    double m = 2.0 * std::frexp(std::abs(factor), &exponent);
    --exponent;
    if (2.0 - m < 1e-12) m = 1.0, ++exponent;
    FixedOperand result = x;
    if (m - 1.0 >= 1e-12) {
      const auto [found, added] = products_.try_emplace({x.op, std::llround(m * 1e11)}, -1);
      if (added) found->second = multiplied({x.op}, constant(m)).op;
      result.op = found->second;
    }
    result.exponent = x.exponent + exponent;
    result.negative = x.negative != (factor < 0.0);
    return result;
  }

  FixedOperand add(FixedOperand x, FixedOperand y, bool wraps) {
    FixedOp op{.kind = OpKind::add, .a = x, .b = y};
    bool negative = false;
    if (x.negative && y.negative) op.a.negative = op.b.negative = false, negative = true;
    op.rounded = rounded_;
    op.wraps = wraps;
    FixedOperand result = put(op);
    result.negative = negative;
    return result;
  }

  FixedOperand sum(const FormulaNode& node) {
    std::vector<FixedOperand> terms;
    for (const FormulaTerm& t : node.terms)
      terms.push_back(times(place_[t.node], t.factor * node.scale / nodes_[t.node].scale));
    if (node.constant != 0.0 || terms.empty()) terms.push_back(constant(node.constant * node.scale));
    while (terms.size() > 1) {  // those first that are there first
      std::stable_sort(terms.begin(), terms.end(), [&](const FixedOperand& x, const FixedOperand& y) {
        return ready(x.op) > ready(y.op);
      });
      const FixedOperand x = terms.back(), y = terms[terms.size() - 2];
      terms.resize(terms.size() - 2);
      terms.push_back(add(x, y, node.wraps));
    }
    return terms[0];
  }

  // c0 + d (c1 + d c2/2), d from the middle of a cell.
  FixedOperand expanded(FixedOperand c0, FixedOperand c1, FixedOperand half_c2, FixedOperand d) {
    return add(c0, multiplied(add(c1, multiplied(half_c2, d), false), d), false);
  }

  // Second order has an error of (cell/2)^3/6 times the third derivative.
  int sine_table() {
    for (std::size_t k = 0; k < result_.tables.size(); ++k)
      if (result_.tables[k].name == "sine") return static_cast<int>(k);
    const double cells = std::numbers::pi * std::exp2(table_bits() / 3.0) / std::cbrt(6.0);
    FixedTable table{.name = "sine", .entries = {}, .address_bits = 0, .shift = 0, .point = 0};
    table.address_bits = std::max(4, static_cast<int>(std::ceil(std::log2(cells))));
    table.shift = options_.bits - table.address_bits;
    const int size = 1 << table.address_bits;
    for (int k = 0; k < size; ++k)
      table.entries.push_back(std::sin(2.0 * std::numbers::pi * (k + 0.5) / size));
    result_.tables.push_back(std::move(table));
    return static_cast<int>(result_.tables.size()) - 1;
  }

  struct Angle {
    FixedOperand sine, cosine, radians;
  };
  // Of the middle of the cell, and what the angle is away from it.
  const Angle& angle(int node) {
    const auto [found, added] = angles_.try_emplace(node);
    if (added) {
      FixedOperand turns = place_[node];
      const FixedOp& source = result_.ops[turns.op];
      if (!source.wraps || turns.exponent != 0 || turns.negative) turns = moved(turns, true);
      FixedOp read{.kind = OpKind::table, .a = turns};
      read.table = sine_table();
      found->second.sine = put(read);
      read.first = 1 << (result_.tables[read.table].address_bits - 2);
      found->second.cosine = put(read);
      read.kind = OpKind::offset;
      found->second.radians = times(put(read), 2.0 * std::numbers::pi);
    }
    return found->second;
  }
  static FixedOperand halved(FixedOperand x, bool negate = false) {
    return {x.op, x.exponent - 1, x.negative != negate};
  }
  static FixedOperand minus(FixedOperand x) { return {x.op, x.exponent, !x.negative}; }

  // Tables of a function and its first two derivatives around the middle of each cell.
  struct Expansion {
    int node, tables;
    double low, width;
  };
  const Expansion& expansion(int n, const FormulaNode& node, const FixedSpan& span) {
    for (const Expansion& e : expansions_)
      if (nodes_[e.node].same_function(node)) return e;
    const double low = span.low, high = std::max(span.high, low + 1e-9);
    // Cells from a rough third derivative, by differences.
    const double width = std::exp2(std::ceil(std::log2(high - low)));
    constexpr int samples = 256;
    double third = 0.0, largest = 0.0;
    const double step = (high - low) / samples;
    const auto f = [&](double x) { return value_of_function(node, std::clamp(x, low, high)); };
    for (int k = 2; k + 2 < samples; ++k) {
      const double x = low + step * k;
      third =
          std::max(third, std::abs(f(x + 2 * step) - 2 * f(x + step) + 2 * f(x - step) - f(x - 2 * step)) /
                              (2.0 * step * step * step));
      largest = std::max(largest, std::abs(f(x)));
    }
    const double wanted =
        0.5 * width * std::cbrt(third * std::exp2(table_bits()) / (6.0 * (largest + 1e-30)));
    const int address_bits = std::clamp(static_cast<int>(std::ceil(std::log2(std::max(wanted, 1.0)))), 3,
                                        std::min(11, options_.bits - 4));
    const int size = 1 << address_bits;
    expansions_.push_back({n, static_cast<int>(result_.tables.size()), low, width});
    const double cell = width / size;
    FixedTable parts[3];
    for (int order = 0; order < 3; ++order) {
      parts[order].name = fmt::format("f{}_{}", n, order);
      parts[order].address_bits = address_bits;
      parts[order].shift = options_.bits - 1 - address_bits;
    }
    for (int k = 0; k < size; ++k) {  // a parabola through the ends and the middle
      const double x = low + cell * (k + 0.5), left = value_of_function(node, std::max(low, x - 0.5 * cell)),
                   middle = value_of_function(node, std::min(x, high + cell)),
                   right = value_of_function(node, std::min(x + 0.5 * cell, high + cell));
      parts[0].entries.push_back(middle);
      parts[1].entries.push_back((right - left) / cell);
      parts[2].entries.push_back(2.0 * (right - 2.0 * middle + left) / (cell * cell));
    }
    for (FixedTable& part : parts) result_.tables.push_back(std::move(part));
    return expansions_.back();
  }

  FixedOperand function(int n, const FormulaNode& node) {
    const auto span = spans_.find(n);
    if (span == spans_.end()) {
      FixedOp op{.kind = OpKind::function, .a = place_[node.a]};
      op.function = &node;
      const FixedOperand result = put(op);
      result_.functions[result.op] = n;
      return result;
    }
    const Expansion& e = expansion(n, node, span->second);
    // 0 <= argument < 1, in units of the width.
    FixedOperand from_low = add(place_[node.a], constant(-e.low), false);
    result_.ops[from_low.op].number = e.width;  // its point is given, not found
    FixedOp read{.kind = OpKind::table, .a = from_low};
    FixedOperand c[3];
    for (int order = 0; order < 3; ++order) {
      read.table = e.tables + order;
      c[order] = put(read);
    }
    read.kind = OpKind::offset;
    read.table = e.tables;
    return expanded(c[0], c[1], c[2], put(read));
  }

  FixedOperand simple(OpKind kind, const FormulaNode& node) {
    FixedOp op{.kind = kind, .a = place_[node.a]};
    if (node.b >= 0) op.b = place_[node.b];
    if (node.c >= 0) op.c = place_[node.c];
    return put(op);
  }

  FixedOperand lowered(int n, const FormulaNode& node) {
    switch (node.kind) {
      case NodeKind::state:
      case NodeKind::given: {
        const bool state = node.kind == NodeKind::state;
        FixedOp op{.kind = state ? OpKind::state : OpKind::given};
        op.leaf = node.leaf;
        op.wraps = node.wraps;
        const FixedOperand result = put(op);
        (state ? result_.states : result_.given).push_back({{}, result.op, node.scale, node.wraps});
        return result;
      }
      case NodeKind::sum:
        return sum(node);
      case NodeKind::product: {
        FixedOperand result = multiplied(place_[node.a], place_[node.b]);
        result.exponent += exponent_between(node.scale, nodes_[node.a].scale * nodes_[node.b].scale);
        return result;
      }
      case NodeKind::quotient: {
        FixedOp op{.kind = OpKind::divide, .a = {place_[node.a].op}, .b = {place_[node.b].op}};
        FixedOperand result = put(op);
        result.exponent = place_[node.a].exponent - place_[node.b].exponent +
                          exponent_between(node.scale, nodes_[node.a].scale / nodes_[node.b].scale);
        result.negative = place_[node.a].negative != place_[node.b].negative;
        return result;
      }
      case NodeKind::sine: {
        const Angle& x = angle(node.a);
        return expanded(x.sine, x.cosine, halved(x.sine, true), x.radians);
      }
      case NodeKind::cosine: {
        const Angle& x = angle(node.a);
        return expanded(x.cosine, minus(x.sine), halved(x.cosine, true), x.radians);
      }
      case NodeKind::root:
        return simple(OpKind::root, node);
      case NodeKind::function:
        return function(n, node);
      case NodeKind::choice:
        return simple(OpKind::choice, node);
      case NodeKind::larger:
        return simple(OpKind::larger, node);
      case NodeKind::smaller:
        return simple(OpKind::smaller, node);
      case NodeKind::below:
        return simple(OpKind::below, node);
      case NodeKind::at_most:
        return simple(OpKind::at_most, node);
      case NodeKind::both:
        return simple(OpKind::both, node);
      case NodeKind::either:
        return simple(OpKind::either, node);
    }
    return {};
  }

  // Scales of products are kept between 1 and 2.
  static int exponent_between(double scale, double computed) {
    return static_cast<int>(std::lround(std::log2(scale / computed)));
  }

  const std::vector<FormulaNode>& nodes_;
  const StepFormulas& formulas_;
  const FixedOptions& options_;
  const std::map<int, FixedSpan>& spans_;
  FixedStep result_;
  std::vector<FixedOperand> place_;  // per node
  std::vector<int> ready_;           // per op
  std::map<std::pair<int, std::int64_t>, int> products_;
  std::map<int, Angle> angles_;
  std::deque<Expansion> expansions_;
  std::map<int, int> used_as_next_;
  bool rounded_ = false;
};

}  // namespace

FixedStep lower_formulas(const StepFormulas& formulas, const FixedOptions& options,
                         const std::map<int, FixedSpan>& spans) {
  return Lowering(formulas, options, spans).lower();
}

}  // namespace tellegen
