// The step as a Verilog module: a counter of cycles, units whose operands follow from it, registers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "tellegen/deploy/hardware_design.h"

namespace tellegen {
namespace {

class ModulePrinter {
 public:
  explicit ModulePrinter(const HardwareDesign& design)
      : d_(design), fixed_(design.fixed), schedule_(design.schedule), w_(design.bits()) {}

  std::string print() {
    collect();
    declare();
    operands();
    tables();
    registers();
    return out_ + "endmodule\n";
  }

 private:
  struct Cycle {
    std::string operands, writes;
  };

  std::string source(int k) const {
    const FixedOp& op = fixed_.ops[k];
    const HardwareSchedule::Place& p = schedule_.places[k];
    if (op.kind == OpKind::constant) return literal(constant_raw(op));
    if (op.kind == OpKind::state) return fmt::format("x{}", op.leaf);
    if (op.kind == OpKind::given) return fmt::format("u{}", given_index(k));
    if (p.state >= 0 && !schedule_.copied[p.state]) return fmt::format("x{}", p.state);
    return fmt::format("r{}", p.reg);
  }
  int given_index(int k) const {
    for (std::size_t j = 0; j < fixed_.given.size(); ++j)
      if (fixed_.given[j].op == k) return static_cast<int>(j);
    return -1;
  }
  std::string literal(std::int64_t raw) const { return fmt::format("{}'h{}", w_, hex_word(raw, w_)); }

  // A word of `width` bits, shifted to the left, as so many bits; what falls off at either end is lost.
  static std::string shifted(const std::string& x, int width, int left, int bits) {
    if (left <= -width) return fmt::format("{{{}{{{}[{}]}}}}", bits, x, width - 1);
    if (left >= bits) return fmt::format("{}'h0", bits);
    const int low = std::max(0, -left), high = std::min(width - 1, low + bits - std::max(0, left) - 1);
    const int taken = high - low + 1, below = std::max(0, left), above = bits - taken - below;
    std::string text = taken == width ? x : fmt::format("{}[{}:{}]", x, high, low);
    if (above > 0) text = fmt::format("{{{}{{{}[{}]}}}}, {}", above, x, width - 1, text);
    if (below > 0) text += fmt::format(", {}'h0", below);
    return above > 0 || below > 0 ? "{" + text + "}" : text;
  }

  // An operand at the point of `to`.
  std::string aligned(const FixedOp& to, const FixedOperand& x) const {
    if (fixed_.ops[x.op].kind == OpKind::constant) return literal(aligned_constant(fixed_, to, x));
    return shifted(source(x.op), w_, operand_shift(fixed_, to, x), w_);
  }
  // Likewise wide enough for every shift, and with its sign.
  std::string wide(const FixedOp& to, const FixedOperand& x) const {
    const int bits = 3 * w_;
    if (fixed_.ops[x.op].kind == OpKind::constant)
      return fmt::format(
          "$signed({}'h{})", bits,
          hex_word(x.negative ? -aligned_constant(fixed_, to, x) : aligned_constant(fixed_, to, x), bits));
    return fmt::format("{}$signed({})", x.negative ? "-" : "",
                       shifted(source(x.op), w_, operand_shift(fixed_, to, x), bits));
  }

  // The bit that rounds a shift to the right, or nothing.
  std::string round_bit(const FixedOp& to, const FixedOperand& x) const {
    const int bit = rounding_bit(fixed_, to, x);
    return bit < 0 ? "" : fmt::format("{}[{}]", source(x.op), bit);
  }

  void add_operands(const FixedOp& op, int unit, std::string& out) const {
    const auto [p, q] = adder_operands(fixed_, op);
    std::string carry = round_bit(op, q), first = aligned(op, p);
    if (const std::string other = round_bit(op, p); !other.empty())
      first = fmt::format("{} + {{{}'h0, {}}}", first, w_ - 1, other);
    if (q.negative) carry = carry.empty() ? "1'b1" : "~" + carry;
    out += fmt::format("        a{0}_p = {1}; a{0}_q = {2}{3}; a{0}_c = {4};\n", unit, first,
                       q.negative ? "~" : "", aligned(op, q), carry.empty() ? "1'b0" : carry);
  }

