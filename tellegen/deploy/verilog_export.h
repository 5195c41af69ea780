// A model's fixed step as fixed-point Verilog: what runs here, followed once (straight_step.h), brought into
// few operations (step_formulas.h), given binary points by a run of the model's own scenario
// (fixed_numbers.h), and scheduled on a few units (hardware_schedule.h).
//
//   NAME.v                     the module: start, done, words in and out
//   NAME_words.v               its words at addresses; or the processor with its program (micro_program.h)
//   NAME_bytes.v, NAME_axi.v   ports to it for a host
//   NAME_TABLE.hex             contents of tables
//   NAME_fixed.h, NAME_fixed.c the same, bit for bit, as C
//   NAME_host.c                what goes into each step
//   NAME_bench.v, NAME_vectors.hex, main.c   steps of the scenario, replayed
//   Makefile, README.md
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/filter_step.h"
#include "tellegen/deploy/hardware_design.h"
#include "tellegen/deploy/zip_file.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct VerilogOptions {
  std::string name;           // of files and the module; an identifier
  std::int64_t vector = 100;  // steps in the vectors
  int bits = 27;
  int table_bits = 0;  // that tables are good for; 0: as many as words have
  HardwareUnits units = {};
  bool microcode = false;           // a small processor instead of units
  int machines = 0;                 // a pipeline of the steps of so many; 0: there is none
  int interval = 0;                 // of it: cycles from one machine to the next; 0: as long as keeps it full
  std::vector<Expr> external = {};  // of each external input: its value in the scenario, of t and parameters
};

struct VerilogExport {
  std::vector<ExportedFile> files;
  HardwareDesign design;
};

constexpr int least_word = 12, longest_word = 32;

// What an input is in the model's own scenario: before make_external() takes it out.
Expr input_formula(const Model& model, std::string_view input);

// A step before it has words and units: what all designs of it share.
struct HardwareProblem {
  StraightStep step;
  StepScenario scenario;
  StepFormulas formulas;
};

// The simulation must be new. Throws ModelError (T420 where the run has no such step, T422 where an operation
// cannot be done). `external`: see VerilogOptions.
HardwareProblem hardware_problem(const Model& model, Simulation& simulation,
                                 const std::vector<Expr>& external);

// The simulation must be new. Throws ModelError (T420 where the run has no such step, T422 where an operation
// cannot be done or a word overflows).
VerilogExport export_verilog(const Model& model, Simulation& simulation, const VerilogOptions& options);

// An estimator, a row a step; ranges come from a record (filter_step.h). `left_out`: what is not exported.
VerilogExport export_filter_verilog(const Model& model, const FilterExportOptions& filter,
                                    const Record& record, const std::vector<std::string>& outputs,
                                    const VerilogOptions& options, std::vector<std::string>& left_out);

}  // namespace tellegen
