#include "tellegen/deploy/verilog_units.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {
namespace {

// A word of `width` bits, shifted to the left, as so many bits; what falls off at either end is lost.
std::string shifted(const std::string& x, int width, int left, int bits) {
  if (left <= -width) return fmt::format("{{{}{{{}[{}]}}}}", bits, x, width - 1);
  if (left >= bits) return fmt::format("{}'h0", bits);
  const int low = std::max(0, -left), high = std::min(width - 1, low + bits - std::max(0, left) - 1);
  const int taken = high - low + 1, below = std::max(0, left), above = bits - taken - below;
  std::string text = taken == width ? x : fmt::format("{}[{}:{}]", x, high, low);
  if (above > 0) text = fmt::format("{{{}{{{}[{}]}}}}, {}", above, x, width - 1, text);
  if (below > 0) text += fmt::format(", {}'h0", below);
  return above > 0 || below > 0 ? "{" + text + "}" : text;
}

}  // namespace

std::string UnitPrinter::literal(std::int64_t raw) const {
  return fmt::format("{}'h{}", w_, hex_word(raw, w_));
}

std::string UnitPrinter::word() const { return fmt::format("signed [{}:0]", w_ - 1); }

int UnitPrinter::given_index(int k) const {
  for (std::size_t j = 0; j < fixed_.given.size(); ++j)
    if (fixed_.given[j].op == k) return static_cast<int>(j);
  return -1;
}

std::string UnitPrinter::source(int k, int reader) const {
  const FixedOp& op = fixed_.ops[k];
  return op.kind == OpKind::constant ? literal(constant_raw(op)) : register_of(k, reader);
}

// An operand at the point of `to`.
std::string UnitPrinter::aligned(int to, const FixedOperand& x) const {
  const FixedOp& op = fixed_.ops[to];
  if (fixed_.ops[x.op].kind == OpKind::constant) return literal(aligned_constant(fixed_, op, x));
  return shifted(source(x.op, to), w_, operand_shift(fixed_, op, x), w_);
}

// Likewise wide enough for every shift, and with its sign.
std::string UnitPrinter::wide(int to, const FixedOperand& x) const {
  const FixedOp& op = fixed_.ops[to];
  const int bits = 3 * w_;
  if (fixed_.ops[x.op].kind == OpKind::constant)
    return fmt::format(
        "$signed({}'h{})", bits,
        hex_word(x.negative ? -aligned_constant(fixed_, op, x) : aligned_constant(fixed_, op, x), bits));
  return fmt::format("{}$signed({})", x.negative ? "-" : "",
                     shifted(source(x.op, to), w_, operand_shift(fixed_, op, x), bits));
}

// The bit that rounds a shift to the right, or nothing.
std::string UnitPrinter::round_bit(int to, const FixedOperand& x) const {
  const int bit = rounding_bit(fixed_, fixed_.ops[to], x);
  return bit < 0 ? "" : fmt::format("{}[{}]", source(x.op, to), bit);
}

std::string UnitPrinter::add_operands(int k) const {
  const int unit = schedule_.places[k].unit;
  const auto [p, q] = adder_operands(fixed_, fixed_.ops[k]);
  std::string carry = round_bit(k, q), first = aligned(k, p);
  if (const std::string other = round_bit(k, p); !other.empty())
    first = fmt::format("{} + {{{}'h0, {}}}", first, w_ - 1, other);
  if (q.negative) carry = carry.empty() ? "1'b1" : "~" + carry;
  return fmt::format("        a{0}_p = {1}; a{0}_q = {2}{3}; a{0}_c = {4};\n", unit, first,
                     q.negative ? "~" : "", aligned(k, q), carry.empty() ? "1'b0" : carry);
}

