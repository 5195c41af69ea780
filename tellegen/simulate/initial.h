// Consistent initial values: from what the user gave to all variables and rates at t = 0.
//
//   F(x, r, 0) = 0                       the tableau
//   d = given, or r = 0 (steady)         for every state d
//   r = signed sum of other rates        for every redundant one
//
// A value given to a node holds as if a source fed the node until just before the start, and a steady state
// is that of sources which rest at their values of t = 0: their slopes do not enter it, also where a source
// and storage form a circuit or cutset. In both cases the states are found first, so, and then everything
// else from the states, with sources as they are. Discrete variables are taken over until none changes.
//
// Newton with exponentials limited between iterations; where that fails, conductances from every node to the
// datum that shrink to nothing (gmin stepping), then the sources raised from zero (source stepping),
// then storage moving on in time, in steps that grow without end (pseudo-transient).
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tellegen/equations/storage.h"
#include "tellegen/simulate/parameter_derivatives.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {

// A study that could not be finished: at what time, and which variables or equations stand out.
class SimulationError : public std::runtime_error {
 public:
  SimulationError(const std::string& message, double t, std::vector<std::string> details = {})
      : std::runtime_error(message), t(t), details(std::move(details)) {}
  double t;
  std::vector<std::string> details;  // why, and what would help
};

struct InitialState {
  std::vector<double> x, rates;
  std::vector<double> held;  // discrete variables
  // Where the states were found with nodes held or sources at rest: everything as it was then. Else empty.
  std::vector<double> x_before, rates_before;
  std::vector<double> x_sampled;  // columns when variables with a sample time were taken over
};

// Throws ModelError where the equations are singular or the given values contradict each other,
// SimulationError where Newton fails. Leaves the tableau's discrete variables as they are at the start.
// The rate of storage that follows a controlled source is not known from the source alone: refused (T212), or
// zero, for a method that finds it itself.
enum class UnknownRates { refused, zero };
InitialState find_initial_state(Tableau& tableau, const Storage& storage,
                                UnknownRates unknown = UnknownRates::refused);

// After an event: states keep their values, everything else is found anew with the discrete variables that
// the tableau now holds. The structure is analysed once and used for every event of a run.
class Reinitialisation {
 public:
  Reinitialisation(Tableau& tableau, const Storage& storage, UnknownRates unknown = UnknownRates::refused);
  ~Reinitialisation();
  bool find(double t, InitialState& state);  // false where Newton fails; the state is then unchanged
  // The same without a guess for what is no state, by gmin and source stepping too. Throws as above.
  void find_afresh(double t, InitialState& state);
  std::int64_t iterations() const;  // of Newton, of all solutions together

 private:
  std::unique_ptr<class InitialProblem> problem_;
};

// Consistent values, differentiated at a point: how all variables and rates follow from a change of the
// equations and of the states. The same linear equations for parameters, for time, and against time.
//
//   M [dx; dr] = b       rows: the tableau, then for each rate: the state's value, its rate where it is
//   steady,
//                        or (redundant storage) the rate that follows from others
class ConsistentDirections {
 public:
  // At the start, given values may be expressions of parameters; after an event, states are what they are.
  enum class At { start, event };
  ConsistentDirections(Tableau& tableau, const Storage& storage, At at);
  ~ConsistentDirections();
  ConsistentDirections(ConsistentDirections&&) noexcept;

  // At the start: whether only the states are taken from here, and everything else follows from them.
  bool is_first_of_two() const;
  bool factor(const InitialState& state, double t);  // false: singular
  std::int32_t size() const;                         // of b; at the start it may have further rows
  bool is_state(std::int32_t rate) const;            // whether its row takes a state's value
  void solve(std::span<double> b) const;             // in place: [dx | dr]
  void solve_transposed(std::span<double> b) const;

  // What stands in the rows of the rates for parameters: d(given value)/dp at the start, and d/dp of what
  // sources and couplings prescribe for redundant storage.
  std::vector<DerivativeEntry> rate_entries(std::span<const int> wrt, double t) const;

 private:
  std::unique_ptr<class InitialProblem> problem_;
  At at_;
};

}  // namespace tellegen
