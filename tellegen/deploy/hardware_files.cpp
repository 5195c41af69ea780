// What an export as Verilog has beside the module: test bench, scripts, README.md.
#include <fmt/format.h>

#include <cmath>
#include <sstream>

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
  return d.name + (d.in_memory() ? "_words.v" : ".v") +
         (!d.divides()     ? ""
          : d.machines > 0 ? " tellegen_divide_pipeline.v"
                           : " tellegen_divide.v");
}

std::string units_cost(const HardwareDesign& d) {
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
      "| a step | |\n| --- | --- |\n| clock cycles | {} |\n| multipliers | {}, latency {} |\n| adders | {} "
      "|\n",
      s.cycles, s.multipliers, d.units.multiplier_latency, s.adders);
  if (d.machines > 0)
    out += fmt::format(
        "| machines | {}, one begins every {} cycles |\n| all of them | {} clock cycles, {:.3g} a machine "
        "|\n",
        d.machines, s.interval, d.cycles(), static_cast<double>(d.cycles()) / d.machines);
  if (s.dividers > 0) out += fmt::format("| dividers | {} |\n", s.dividers);
  return out +
         fmt::format(
             "| registers | {} words, and {} of states, {} of outputs |\n| ROM | {} bits |\n"
             "| operations | {} products, {} sums, {} table reads, {} quotients and roots, {} others |\n\n",
             s.registers, fixed.states.size(), fixed.outputs.size(), rom_bits(fixed), products, sums, reads,
             quotients, others);
}

std::string micro_cost(const HardwareDesign& d) {
  const MicroProgram& p = d.micro;
  const std::string file = micro_program_file(d);
  const std::size_t row_bits = 4 * file.find('\n');
  return fmt::format(
      "| a step | |\n| --- | --- |\n| clock cycles | {} |\n| instructions | {}, of about {} bits |\n"
      "| memory of words | {}, twice |\n| tables | {} bits |\n\n",
      p.cycles(), p.instructions, row_bits, p.words.size(), rom_bits(d.fixed));
}

}  // namespace

std::string filled_in(std::string text,
                      std::initializer_list<std::pair<std::string_view, std::string>> values) {
  for (const auto& [key, value] : values) {
    const std::string from = fmt::format("{{{}}}", key);
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += value.size())
      text.replace(at, from.size(), value);
  }
  return text;
}

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
  std::string text =
      R"(# make c: the bit-true model; make iverilog, make verilator: the module; all against the vectors.
# make ports: over the ports of a host. make ice40, make ecp5: synthesis by yosys.
# make netlist: what yosys made, in gates, against the vectors; make netlist_ice40: in cells of the device.
# make up5k: for an iCE40 UP5K in its package of 48 pins, with the port of a byte: its netlist against the vectors, placed,
# routed, packed.
# Modules are flattened after synthesis: yosys 0.23 has lost multipliers where it packs them in a flat design.
SOURCES = {SOURCES}
TOP = {TOP}
WITH_PORT = $(SOURCES){WORDS} {NAME}_bytes.v
ICE40_CELLS = /usr/share/yosys/ice40/cells_sim.v

c:
	cc -std=c99 -O1 -o replay {NAME}_fixed.c {NAME}_host.c main.c -lm && ./replay

iverilog:
	iverilog -g2012 -o bench.vvp $(SOURCES) {NAME}_bench.v && vvp -n bench.vvp

ports:
	iverilog -g2012 -o ports.vvp $(WITH_PORT) {NAME}_axi.v {NAME}_ports_bench.v && vvp -n ports.vvp

verilator:
	verilator --binary -Wno-fatal -Wno-lint -Wno-style --top-module {NAME}_bench $(SOURCES) {NAME}_bench.v && ./obj_dir/V{NAME}_bench

ice40:
	yosys -q -p 'read_verilog $(SOURCES); synth_ice40 -dsp -device u -noflatten -top $(TOP); flatten; tee -o ice40.txt stat; write_verilog ice40.v'

# LUTs of 4 inputs: wider ones are quicker, and take twice as many.
ecp5:
	yosys -q -p 'read_verilog $(SOURCES); synth_ecp5 -nowidelut -top $(TOP); tee -o ecp5.txt stat; write_verilog ecp5.v'

netlist:
	yosys -q -p 'read_verilog $(SOURCES); synth -top $(TOP); write_verilog netlist.v' && iverilog -g2012 -o netlist.vvp netlist.v {NAME}_bench.v && vvp -n netlist.vvp

# Inputs of cells that are left open are 0 in the device.
netlist_ice40: ice40
	yosys -q -p 'read_verilog ice40.v; setundef -zero; write_verilog ice40_zero.v'
	iverilog -g2012 -DNO_ICE40_DEFAULT_ASSIGNMENTS -o netlist_ice40.vvp ice40_zero.v $(ICE40_CELLS) {NAME}_bench.v && vvp -n netlist_ice40.vvp

up5k:
	yosys -q -p 'read_verilog $(WITH_PORT); synth_ice40 -dsp -device u -noflatten -top {NAME}_bytes; flatten; write_json up5k.json; setundef -zero; write_verilog up5k.v'
	iverilog -g2012 -DNO_ICE40_DEFAULT_ASSIGNMENTS -o up5k.vvp up5k.v $(ICE40_CELLS) $(SOURCES){WORDS} {NAME}_axi.v {NAME}_ports_bench.v && vvp -n up5k.vvp
	nextpnr-ice40 -q --up5k --package sg48 --freq 24 --seed 1 --json up5k.json --asc up5k.asc --report up5k_report.json
	icepack up5k.asc up5k.bin