std::string UnitPrinter::divide_operands(int k) const {
  const FixedOp& op = fixed_.ops[k];
  const FixedOp& from = fixed_.ops[op.a.op];
  const int left = result_shift(fixed_, op);
  std::string a = shifted(source(op.a.op, k), w_, left, 2 * w_);
  if (from.kind == OpKind::constant) {
    const std::int64_t raw = constant_raw(from);
    a = fmt::format("{}'h{}", 2 * w_,
                    hex_word(left >= 0 ? raw * (std::int64_t{1} << left) : raw >> -left, 2 * w_));
  }
  return fmt::format("        d{0}_start = 1'b1; d{0}_root = 1'b{1}; d{0}_n = {2}; d{0}_d = {3};\n",
                     schedule_.places[k].unit, op.kind == OpKind::root ? 1 : 0, op.a.negative ? "-" + a : a,
                     op.kind == OpKind::root ? fmt::format("{}'h0", w_) : source(op.b.op, k));
}

std::string UnitPrinter::operands(int k) {
  const FixedOp& op = fixed_.ops[k];
  const int unit = schedule_.places[k].unit;
  switch (unit_of(op.kind)) {
    case UnitKind::multiplier:
      return fmt::format("        m{0}_a = {1}; m{0}_b = {2};\n", unit, source(op.a.op, k),
                         source(op.b.op, k));
    case UnitKind::adder:
      return add_operands(k);
    case UnitKind::table: {
      const FixedTable& table = fixed_.tables[op.table];
      ports_[table.name] = std::max(ports_[table.name], unit + 1);
      return fmt::format("        {}_{}_a = {}[{}:{}]{};\n", table.name, unit, source(op.a.op, k),
                         table.shift + table.address_bits - 1, table.shift,
                         op.first == 0 ? "" : fmt::format(" + {}'d{}", table.address_bits, op.first));
    }
    case UnitKind::divider:
      return divide_operands(k);
    default:
      return {};
  }
}

std::string UnitPrinter::wire_value(int k) const {
  const FixedOp& op = fixed_.ops[k];
  const auto choose = [&](const std::string& condition, const FixedOperand& yes, const FixedOperand& no) {
    return fmt::format("{} ? {} : {}", condition, wide(k, yes), wide(k, no));
  };
  const auto truth = [&](const std::string& condition) {
    return fmt::format("{{{}'h0, {}}}", w_ - 1, condition);
  };
  switch (op.kind) {
    case OpKind::offset: {
      const int shift = fixed_.tables[op.table].shift;
      const std::string a = source(op.a.op, k);
      return fmt::format("{{{{{}{{~{}[{}]}}}}, {}[{}:0]}}", w_ - shift + 1, a, shift - 1, a, shift - 2);
    }
    case OpKind::larger:
      return choose(fmt::format("{} > {}", wide(k, op.a), wide(k, op.b)), op.a, op.b);
    case OpKind::smaller:
      return choose(fmt::format("{} < {}", wide(k, op.a), wide(k, op.b)), op.a, op.b);
    case OpKind::below:
      return truth(fmt::format("({} < {})", wide(k, op.a), wide(k, op.b)));
    case OpKind::at_most:
      return truth(fmt::format("({} <= {})", wide(k, op.a), wide(k, op.b)));
    case OpKind::both:
      return truth(fmt::format("({} != 0 && {} != 0)", source(op.a.op, k), source(op.b.op, k)));
    case OpKind::either:
      return truth(fmt::format("({} != 0 || {} != 0)", source(op.a.op, k), source(op.b.op, k)));
    default:
      return choose(fmt::format("({} != 0)", source(op.c.op, k)), op.a, op.b);
  }
}

std::string UnitPrinter::value(int k) const {
  const FixedOp& op = fixed_.ops[k];
  const int unit = schedule_.places[k].unit;
  switch (unit_of(op.kind)) {
    case UnitKind::multiplier:
      return shifted(fmt::format("m{}_z", unit), 2 * w_, -result_shift(fixed_, op), w_);
    case UnitKind::adder:
      return fmt::format("a{}_s", unit);
    case UnitKind::divider:
      return fmt::format("d{}_z", unit);
    case UnitKind::table:
      return fmt::format("{}_{}_z", fixed_.tables[op.table].name, unit);
    default:
      return wire_value(k);
  }
}

