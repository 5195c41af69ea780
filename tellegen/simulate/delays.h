// Discrete variables that are what a formula was some time ago (equations/delayed.h): the waves that arrive
// at the ends of a transmission line.
//
//   held(t) = x(t - T)
//
// A run keeps the history of every such x, as polynomials of its steps (run_curves.h), for as long as the
// longest delay. No step is longer than the shortest delay, so what arrives within a step has left before it.
// Where x jumps, it arrives as a jump: a breakpoint, until what is left of it (it may be reflected again and
// again) is below the tolerance. Kinks are no breakpoints: the error of steps finds them.
//
// Only `adaptive` keeps such a history; other methods, and derivatives of a run, refuse these models (T322).
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/simulate/run_curves.h"

namespace tellegen {

bool has_delays(const EquationSystem& system);
// Throws ModelError where the method keeps no history and the model needs one, and where a delay stands
// anywhere else than as the whole update of a discrete variable, so in one of these formulas.
void refuse_delays(const EquationSystem& system, std::string_view method,
                   std::span<const Expr> formulas = {});
// At the start: what was at rest has been what its update is now, and from here on nothing is at rest.
void begin_delays(const EquationSystem& system, std::span<const double> updates, std::span<double> held,
                  std::span<double> x);

class Delays {
 public:
  Delays(const EquationSystem& system, std::span<const double> held, double tolerance);
  bool empty() const { return of_.empty(); }
  double shortest() const { return shortest_; }
  double next_jump(double t) const;  // the first arrival of a jump after t
  bool jumps(double t) const;        // whether one arrives then
  // What arrives at t, into `held`. At a jump: what is before it, or behind it.
  void arrive(double t, bool behind, std::span<double> held) const;
  // A step has been taken, or the part of it that is valid. `updates` gives those of all discrete variables.
  using Updates = std::function<bool(double t, std::span<double> updates)>;
  void add_step(double from, double to, const Updates& updates);

 private:
  struct Jump {
    double from, to;  // the instant that the integrator took for it
  };
  double departed(std::size_t wave, double t) const;  // its x at that time
  std::vector<std::int32_t> of_;                      // the discrete variables
  std::vector<double> delay_, start_, largest_;
  double shortest_, longest_ = 0.0, tolerance_;
  std::deque<RunCurves> history_;  // one after the other; each as long as the longest delay, but for a step
  std::deque<Jump> jumps_;
  std::vector<std::deque<double>> arrivals_;  // of the jumps that count, of each wave
  std::vector<double> values_, left_;
};

}  // namespace tellegen
