// Consistent initial values: from what the user gave to all variables and rates at t = 0.
//
//   F(x, r, 0) = 0                       the tableau
//   d = given, or r = 0 (steady)         for every state d
//   r = signed sum of other rates        for every redundant one
//
// A value given to a node holds as if a source fed the node until just before the start: the states are found
// with that source, and everything else without it. Discrete variables are taken over until none changes.
//
// Newton with exponentials limited between iterations; where that fails, conductances from every node to the
// datum that shrink to nothing (gmin stepping), then the sources raised from zero (source stepping).
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tellegen/equations/storage.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {

// A study that could not be finished: at what time, and which variables or equations stand out.
class SimulationError : public std::runtime_error {
 public:
  SimulationError(const std::string& message, double t, std::vector<std::string> details = {})
      : std::runtime_error(message), t(t), details(std::move(details)) {}
  double t;
  std::vector<std::string> details;  // why, and what would mend it
};

struct InitialState {
  std::vector<double> x, rates;
  std::vector<double> held;  // discrete variables
};

// Throws ModelError where the equations are singular or the given values contradict each other,
// SimulationError where Newton fails. Leaves the tableau's discrete variables as they are at the start.
InitialState find_initial_state(Tableau& tableau, const Storage& storage);

// After an event: states keep their values, everything else is found anew with the discrete variables that
// the tableau now holds. The structure is analysed once and used for every event of a run.
class Reinitialisation {
 public:
  Reinitialisation(Tableau& tableau, const Storage& storage);
  ~Reinitialisation();
  bool find(double t, InitialState& state);  // false where Newton fails; the state is then unchanged

 private:
  std::unique_ptr<class InitialProblem> problem_;
};

}  // namespace tellegen
