// `tellegen benchmark lossy`: a motor's speed, angle and flux from two currents where samples get lost. The
// published filter files over their whole length, then many records of noise: which filters fail, and how
// often; then a drive in closed loop, without a sensor of its speed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct LossyOptions {
  int seeds = 100;
  double seconds = 1.0;           // of each record
  std::vector<std::string> only;  // files, stability, nuisance, drive; empty: all
  std::filesystem::path json;     // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_lossy(const LossyOptions& options);

}  // namespace tellegen