.PHONY: c iverilog ports verilator ice40 ecp5 netlist netlist_ice40 up5k
)";
  return filled_in(std::move(text), {{"SOURCES", verilog_sources(d)},
                                     {"TOP", d.in_memory() ? d.name + "_words" : d.name},
                                     {"WORDS", d.in_memory() ? "" : " " + d.name + "_words.v"},
                                     {"NAME", d.name}});
}

// For a Cyclone V. A host inside the device reaches the port of AXI4-Lite, so there are no pins but the
// clock.
std::vector<ExportedFile> quartus_files(const HardwareDesign& d) {
  std::string files;
  std::istringstream sources(verilog_sources(d) + (d.in_memory() ? "" : " " + d.name + "_words.v") + " " +
                             d.name + "_axi.v");
  for (std::string file; sources >> file;)
    files += fmt::format("set_global_assignment -name VERILOG_FILE {}\n", file);
  return {{d.name + ".qpf", fmt::format("PROJECT_REVISION = \"{}\"\n", d.name)},
          {d.name + ".qsf", fmt::format("set_global_assignment -name FAMILY \"Cyclone V\"\n"
                                        "set_global_assignment -name DEVICE 5CSEMA5F31C6\n"
                                        "set_global_assignment -name TOP_LEVEL_ENTITY {0}_axi\n{1}"
                                        "set_global_assignment -name SDC_FILE {0}.sdc\n"
                                        "set_global_assignment -name SEARCH_PATH .\n"
                                        "set_instance_assignment -name VIRTUAL_PIN ON -to *\n"
                                        "set_instance_assignment -name VIRTUAL_PIN OFF -to clk\n",
                                        d.name, files)},
          {d.name + ".sdc", "create_clock -name clk -period 20.000 [get_ports clk]\n"}};
}

std::string hardware_readme(const HardwareDesign& d) {
  const FixedStep& fixed = d.fixed;
  std::string out = fmt::format(
      "# {0}\n\n{5} in fixed point: {1}, {2:g} s a step, words of {3} bits.\n\n"
      "    make c iverilog ports\n\n"
      "replays {4} steps of the model's own scenario by the bit-true model in C, by the module, and by the "
      "module "
      "over\nits ports for a host, and fails where a bit differs. `make verilator`, `make ice40`, `make "
      "ecp5`, "
      "`make netlist`,\n`make netlist_ice40` and `make up5k` need verilator, yosys, nextpnr-ice40 and "
      "fpga-icestorm.\n\n",
      d.title, d.method, d.step_seconds, d.bits(), d.vector_steps,
      d.estimator ? "A row of an estimator of a Tellegen model" : "One step of a Tellegen model");
  out += d.microcode ? micro_cost(d) : units_cost(d);
  if (d.machines > 0)
    out += fmt::format(
        "Words of machine m lie at {} m + the addresses below; a step is one of every machine. The vectors "
        "begin each\nat other states.\n\n",
        1 << d.word_bits());
  const std::string when =
      d.step.outputs_before
          ? ", and the\noutputs are those at its beginning: those at the end come with the next step"
          : " and the outputs\nthose there";
  if (!d.in_memory())
    out += fmt::format(
        "`start` of `{0}` takes a step; hold the inputs `u*` until `done`. Then the states `x*` are those "
        "after the "
        "step{1}.\n\n",
        d.name, when);
  out += fmt::format(
      "`{0}_words` has all words at addresses; `{0}_bytes` and `{0}_axi` reach it over a port of a byte and "
      "over "
      "AXI4-Lite\n(byte address 4 x address). Write what is given, write to address 0, wait until `busy` is "
      "0: the "
      "states are those after the\nstep{1}. After a reset the states take their first values{2}.\n\n"
      "| address | word | what | one unit is |\n| --- | --- | --- | --- |\n",
      d.name, when, d.in_memory() ? " (`busy` meanwhile); a host can write them too" : "");
  std::size_t address = 1;
  for (std::size_t k = 0; k < fixed.given.size(); ++k)
    out += fmt::format("| {} | `u{}` | given: `{}_given` in `{}_host.c` computes it | {} |\n", address++, k,
                       d.name, d.name, meaning(d, fixed.given[k], 0));
  for (std::size_t k = 0; k < fixed.outputs.size(); ++k)
    out += fmt::format("| {} | `{}` | output {} | {} |\n", address++, d.output_ports[k], d.output_names[k],
                       meaning(d, fixed.outputs[k], fixed.output_of[k].exponent));
  for (std::size_t k = 0; k < fixed.states.size(); ++k)
    out += fmt::format("| {} | `x{}` | state, {:.9g} at the start | {} |\n", address++, k,
                       d.step.states[k].start, meaning(d, fixed.states[k], 0));
  if (!d.external.empty())
    out += fmt::format(
        "\n`inputs` of `{}_given`, in this order: {}.{}\n", d.name, fmt::join(d.external, ", "),
        d.estimator ? " NAME_there is 1 where the reading NAME is there, 0 where it is missing." : "");
  if (d.step.switches) out += "\nEvents are not located: what switches does so at the end of a step.\n";
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