  std::string wire_value(const FixedOp& op) const {
    const auto choose = [&](const std::string& condition, const FixedOperand& yes, const FixedOperand& no) {
      return fmt::format("{} ? {} : {}", condition, wide(op, yes), wide(op, no));
    };
    const auto truth = [&](const std::string& condition) {
      return fmt::format("{{{}'h0, {}}}", w_ - 1, condition);
    };
    switch (op.kind) {
      case OpKind::offset: {
        const int shift = fixed_.tables[op.table].shift;
        const std::string a = source(op.a.op);
        return fmt::format("{{{{{}{{~{}[{}]}}}}, {}[{}:0]}}", w_ - shift + 1, a, shift - 1, a, shift - 2);
      }
      case OpKind::larger:
        return choose(fmt::format("{} > {}", wide(op, op.a), wide(op, op.b)), op.a, op.b);
      case OpKind::smaller:
        return choose(fmt::format("{} < {}", wide(op, op.a), wide(op, op.b)), op.a, op.b);
      case OpKind::below:
        return truth(fmt::format("({} < {})", wide(op, op.a), wide(op, op.b)));
      case OpKind::at_most:
        return truth(fmt::format("({} <= {})", wide(op, op.a), wide(op, op.b)));
      case OpKind::both:
        return truth(fmt::format("({} != 0 && {} != 0)", source(op.a.op), source(op.b.op)));
      case OpKind::either:
        return truth(fmt::format("({} != 0 || {} != 0)", source(op.a.op), source(op.b.op)));
      default:
        return choose(fmt::format("({} != 0)", source(op.c.op)), op.a, op.b);
    }
  }

  // What is written at the end of an operation.
  std::string value(int k) const {
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
        return wire_value(op);
    }
  }

  void collect() {
    cycles_.resize(static_cast<std::size_t>(schedule_.cycles));
    for (std::size_t n = 0; n < fixed_.ops.size(); ++n) {
      const int k = static_cast<int>(n);
      const FixedOp& op = fixed_.ops[n];
      const HardwareSchedule::Place& p = schedule_.places[n];
      if (p.start < 0) continue;
      std::string& out = cycles_[p.start].operands;
      switch (unit_of(op.kind)) {
        case UnitKind::multiplier:
          out +=
              fmt::format("        m{0}_a = {1}; m{0}_b = {2};\n", p.unit, source(op.a.op), source(op.b.op));
          break;
        case UnitKind::adder:
          add_operands(op, p.unit, out);
          break;
        case UnitKind::table: {
          const FixedTable& table = fixed_.tables[op.table];
          out += fmt::format("        {}_{}_a = {}[{}:{}]{};\n", table.name, p.unit, source(op.a.op),
                             table.shift + table.address_bits - 1, table.shift,
                             op.first == 0 ? "" : fmt::format(" + {}'d{}", table.address_bits, op.first));
          ports_[table.name] = std::max(ports_[table.name], p.unit + 1);
          break;
        }
        case UnitKind::divider: {
          const FixedOp& from = fixed_.ops[op.a.op];
          const int left = result_shift(fixed_, op);
          std::string a = shifted(source(op.a.op), w_, left, 2 * w_);
          if (from.kind == OpKind::constant) {
            const std::int64_t raw = constant_raw(from);
            a = fmt::format("{}'h{}", 2 * w_,
                            hex_word(left >= 0 ? raw * (std::int64_t{1} << left) : raw >> -left, 2 * w_));
          }
          out += fmt::format("        d{0}_start = 1'b1; d{0}_root = 1'b{1}; d{0}_n = {2}; d{0}_d = {3};\n",
                             p.unit, op.kind == OpKind::root ? 1 : 0, op.a.negative ? "-" + a : a,
                             op.kind == OpKind::root ? fmt::format("{}'h0", w_) : source(op.b.op));
          break;
        }
        default:
          break;
      }
      std::string& writes = cycles_[p.write].writes;
      const std::string result = value(k);
      if (p.state >= 0 && !schedule_.copied[p.state])
        writes += fmt::format("        x{} <= {};\n", p.state, result);
      else if (p.reg >= 0)
        writes += fmt::format("        r{} <= {};\n", p.reg, result);
      for (std::size_t y = 0; y < fixed_.outputs.size(); ++y)
        if (fixed_.outputs[y].op == k)
          writes += fmt::format("        {} <= {};\n", d_.output_ports[y], result);
    }
    for (std::size_t y = 0; y < fixed_.outputs.size(); ++y)
      if (const int k = fixed_.outputs[y].op; unit_of(fixed_.ops[k].kind) == UnitKind::none)
        cycles_[0].writes += fmt::format("        {} <= {};\n", d_.output_ports[y], source(k));
    for (std::size_t s = 0; s < schedule_.copied.size(); ++s)
      if (schedule_.copied[s])
        cycles_.back().writes +=
            fmt::format("        x{} <= r{};\n", s, schedule_.places[fixed_.next[s]].reg);
  }

