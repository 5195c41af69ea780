// What both loops of classical Runge-Kutta steps have (rk4.cpp, iterated_rk4.cpp).
#pragma once

#include <algorithm>
#include <memory>

#include "tellegen/simulate/integrator.h"

namespace tellegen {

// Where the minimal form has no formulas: Newton on all its unknowns at every stage.
std::unique_ptr<Integrator> iterated_rk4(const Problem& problem);

inline constexpr double least_part = 1e-6;  // of a step: nothing is shorter

// Where something first wants to change between `from` and `to`, to so many bisections: at `to` itself, or
// not nearer to either end than the shortest part. `wants_change`: whether it does by a time.
template <class WantsChange>
double first_event(double from, double to, double shortest, int bisections, WantsChange wants_change) {
  double before = from, at = to;
  for (int k = 0; k < bisections; ++k) {
    const double middle = 0.5 * (before + at);
    (wants_change(middle) ? at : before) = middle;
  }
  at = std::max(at, from + shortest);
  return at > to - shortest ? to : at;
}

}  // namespace tellegen
