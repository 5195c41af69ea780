// tellegen benchmark relaxation: the published route to an induction machine's parameters. Its conic
// relaxation at the published size and up to ten times that, two formulations of it, and what the relaxation
// alone and the local search after it determine, beside published values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

struct RelaxationBenchmarkOptions {
  std::size_t samples = 2500;  // and one: 0.25 s as published
  std::uint64_t seed = 1;
  std::vector<std::string> only;  // size, formulations, parameters
  std::string json;
};

bool run_relaxation_benchmark(const RelaxationBenchmarkOptions& options);

}  // namespace tellegen
