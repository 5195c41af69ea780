// tellegen benchmark identify: numbers with no starting values. The published start-up with noise and lost
// samples against the Cramer-Rao bound, random induction machines, and the worked records of other models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

struct IdentificationOptions {
  int draws = 30;       // of noise, for the start-up
  int machines = 1000;  // induction machines of 0.1 to 100 kW
  int first = 0;        // of these
  int others = 300;     // draws for each of the other models
  std::uint64_t seed = 1;
  std::vector<std::string> only;  // start-up, machines, speedless, sparse, others
  std::string machine_rows;       // CSV: what became of each machine
  std::string json;
};

bool run_identification(const IdentificationOptions& options);

}  // namespace tellegen
