// `tellegen benchmark hardware`: design-space exploration of a model's step as Verilog. How often the
// searches find the enumerated optimum, how far the area model is from synthesis on a front, the runs of
// synthesis that its coefficients come from, and the tables of Yadav's dissertation beside ours.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct HardwareBenchmarkOptions {
  int seeds = 100;
  int points = 8;                 // of each front that are synthesised
  std::filesystem::path keep;     // folder for what was synthesised; what is there already is not made again
  std::filesystem::path json;     // file for everything that was printed
  std::vector<std::string> only;  // searches, front, calibration, tables; empty: all
};

// Prints as it goes. False where an answer disagreed.
bool run_hardware_benchmark(const HardwareBenchmarkOptions& options);

}  // namespace tellegen
