// tellegen benchmark relaxation: the published route to an induction machine's parameters. Its conic
// relaxation at the published size and up to ten times that, two formulations of it, and what the relaxation
// alone and the local search after it determine, beside published values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

struct RelaxationBenchmarkOptions {
  bool quick = false;  // a tenth of the samples
  std::uint64_t seed = 1;
  std::vector<std::string> only;  // size, formulations, parameters
  std::string json;
};

bool run_relaxation_benchmark(const RelaxationBenchmarkOptions& options);

}  // namespace tellegen
