// What an export as Verilog has beside the module: test bench, scripts, README.md.
#include <fmt/format.h>

#include <cmath>

#include "tellegen/deploy/hardware_design.h"

namespace tellegen {
namespace {

// What one unit of a raw word means.
std::string meaning(const HardwareDesign& d, const FixedStep::Word& word, int exponent) {
  if (word.angle) return fmt::format("2^{} of a turn", exponent - d.fixed.ops[word.op].point);
  return fmt::format("{:.9g}", std::ldexp(1.0 / word.scale, exponent - d.fixed.ops[word.op].point));
}

std::size_t rom_bits(const FixedStep& fixed) {
  std::size_t bits = 0;
  for (const FixedTable& table : fixed.tables)
    bits += table.entries.size() * static_cast<std::size_t>(fixed.bits);
  return bits;
}

std::string verilog_sources(const HardwareDesign& d) {
  return d.name + ".v" + (d.schedule.dividers > 0 ? " tellegen_divide.v" : "");
}

}  // namespace

std::string verilog_bench(const HardwareDesign& d) {
  const FixedStep& fixed = d.fixed;
  const std::size_t width = d.words_per_row();
  const int w = d.bits();
  std::string out = fmt::format(
      "// Replays {0}_vectors.hex and counts the bits that differ.\n`timescale 1ns/1ns\nmodule {0}_bench;\n"
      "  reg [{1}:0] vectors [0:{2}];\n  reg clk = 0, reset = 1, start = 0;\n  wire done;\n",
      d.name, w - 1, static_cast<std::size_t>(d.vector_steps) * width - 1);
  std::string ports = ".clk(clk), .reset(reset), .start(start), .done(done)";
  std::string apply, compare;
  std::size_t column = 0;
  for (std::size_t k = 0; k < fixed.given.size(); ++k, ++column) {
    out += fmt::format("  reg signed [{}:0] u{};\n", w - 1, k);
    ports += fmt::format(", .u{0}(u{0})", k);
    apply += fmt::format("      u{} = vectors[{}*n + {}];\n", k, width, column);
  }
  const auto observed = [&](const std::string& port) {
    out += fmt::format("  wire signed [{}:0] {};\n", w - 1, port);
    ports += fmt::format(", .{0}({0})", port);
    compare += fmt::format("      count_bits({} ^ vectors[{}*n + {}]);\n", port, width, column++);
  };
  for (const std::string& port : d.output_ports) observed(port);
  for (std::size_t k = 0; k < fixed.states.size(); ++k) observed(fmt::format("x{}", k));
  out += fmt::format("  {} device ({});\n", d.name, ports);
  out += fmt::format(
      "  integer n, b, cycles, bad = 0;\n"
      "  task count_bits(input [{0}:0] difference);\n"
      "    for (b = 0; b < {1}; b = b + 1) if (difference[b] !== 1'b0) bad = bad + 1;\n  endtask\n"
      "  always #5 clk = !clk;\n  initial begin\n    $readmemh(\"{2}_vectors.hex\", vectors);\n"
      "    repeat (2) @(negedge clk);\n    reset = 0;\n"
      "    for (n = 0; n < {3}; n = n + 1) begin\n{4}      start = 1;\n      cycles = 0;\n"
      "      while (!done || cycles == 0) begin\n        @(negedge clk);\n        start = 0;\n"
      "        cycles = cycles + 1;\n      end\n{5}"
      "      if (cycles != {6}) bad = bad + 1;\n    end\n"
      "    $display(\"%0d steps of %0d cycles, %0d bits differ\", n, cycles, bad);\n"
      "    if (bad != 0) $fatal(1);\n    $finish;\n  end\nendmodule\n",
      w - 1, w, d.name, d.vector_steps, apply, compare, d.schedule.cycles);
  return out;
}

std::string hardware_makefile(const HardwareDesign& d) {
  return fmt::format(
      "# make c: the bit-true model; make iverilog, make verilator: the module; both against the vectors.\n"
      "# make ice40, make ecp5: synthesis by yosys; make netlist: what yosys made, against the vectors.\n"
      "SOURCES = {0}\n\n"
      "c:\n\tcc -std=c99 -O1 -o replay {1}_fixed.c {1}_host.c main.c -lm && ./replay\n\n"
      "iverilog:\n\tiverilog -g2012 -o bench.vvp $(SOURCES) {1}_bench.v && vvp -n bench.vvp\n\n"
      "verilator:\n\tverilator --binary -Wno-fatal -Wno-lint -Wno-style --top-module {1}_bench $(SOURCES) "
      "{1}_bench.v "
      "&& ./obj_dir/V{1}_bench\n\n"
      "ice40:\n\tyosys -q -p 'read_verilog $(SOURCES); synth_ice40 -dsp -top {1}; tee -o ice40.txt stat; "
      "write_verilog ice40.v'\n\n"
      "# LUTs of 4 inputs: wider ones are quicker, and take twice as many.\n"
      "ecp5:\n\tyosys -q -p 'read_verilog $(SOURCES); synth_ecp5 -nowidelut -top {1}; tee -o ecp5.txt stat; "
      "write_verilog ecp5.v'\n\n"
      "# Without the cells of a device: the netlist in gates.\n"
      "netlist:\n\tyosys -q -p 'read_verilog $(SOURCES); synth -top {1}; write_verilog netlist.v' && "
      "iverilog -g2012 -o netlist.vvp netlist.v {1}_bench.v && vvp -n netlist.vvp\n\n"
      ".PHONY: c iverilog verilator ice40 ecp5 netlist\n",
      verilog_sources(d), d.name);
}

std::string hardware_readme(const HardwareDesign& d) {
  const FixedStep& fixed = d.fixed;
  const HardwareSchedule& s = d.schedule;
  int products = 0, sums = 0, reads = 0, quotients = 0, others = 0;
  for (std::size_t k = 0; k < fixed.ops.size(); ++k) {
    if (s.places[k].start < 0) continue;
    const UnitKind kind = unit_of(fixed.ops[k].kind);
    products += kind == UnitKind::multiplier;
    sums += kind == UnitKind::adder;
    reads += kind == UnitKind::table;
    quotients += kind == UnitKind::divider;
    others += kind == UnitKind::wire;
  }
  std::string out = fmt::format(
      "# {0}\n\nOne step of a Tellegen model in fixed point: method {1}, {2:g} s a step, words of {3} "
      "bits.\n\n"
      "    make c iverilog\n\n"
      "replays {4} steps of the model's own scenario by the bit-true model in C and by the module, and fails "
      "where a\n"
      "bit differs. `make verilator`, `make ice40`, `make ecp5` and `make netlist` need verilator and "
      "yosys.\n\n"
      "| a step | |\n| --- | --- |\n| clock cycles | {5} |\n| multipliers | {6}, latency {7} |\n| adders | "
      "{8} |\n",
      d.title, d.method, d.step_seconds, d.bits(), d.vector_steps, s.cycles, s.multipliers,
      d.units.multiplier_latency, s.adders);
  if (s.dividers > 0) out += fmt::format("| dividers | {} |\n", s.dividers);
  out += fmt::format(
      "| registers | {} words, and {} of states, {} of outputs |\n| ROM | {} bits |\n"
      "| operations | {} products, {} sums, {} table reads, {} quotients and roots, {} others |\n\n",
      s.registers, fixed.states.size(), fixed.outputs.size(), rom_bits(fixed), products, sums, reads,
      quotients, others);
  out += fmt::format(
      "`start` takes a step; hold the inputs `u*` until `done`. Then `x*` are the states after the "
      "step{}.\n\n"
      "| word | what | one unit is |\n| --- | --- | --- |\n",
      d.step.outputs_before
          ? ", and `y_*` the\noutputs at its beginning: those at the end come with the next step"
          : " and `y_*` the\noutputs there");
  for (std::size_t k = 0; k < fixed.outputs.size(); ++k)
    out += fmt::format("| `{}` | output {} | {} |\n", d.output_ports[k], d.output_names[k],
                       meaning(d, fixed.outputs[k], fixed.output_of[k].exponent));
  for (std::size_t k = 0; k < fixed.states.size(); ++k)
    out += fmt::format("| `x{}` | state, {:.9g} at the start | {} |\n", k, d.step.states[k].start,
                       meaning(d, fixed.states[k], 0));
  for (std::size_t k = 0; k < fixed.given.size(); ++k)
    out += fmt::format("| `u{}` | given: `{}_given` in `{}_host.c` computes it | {} |\n", k, d.name, d.name,
                       meaning(d, fixed.given[k], 0));
  out += fmt::format(
      "\nUnits are SI. Over the whole scenario, {} steps, against the same steps in double:\n\n"
      "| output | largest value | largest error |\n| --- | --- | --- |\n",
      d.scenario_steps);
  for (std::size_t k = 0; k < fixed.outputs.size(); ++k)
    out += fixed.outputs[k].angle
               ? fmt::format("| {} | an angle | {:.2g} of a turn |\n", d.output_names[k],
                             d.run.errors[k].largest)
               : fmt::format("| {} | {:.6g} | {:.2g} of the largest value |\n", d.output_names[k],
                             d.run.errors[k].scale, d.run.errors[k].largest);
  return out + fmt::format("\nOperations that left the range of their word: {}.\n", d.run.overflows);
}

}  // namespace tellegen
