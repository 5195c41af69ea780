// `tellegen benchmark export --only models`: every shipped model by every fixed-step method, and every
// estimator, exported as C, compiled, run to its end and held against `simulate` (`estimate`) step by step,
// bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/report.h"

namespace tellegen {

struct ExportedModelsOptions {
  std::vector<std::string> models = {};   // folders of models/; empty: all
  std::vector<std::string> methods = {};  // methods and estimators; empty: all
  // What compiles for a machine, and what runs its programs here (qemu-aarch64); empty: this machine.
  std::string compiler = "cc -std=c99 -O1 -ffp-contract=off", emulator = {};
  std::filesystem::path journal =
      {};                  // CSV: a row for each as it is finished; what is there is not done again
  std::int64_t steps = 0;  // at most so many of each run; 0: all
  int sample = 0;          // so many of them, by chance; 0: all
  std::uint64_t seed = 1;
};

struct ExportedModelsCount {
  // in_part: to where the run itself fails, or the pivots of exported code become bad.
  int agree = 0, in_part = 0, refused = 0, differ = 0;
};

// Prints as it goes; what differs fails the report.
ExportedModelsCount run_exported_models(const ExportedModelsOptions& options, Report& report);

}  // namespace tellegen
