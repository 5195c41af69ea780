// The step as a Verilog module: a counter of cycles, units whose operands follow from it, registers.
#include <fmt/format.h>

#include <bit>

#include "tellegen/deploy/verilog_units.h"

namespace tellegen {
namespace {

class ModulePrinter : UnitPrinter {
 public:
  using UnitPrinter::UnitPrinter;

  std::string print() {
    collect();
    declare();
    out_ += declared_tables();
    out_ +=
        "\n  always @* begin\n" + idle_units() + verilog_case("cycle", cycle_bits_, operands_) + "  end\n\n";
    registers();
    return out_ + "endmodule\n";
  }

 private:
  std::string register_of(int k, int /*reader*/) const override {
    const FixedOp& op = fixed_.ops[k];
    const HardwareSchedule::Place& p = schedule_.places[k];
    if (op.kind == OpKind::state) return fmt::format("x{}", op.leaf);
    if (op.kind == OpKind::given) return fmt::format("u{}", given_index(k));
    if (p.state >= 0 && !schedule_.copied[p.state]) return fmt::format("x{}", p.state);
    return fmt::format("r{}", p.reg);
  }

  void collect() {
    operands_.resize(static_cast<std::size_t>(schedule_.cycles));
    writes_.resize(operands_.size());
    for (std::size_t n = 0; n < fixed_.ops.size(); ++n) {
      const int k = static_cast<int>(n);
      const HardwareSchedule::Place& p = schedule_.places[n];
      if (p.start < 0) continue;
      operands_[p.start] += operands(k);
      std::string& writes = writes_[p.write];
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
        writes_[0] += fmt::format("        {} <= {};\n", d_.output_ports[y], source(k, k));
    for (std::size_t s = 0; s < schedule_.copied.size(); ++s)
      if (schedule_.copied[s])
        writes_.back() += fmt::format("        x{} <= r{};\n", s, schedule_.places[fixed_.next[s]].reg);
  }

  void declare() {
    out_ = fmt::format(
        "// {}: one step of {:g} s by {} in {} clock cycles.\n"
        "// start: takes a step, while it rests; hold the inputs u* until done. done: for one cycle, when "
        "the\n"
        "// states x* and the outputs y_* are there. README.md has the meaning of each word.\n"
        "module {} (\n  input wire clk,\n  input wire reset,\n  input wire start,\n  output reg done",
        d_.title, d_.step_seconds, d_.method, schedule_.cycles, d_.name);
    for (std::size_t k = 0; k < fixed_.given.size(); ++k)
      out_ += fmt::format(",\n  input wire {} u{}", word(), k);
    for (const std::string& port : d_.output_ports)
      out_ += fmt::format(",\n  output reg {} {}", word(), port);
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      out_ += fmt::format(",\n  output reg {} x{}", word(), k);
    out_ += "\n);\n\n";
    cycle_bits_ = std::bit_width(static_cast<unsigned>(std::max(1, schedule_.cycles - 1)));
    out_ += fmt::format("  reg [{}:0] cycle;\n", cycle_bits_ - 1);
    for (int r = 0; r < schedule_.registers; ++r) out_ += fmt::format("  reg {} r{};\n", word(), r);
    out_ += declared_units();
  }

  void registers() {
    out_ += "  always @(posedge clk) begin\n    done <= 1'b0;\n    if (reset) begin\n      cycle <= 0;\n";
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      out_ += fmt::format("      x{} <= {};\n", k, literal(d_.start[k]));
    out_ += fmt::format(
        "    end else if (start || cycle != 0) begin\n"
        "      cycle <= cycle == {0}'d{1} ? {0}'d0 : cycle + {0}'d1;\n      done <= cycle == {0}'d{1};\n"
        "  {2}    end\n  end\n",
        cycle_bits_, schedule_.cycles - 1, verilog_case("cycle", cycle_bits_, writes_));
  }

  int cycle_bits_ = 1;
  std::vector<std::string> operands_, writes_;  // by cycle
  std::string out_;
};

}  // namespace

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
