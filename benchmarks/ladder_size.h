// One ladder of any size from model text to the last step, every part timed.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/circuit_data.h"

namespace tellegen {

struct LadderSetting {
  int loops = 2;
  double h = 2.5e-3, stop = 1;
  std::string method = "bdf3";
  bool refactor = false;
  int repetitions = 3;  // of the step loop; the shortest counts
  double enough = 0;    // no further repetition once one took no longer than this
};

struct LadderRun {
  static constexpr int samples = 100;
  int filled = 0;                          // samples that the run reached
  double first[samples], second[samples];  // first branch; last branch for two loops
  double seconds = 0;                      // shortest step loop
  double read_seconds = 0, system_seconds = 0, prepare_seconds = 0;
  double peak_megabytes = 0;
  std::int64_t steps = 0, unknowns = 0;
  double build_seconds() const { return read_seconds + system_seconds + prepare_seconds; }
};

// In a child process of its own, so that memory peaks stay apart. Nothing where the child failed; it has said
// why on stderr.
std::optional<LadderRun> run_ladder(const LadderSetting& setting);

// The parts of the way from text to the first step, without a compiled kernel in the cache.
struct LadderParts {
  double text = 0, read = 0, graph = 0, equations = 0, initial = 0, network = 0, kernels = 0;
  double sum() const { return read + graph + equations + initial + network + kernels; }
};
std::optional<LadderParts> time_ladder_parts(int loops);

}  // namespace tellegen
