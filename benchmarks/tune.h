// The cheapest setting of a method that meets a precision: fewest steps, then fewest Newton iterations.
//
// Only steps that divide the sample interval are tried: doubled until the errors are small enough, then
// filled in between. Where the errors do not fall steadily with the step (the rectifier), this is the
// cheapest setting found, not proven.
#pragma once

#include <optional>

#include "benchmarks/circuit.h"

namespace tellegen {

struct Tuned {
  SimulationOptions options;
  CircuitRun run;  // timed
};

struct TuneLimits {
  std::int64_t steps = 4'000'000;  // of one trial run: a method that needs more is given up
  double budget = 0.2;             // seconds of repetitions for the time of the answer
};

// Nothing where the method does not meet the precision within the limits, or does not take this circuit.
std::optional<Tuned> tune(const Circuit& circuit, const std::string& method, Precision precision,
                          const TuneLimits& limits = {});

// The fixed-step methods that can be tuned.
std::vector<std::string> tunable_methods();

}  // namespace tellegen