std::string UnitPrinter::declared_units() const {
  std::string out;
  const std::string product = fmt::format("signed [{}:0]", 2 * w_ - 1);
  for (int m = 0; m < schedule_.multipliers; ++m) {
    out +=
        fmt::format("  reg {0} m{1}_a, m{1}_b;\n  wire {2} m{1}_p = m{1}_a * m{1}_b;\n", word(), m, product);
    std::string last = fmt::format("m{}_p", m);
    for (int stage = 1; stage < d_.units.multiplier_latency; ++stage) {
      out += fmt::format("  reg {0} m{1}_{2};\n  always @(posedge clk) m{1}_{2} <= {3};\n", product, m, stage,
                         last);
      last = fmt::format("m{}_{}", m, stage);
    }
    out += fmt::format("  wire {} m{}_z = {};\n", product, m, last);
  }
  for (int a = 0; a < schedule_.adders; ++a)
    out += fmt::format(
        "  reg {0} a{1}_p, a{1}_q;\n  reg a{1}_c;\n"
        "  wire {0} a{1}_s = a{1}_p + a{1}_q + $signed({{{2}'h0, a{1}_c}});\n",
        word(), a, w_ - 1);
  for (int u = 0; u < schedule_.dividers; ++u)
    out += fmt::format(
        "  reg d{0}_start, d{0}_root;\n  reg {1} d{0}_n;\n  reg {2} d{0}_d;\n  wire {2} d{0}_z;\n"
        "  tellegen_divide{4} #(.W({3})) d{0} (clk, d{0}_start, d{0}_root, d{0}_n, d{0}_d, d{0}_z);\n",
        u, product, word(), w_, d_.machines > 0 ? "_pipeline" : "");
  return out;
}

std::string UnitPrinter::idle_units() const {
  std::string out;
  for (int m = 0; m < schedule_.multipliers; ++m)
    out += fmt::format("    m{0}_a = {{{1}{{1'bx}}}}; m{0}_b = {{{1}{{1'bx}}}};\n", m, w_);
  for (int a = 0; a < schedule_.adders; ++a)
    out += fmt::format("    a{0}_p = {{{1}{{1'bx}}}}; a{0}_q = {{{1}{{1'bx}}}}; a{0}_c = 1'bx;\n", a, w_);
  for (int u = 0; u < schedule_.dividers; ++u)
    out += fmt::format(
        "    d{0}_start = 1'b0; d{0}_root = 1'bx; d{0}_n = {{{1}{{1'bx}}}}; d{0}_d = {{{2}{{1'bx}}}};\n", u,
        2 * w_, w_);
  for (const auto& [name, count] : ports_)
    for (int port = 0; port < count; ++port) out += fmt::format("    {}_{}_a = 0;\n", name, port);
  return out;
}

std::string UnitPrinter::declared_tables() {
  std::string out;
  for (const FixedTable& table : fixed_.tables) {
    const int count = ports_[table.name];
    if (count == 0) continue;
    out +=
        fmt::format("  reg signed [{0}:0] {1}_rom [0:{2}];\n  initial $readmemh(\"{3}_{1}.hex\", {1}_rom);\n",
                    w_ - 1, table.name, table.entries.size() - 1, d_.name);
    for (int port = 0; port < count; ++port)
      out += fmt::format(
          "  reg [{0}:0] {1}_{2}_a;\n  reg signed [{3}:0] {1}_{2}_z;\n"
          "  always @(posedge clk) {1}_{2}_z <= {1}_rom[{1}_{2}_a];\n",
          table.address_bits - 1, table.name, port, w_ - 1);
  }
  return out;
}

std::string verilog_case(const std::string& of, int bits, const std::vector<std::string>& statements) {
  std::string out = fmt::format("    case ({})\n", of);
  for (std::size_t c = 0; c < statements.size(); ++c)
    if (!statements[c].empty())
      out += fmt::format("      {}'d{}: begin\n{}      end\n", bits, c, statements[c]);
  return out + "      default: ;\n    endcase\n";
}

std::string hex_word(std::int64_t raw, int bits) {
  std::string digits;
  for (int at = 0; at < bits; at += 4) {
    const std::int64_t part = (at < 64 ? raw >> at : raw >> 63) & 15;
    const int used = std::min(4, bits - at);
    digits.insert(digits.begin(), "0123456789abcdef"[part & ((1 << used) - 1)]);
  }
  return digits;
}

}  // namespace tellegen
