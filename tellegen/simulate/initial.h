// Consistent initial values: from what the user gave to all variables and rates at t = 0.
//
//   F(x, r, 0) = 0                       the tableau
//   d = given, or r = 0 (steady)         for every state d
//   r = signed sum of other rates        for every redundant one
//
// Newton with exponentials limited between iterations; where that fails, conductances from every node to the
// datum that shrink to nothing (gmin stepping), then the sources raised from zero (source stepping).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tellegen/equations/storage.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {

// A study that could not be finished: at what time, and which variables or equations stand out.
class SimulationError : public std::runtime_error {
 public:
  SimulationError(const std::string& message, double t) : std::runtime_error(message), t(t) {}
  double t;
};

struct InitialState {
  std::vector<double> x, rates;
};

// Throws ModelError where the given values contradict each other, SimulationError where Newton fails.
InitialState find_initial_state(Tableau& tableau, const Storage& storage);

}  // namespace tellegen
