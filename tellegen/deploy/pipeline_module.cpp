// Steps of many machines in one pipeline: the next one begins every interval, its states and given values
// come from memories, and its next states and outputs go back there.
//
// `age` counts from 0 where a host begins: words of the first machine are read at 0, copied at 1, and cycle
// 0 of its step is at 2. `phase` is that cycle modulo the interval, the same for all machines under way.
#include <fmt/format.h>

#include <bit>

#include "tellegen/deploy/verilog_units.h"

namespace tellegen {
namespace {

class PipelinePrinter : UnitPrinter {
 public:
  explicit PipelinePrinter(const HardwareDesign& design)
      : UnitPrinter(design), interval_(design.schedule.interval), machines_(design.machines) {}

  std::string print() {
    collect();
    declare();
    control();
    memories();
    out_ += "\n  // Units.\n" + declared_units() + declared_tables();
    out_ += "  always @* begin\n" + idle_units() + verilog_case("phase", phase_bits_, operands_) + "  end\n";
    out_ += "  always @(posedge clk) begin\n" + verilog_case("phase", phase_bits_, writes_) + "  end\n";
    return out_ + "endmodule\n";
  }

 private:
  // In which of the registers one behind the other a value is by then.
  std::string copy_in(int k, int cycle) const {
    return fmt::format("v{}_{}", k, (cycle - schedule_.places[k].write - 1) / interval_);
  }
  std::string register_of(int k, int reader) const override {
    return copy_in(k, schedule_.places[reader].start);
  }
  std::string at_end(int k) const {
    const FixedOp& op = fixed_.ops[k];
    return op.kind == OpKind::constant ? literal(constant_raw(op)) : copy_in(k, schedule_.cycles);
  }
  std::size_t phase_of(int cycle) const { return static_cast<std::size_t>((cycle + interval_) % interval_); }

  void collect() {
    operands_.resize(static_cast<std::size_t>(interval_));
    writes_.resize(operands_.size());
    for (std::size_t n = 0; n < fixed_.ops.size(); ++n) {
      const int k = static_cast<int>(n);
      const HardwareSchedule::Place& p = schedule_.places[n];
      if (p.start >= 0) operands_[phase_of(p.start)] += operands(k);
      const int copies = schedule_.copies[n];
      if (copies == 0) continue;
      const FixedOp& op = fixed_.ops[n];
      const std::string result = op.kind == OpKind::state   ? fmt::format("x{}_read", op.leaf)
                                 : op.kind == OpKind::given ? fmt::format("u{}_read", given_index(k))
                                                            : value(k);
      std::string& writes = writes_[phase_of(p.write)];
      for (int c = copies - 1; c > 0; --c)
        writes += fmt::format("        v{0}_{1} <= v{0}_{2};\n", k, c, c - 1);
      writes += fmt::format("        v{}_0 <= {};\n", k, result);
    }
  }

  void declare() {
    phase_bits_ = std::bit_width(static_cast<unsigned>(std::max(1, interval_ - 1)));
    out_ = fmt::format(
        "// {0}: {1} machines, each one step of {2:g} s by {3}; one begins every {4} cycles and takes {5}.\n"
        "// Words of a machine lie at addresses, its number before them; README.md tells which is where. "
        "While\n// busy is 0, a host reads the word at address (it is there a cycle later) and writes it; "
        "writing to\n// address 0 begins a step of every machine. After a reset the states take their first "
        "values.\n"
        "module {6}_words (\n  input wire clk,\n  input wire reset,\n  input wire [{7}:0] address,\n"
        "  input wire write,\n  input wire {8} write_data,\n  output reg {8} read_data,\n"
        "  output reg busy\n);\n",
        d_.title, machines_, d_.step_seconds, d_.method, interval_, schedule_.cycles, d_.name,
        d_.address_bits() - 1, word());
    for (std::size_t k = 0; k < fixed_.ops.size(); ++k)
      for (int c = 0; c < schedule_.copies[k]; ++c) out_ += fmt::format("  reg {} v{}_{};\n", word(), k, c);
  }

