// A model's fixed step as C99: what runs here, printed (StepCode), and around it structures with the model's
// names. No allocation, no recursion, no global state; of math.h sqrt, fabs, floor, ceil.
//
//   NAME.h, NAME.c        state, parameters, inputs, outputs; init, step, run, set_parameters, save, restore
//   NAME_partK.c          the step itself; a first part where the method starts with another formula
//   tellegen_math.h       tables and elementary functions; tellegen_single.h in single precision
//   tellegen_steps.h, tellegen_events.h   steps around events, where the model has any
//   main.c, vector.h      replays steps that Tellegen took, and fails where a bit differs
//   CMakeLists.txt, README.md
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/c_names.h"
#include "tellegen/deploy/zip_file.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct ExportOptions {
  std::string name;           // what functions and files are called; a C identifier
  std::int64_t vector = 100;  // steps in vector.h
  bool single = false;        // float instead of double, time apart (program/single.h)
  bool fixed = false;         // no parameter can be set: the compiler may compute with numbers
};

struct CExport {
  std::vector<ExportedFile> files;
  std::vector<std::string> parameters;         // that can be set
  std::vector<std::string> fixed;              // that cannot, each with the reason
  std::int64_t operations = 0, functions = 0;  // of a step; in Newton's iteration: of one iteration
  bool iterates = false;
  std::size_t state_bytes = 0;
  // In single precision: of each output the largest difference from double over the rows of vector.h,
  // relative to its largest value there.
  std::vector<double> differences = {};
};

// Parameters are the model's that are plain numbers (study_parameter() makes them of components' numbers).
// The simulation must be new, with SimulationOptions::restarts; it takes the steps of the test vector. Throws
// ModelError (T420) where the run is not made of equal steps.
CExport export_c(const Model& model, Simulation& simulation, const ExportOptions& options);

}  // namespace tellegen
