// `tellegen benchmark sweep`: a study of many short runs, whole, and killed three times with SIGKILL and
// resumed. Every sample must be there exactly once, with the same bytes as in the whole study. Then samples
// side by side in lanes, beside samples one by one and beside a loop over samples by hand.
#pragma once

#include <filesystem>

namespace tellegen {

struct SweepBenchmarkOptions {
  int samples = 10'000;
  int lane_samples = 100'000;  // of the thermal network, a tenth of them of the rectifier
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_sweep_benchmark(const SweepBenchmarkOptions& options);

}  // namespace tellegen