  void control() {
    const int last = (machines_ - 1) * interval_ + schedule_.cycles + 2;
    const int age_bits = std::bit_width(static_cast<unsigned>(last));
    machine_bits_ = d_.machine_bits();
    out_ += fmt::format(
        R"(
  reg clears;  // states take their first values
  reg [{w}:0] age;
  reg [{p}:0] phase;
  reg [{m}:0] reads, writes;  // the machine whose words are read, and whose are written
  wire ends = busy && !clears && age >= {wb}'d{first} && phase == {pb}'d{end_phase};
  wire begins = !busy && write && address == 0;
  always @(posedge clk)
    if (reset) begin
      busy <= 1'b1;
      clears <= 1'b1;
      writes <= 0;
    end else if (busy) begin
      age <= age + {wb}'d1;
      phase <= phase == {pb}'d{last_phase} ? {pb}'d0 : phase + {pb}'d1;
      if (phase == {pb}'d{last_phase}) reads <= reads == {mb}'d{last_machine} ? {mb}'d0 : reads + {mb}'d1;
      if (clears || ends) begin
        writes <= writes + {mb}'d1;
        if (writes == {mb}'d{last_machine}) begin
          busy <= 1'b0;
          clears <= 1'b0;
        end
      end
    end else begin
      busy <= begins;
      age <= 0;
      phase <= {pb}'d{first_phase};
      reads <= 0;
      writes <= 0;
    end
)",
        fmt::arg("w", age_bits - 1), fmt::arg("wb", age_bits), fmt::arg("p", phase_bits_ - 1),
        fmt::arg("pb", phase_bits_), fmt::arg("m", machine_bits_ - 1), fmt::arg("mb", machine_bits_),
        fmt::arg("first", schedule_.cycles + 2), fmt::arg("end_phase", schedule_.cycles % interval_),
        fmt::arg("last_phase", interval_ - 1), fmt::arg("first_phase", phase_of(-2)),
        fmt::arg("last_machine", machines_ - 1));
  }

  // A memory for each word, with one port to read and one to write.
  void memory(const std::string& name, std::size_t address, const std::string& written,
              const std::string& first) {
    const int word_bits = d_.word_bits();
    const std::string host =
        fmt::format("at_word && address[{}:0] == {}'d{}", word_bits - 1, word_bits, address);
    std::string enable = host, data = "write_data";
    if (!written.empty()) {
      enable = fmt::format("ends || ({})", host), data = fmt::format("ends ? {} : write_data", written);
      if (!first.empty()) enable = "clears || " + enable, data = fmt::format("clears ? {} : {}", first, data);
    }
    out_ += fmt::format(
        "  reg {0} {1} [0:{2}];\n  reg {0} {1}_read;\n"
        "  always @(posedge clk) begin\n    {1}_read <= {1}[machine_read];\n"
        "    if ({3}) {1}[machine_written] <= {4};\n  end\n",
        word(), name, machines_ - 1, enable, data);
    selected_ += fmt::format("      {}'d{}: read_data = {}_read;\n", word_bits, address, name);
  }

  void memories() {
    const int word_bits = d_.word_bits();
    out_ += fmt::format(
        "\n  // Words of all machines.\n  wire at_word = write && !busy;\n"
        "  wire [{0}:0] machine_read = busy ? reads : address[{1}:{2}];\n"
        "  wire [{0}:0] machine_written = busy ? writes : address[{1}:{2}];\n"
        "  reg [{3}:0] selected;\n  always @(posedge clk) selected <= address[{3}:0];\n",
        machine_bits_ - 1, d_.address_bits() - 1, word_bits, word_bits - 1);
    std::size_t address = 1;
    for (std::size_t k = 0; k < fixed_.given.size(); ++k) memory(fmt::format("u{}", k), address++, "", "");
    for (std::size_t k = 0; k < fixed_.outputs.size(); ++k)
      memory(d_.output_ports[k], address++, at_end(fixed_.outputs[k].op), "");
    for (std::size_t k = 0; k < fixed_.states.size(); ++k)
      memory(fmt::format("x{}", k), address++, at_end(fixed_.next[k]), literal(d_.start[k]));
    out_ += fmt::format("  always @*\n    case (selected)\n{}      default: read_data = 0;\n    endcase\n",
                        selected_);
  }

  const int interval_, machines_;
  int phase_bits_ = 1, machine_bits_ = 1;
  std::vector<std::string> operands_, writes_;  // by phase
  std::string selected_, out_;
};

}  // namespace

std::string pipeline_module(const HardwareDesign& design) { return PipelinePrinter(design).print(); }

std::string pipeline_divider() {
  return R"(// As tellegen_divide, but one every cycle: a stage for each bit. The result is there W cycles after the one with
// its operands.
module tellegen_divide_pipeline #(parameter W = 27) (
  input wire clk,
  input wire start,
  input wire root,
  input wire signed [2*W-1:0] n,
  input wire signed [W-1:0] d,
  output wire signed [W-1:0] z
);
  wire [2*W-1:0] size = n[2*W-1] ? (root ? {2*W{1'b0}} : -n) : n;
  genvar k;
  generate for (k = 0; k < W; k = k + 1) begin: stage
    reg mode, negative;
    reg [W-1:0] divisor;
    reg [W:0] rest;       // less than the divisor, or than twice the root
    reg [2*W-3:0] digits; // of n that are still to come
    reg [W-2:0] result;
    wire [W+1:0] brought = mode ? {rest[W-1:0], digits[2*W-3:2*W-4]} : {rest, digits[2*W-3]};
    wire [W+1:0] tried = mode ? {1'b0, result, 2'b01} : {2'b00, divisor};
    wire fits = brought >= tried;
    wire [W+1:0] left = fits ? brought - tried : brought;
    if (k == 0) begin
      always @(posedge clk) begin
        mode <= root;
        negative <= !root && (n[2*W-1] != d[W-1]);
        divisor <= d[W-1] ? -d : d;
        rest <= root ? {W+1{1'b0}} : size[2*W-1:W-1];
        digits <= root ? size[2*W-3:0] : {size[W-2:0], {W-1{1'b0}}};
        result <= {W-1{1'b0}};
      end
    end else begin
      always @(posedge clk) begin
        mode <= stage[k-1].mode;
        negative <= stage[k-1].negative;
        divisor <= stage[k-1].divisor;
        rest <= stage[k-1].left[W:0];
        digits <= stage[k-1].mode ? stage[k-1].digits << 2 : stage[k-1].digits << 1;
        result <= {stage[k-1].result[W-3:0], stage[k-1].fits};
      end
    end
  end endgenerate
  wire [W-2:0] size_of_result = stage[W-1].result;
  assign z = !stage[W-1].mode && stage[W-1].divisor == 0 ? {W{1'b0}}
      : stage[W-1].negative ? -{1'b0, size_of_result} : {1'b0, size_of_result};
endmodule
)";
}

}  // namespace tellegen
