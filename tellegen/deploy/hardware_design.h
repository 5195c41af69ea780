// A step in fixed point with its schedule and names, and the texts that are printed of it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tellegen/deploy/fixed_numbers.h"
#include "tellegen/deploy/hardware_schedule.h"
#include "tellegen/deploy/micro_program.h"
#include "tellegen/deploy/zip_file.h"

namespace tellegen {

struct HardwareDesign {
  std::string name;  // of the module and of files; an identifier
  std::string title;
  double step_seconds = 0.0;
  std::string method;      // of an estimator its name
  bool estimator = false;  // a row of one is the step
  StraightStep step;
  FixedStep fixed;
  HardwareUnits units;
  HardwareSchedule schedule;
  bool microcode = false;  // instead of units with a schedule
  MicroProgram micro;
  int machines = 0;  // of a pipeline, in which as many steps are under way at once; 0: there is none
  std::vector<std::string> output_names;  // as the model has them
  std::vector<std::string> output_ports;  // identifiers
  std::vector<std::string> external;      // inputs of the model that are given to every step
  std::vector<std::int64_t> start;        // raw states
  FixedPointRun run;                      // over the whole scenario
  std::int64_t scenario_steps = 0, vector_steps = 0;

  int bits() const { return fixed.bits; }
  // Of a step; of a pipeline from the beginning of the first machine's to the end of the last one's.
  int cycles() const {
    if (machines > 0) return (machines - 1) * schedule.interval + schedule.cycles + 3;
    return microcode ? micro.cycles() : schedule.cycles;
  }
  bool divides() const { return microcode ? micro.has(MicroKind::take) : schedule.dividers > 0; }
  bool in_memory() const { return microcode || machines > 0; }  // words lie there, and a host writes states
  // Addresses of words a host sees: 0 begins a step, then given values, outputs, states.
  std::size_t host_words() const {
    return 1 + fixed.given.size() + fixed.outputs.size() + fixed.states.size();
  }
  int word_bits() const;     // of an address: which word of a machine
  int machine_bits() const;  // of which machine
  int address_bits() const { return word_bits() + machine_bits(); }
  std::size_t words_per_row() const {
    return fixed.given.size() + fixed.outputs.size() + fixed.states.size();
  }
};

std::string verilog_module(const HardwareDesign& design);
std::string verilog_divider();   // the module that divides and takes square roots
std::string pipeline_divider();  // likewise, one every cycle
std::string pipeline_module(const HardwareDesign& design);
std::string verilog_bench(const HardwareDesign& design);
std::string micro_module(const HardwareDesign& design);
std::string micro_program_file(const HardwareDesign& design);
// The module with its words at addresses, as `micro_module` has them; ports of a byte and of AXI4-Lite to it.
std::string words_module(const HardwareDesign& design);
std::string byte_port(const HardwareDesign& design);
std::string axi_port(const HardwareDesign& design);
std::string words_bench(const HardwareDesign& design);  // of what has its words in memory
std::string ports_bench(const HardwareDesign& design);
std::string fixed_c_header(const HardwareDesign& design);
std::string fixed_c_model(const HardwareDesign& design);  // one step, bit by bit
std::string fixed_c_host(const HardwareDesign& design);  // given values of a step, from its number and inputs
std::string fixed_c_replay(const HardwareDesign& design);  // the vectors against the model
std::string hardware_makefile(const HardwareDesign& design);
std::string hardware_readme(const HardwareDesign& design);
std::vector<ExportedFile> quartus_files(const HardwareDesign& design);

// Each "{KEY}" of the text replaced by its value.
std::string filled_in(std::string text,
                      std::initializer_list<std::pair<std::string_view, std::string>> values);

// A word as hexadecimal digits.
std::string hex_word(std::int64_t raw, int bits);

}  // namespace tellegen