  void declare() {
    const std::string word = fmt::format("signed [{}:0]", w_ - 1);
    out_ = fmt::format(
        "// {}: one step of {:g} s by {} in {} clock cycles.\n"
        "// start: takes a step, while it rests; hold the inputs u* until done. done: for one cycle, when "
        "the\n"
        "// states x* and the outputs y_* are there. README.md has the meaning of each word.\n"
        "module {} (\n  input wire clk,\n  input wire reset,\n  input wire start,\n  output reg done",
        d_.title, d_.step_seconds, d_.method, schedule_.cycles, d_.name);
    for (std::size_t k = 0; k < fixed_.given.size(); ++k)
      out_ += fmt::format(",\n  input wire {} u{}", word, k);
    for (const std::string& port : d_.output_ports) out_ += fmt::format(",\n  output reg {} {}", word, port);
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      out_ += fmt::format(",\n  output reg {} x{}", word, k);
    out_ += "\n);\n\n";
    cycle_bits_ = std::bit_width(static_cast<unsigned>(std::max(1, schedule_.cycles - 1)));
    out_ += fmt::format("  reg [{}:0] cycle;\n", cycle_bits_ - 1);
    for (int r = 0; r < schedule_.registers; ++r) out_ += fmt::format("  reg {} r{};\n", word, r);
    const std::string product = fmt::format("signed [{}:0]", 2 * w_ - 1);
    for (int m = 0; m < schedule_.multipliers; ++m) {
      out_ +=
          fmt::format("  reg {0} m{1}_a, m{1}_b;\n  wire {2} m{1}_p = m{1}_a * m{1}_b;\n", word, m, product);
      std::string last = fmt::format("m{}_p", m);
      for (int stage = 1; stage < d_.units.multiplier_latency; ++stage) {
        out_ += fmt::format("  reg {0} m{1}_{2};\n  always @(posedge clk) m{1}_{2} <= {3};\n", product, m,
                            stage, last);
        last = fmt::format("m{}_{}", m, stage);
      }
      out_ += fmt::format("  wire {} m{}_z = {};\n", product, m, last);
    }
    for (int a = 0; a < schedule_.adders; ++a)
      out_ += fmt::format(
          "  reg {0} a{1}_p, a{1}_q;\n  reg a{1}_c;\n"
          "  wire {0} a{1}_s = a{1}_p + a{1}_q + $signed({{{2}'h0, a{1}_c}});\n",
          word, a, w_ - 1);
    for (int u = 0; u < schedule_.dividers; ++u)
      out_ += fmt::format(
          "  reg d{0}_start, d{0}_root;\n  reg {1} d{0}_n;\n  reg {2} d{0}_d;\n  wire {2} d{0}_z;\n"
          "  tellegen_divide #(.W({3})) d{0} (clk, d{0}_start, d{0}_root, d{0}_n, d{0}_d, d{0}_z);\n",
          u, product, word, w_);
  }

  void operands() {
    out_ += "\n  always @* begin\n";
    for (int m = 0; m < schedule_.multipliers; ++m)
      out_ += fmt::format("    m{0}_a = {{{1}{{1'bx}}}}; m{0}_b = {{{1}{{1'bx}}}};\n", m, w_);
    for (int a = 0; a < schedule_.adders; ++a)
      out_ += fmt::format("    a{0}_p = {{{1}{{1'bx}}}}; a{0}_q = {{{1}{{1'bx}}}}; a{0}_c = 1'bx;\n", a, w_);
    for (int u = 0; u < schedule_.dividers; ++u)
      out_ += fmt::format(
          "    d{0}_start = 1'b0; d{0}_root = 1'bx; d{0}_n = {{{1}{{1'bx}}}}; d{0}_d = {{{2}{{1'bx}}}};\n", u,
          2 * w_, w_);
    for (const auto& [name, count] : ports_)
      for (int port = 0; port < count; ++port) out_ += fmt::format("    {}_{}_a = 0;\n", name, port);
    out_ += "    case (cycle)\n";
    for (std::size_t c = 0; c < cycles_.size(); ++c)
      if (!cycles_[c].operands.empty())
        out_ += fmt::format("      {}'d{}: begin\n{}      end\n", cycle_bits_, c, cycles_[c].operands);
    out_ += "      default: ;\n    endcase\n  end\n\n";
  }

  void tables() {
    std::string declared;
    for (const FixedTable& table : fixed_.tables) {
      const int count = ports_[table.name];
      if (count == 0) continue;
      declared += fmt::format(
          "  reg signed [{0}:0] {1}_rom [0:{2}];\n  initial $readmemh(\"{3}_{1}.hex\", {1}_rom);\n", w_ - 1,
          table.name, table.entries.size() - 1, d_.name);
      for (int port = 0; port < count; ++port)
        declared += fmt::format(
            "  reg [{0}:0] {1}_{2}_a;\n  reg signed [{3}:0] {1}_{2}_z;\n"
            "  always @(posedge clk) {1}_{2}_z <= {1}_rom[{1}_{2}_a];\n",
            table.address_bits - 1, table.name, port, w_ - 1);
    }
    out_.insert(out_.find("\n  always @* begin"), declared);
  }

  void registers() {
    out_ += "  always @(posedge clk) begin\n    done <= 1'b0;\n    if (reset) begin\n      cycle <= 0;\n";
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      out_ += fmt::format("      x{} <= {};\n", k, literal(d_.start[k]));
    out_ += fmt::format(
        "    end else if (start || cycle != 0) begin\n"
        "      cycle <= cycle == {0}'d{1} ? {0}'d0 : cycle + {0}'d1;\n      done <= cycle == {0}'d{1};\n"
        "      case (cycle)\n",
        cycle_bits_, schedule_.cycles - 1);
    for (std::size_t c = 0; c < cycles_.size(); ++c)
      if (!cycles_[c].writes.empty())
        out_ += fmt::format("      {}'d{}: begin\n{}      end\n", cycle_bits_, c, cycles_[c].writes);
    out_ += "      default: ;\n      endcase\n    end\n  end\n";
  }

  const HardwareDesign& d_;
  const FixedStep& fixed_;
  const HardwareSchedule& schedule_;
  const int w_;
  int cycle_bits_ = 1;
  std::vector<Cycle> cycles_;
  std::map<std::string, int> ports_;
  std::string out_;
};

}  // namespace

std::string hex_word(std::int64_t raw, int bits) {
  std::string digits;
  for (int at = 0; at < bits; at += 4) {
    const std::int64_t part = (at < 64 ? raw >> at : raw >> 63) & 15;
    const int used = std::min(4, bits - at);
    digits.insert(digits.begin(), "0123456789abcdef"[part & ((1 << used) - 1)]);
  }
  return digits;
}

std::string verilog_module(const HardwareDesign& design) { return ModulePrinter(design).print(); }

std::string verilog_divider() {
  return R"(// Quotient (towards 0; 0 where d is 0) or square root (down; 0 where n is negative), one bit a cycle: the
// result is there W cycles after the one with start.
module tellegen_divide #(parameter W = 27) (
  input wire clk,
  input wire start,
  input wire root,
  input wire signed [2*W-1:0] n,
  input wire signed [W-1:0] d,
  output wire signed [W-1:0] z
);
  reg mode, negative;
  reg [W-1:0] divisor;
  reg [W:0] rest;       // less than the divisor, or than twice the root
  reg [2*W-3:0] digits; // of n that are still to come
  reg [W-2:0] result;
  wire [2*W-1:0] size = n[2*W-1] ? (root ? {2*W{1'b0}} : -n) : n;
  wire [W+1:0] brought = mode ? {rest[W-1:0], digits[2*W-3:2*W-4]} : {rest, digits[2*W-3]};
  wire [W+1:0] tried = mode ? {1'b0, result, 2'b01} : {2'b00, divisor};
  wire fits = brought >= tried;
  wire [W+1:0] left = fits ? brought - tried : brought;
  always @(posedge clk)
    if (start) begin
      mode <= root;
      negative <= !root && (n[2*W-1] != d[W-1]);
      divisor <= d[W-1] ? -d : d;
      rest <= root ? {W+1{1'b0}} : size[2*W-1:W-1];
      digits <= root ? size[2*W-3:0] : {size[W-2:0], {W-1{1'b0}}};
      result <= {W-1{1'b0}};
    end else begin
      rest <= left[W:0];
      digits <= mode ? digits << 2 : digits << 1;
      result <= {result[W-3:0], fits};
    end
  assign z = !mode && divisor == 0 ? {W{1'b0}} : negative ? -{1'b0, result} : {1'b0, result};
endmodule
)";
}

}  // namespace tellegen
