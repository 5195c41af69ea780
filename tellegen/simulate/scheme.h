// Integration formulas in one shape:
//
//   rate = alpha * value + history        history = sum of past[k] * value k steps ago + past_rate * last
//   rate
//
//   bdf1   (x - x1)/h                                     first order, L-stable
//   bdf2   (3/2 x - 2 x1 + 1/2 x2)/h                      second order, L-stable
//   bdf3   (11/6 x - 3 x1 + 3/2 x2 - 1/3 x3)/h            third order, stable but for a sliver near the
//   imaginary axis tr     2/h (x - x1) - r1                              second order, A-stable, no damping:
//   a wrong rate rings on
//   sdirk  two stages of one step (event_steps.h)         second order, L-stable, needs no past
#pragma once

#include <array>

#include "runtime/tellegen_events.h"

namespace tellegen {

struct Scheme {
  int past_values = 1;  // how many earlier values it uses
  bool uses_rate = false;
  double alpha = 0.0;
  std::array<double, 3> past{};
  double past_rate = 0.0;
  bool operator==(const Scheme&) const = default;
};

inline Scheme bdf(int order, double h) {
  switch (order) {
    case 1:
      return {1, false, 1 / h, {-1 / h, 0, 0}, 0};
    case 2:
      return {2, false, 1.5 / h, {-2 / h, 0.5 / h, 0}, 0};
    default:
      return {3, false, 11.0 / (6 * h), {-3 / h, 1.5 / h, -1 / (3 * h)}, 0};
  }
}
inline Scheme trapezoidal(double h) { return {1, true, 2 / h, {-2 / h, 0, 0}, -1}; }

inline constexpr double sdirk_node = TELLEGEN_SDIRK_NODE;  // where the first stage ends
// The second stage looks past the first, at the value before it, and uses its rate.
inline Scheme sdirk(int stage, double h) {
  const double alpha = 1 / (sdirk_node * h);
  if (stage == 1) return {1, false, alpha, {-alpha, 0, 0}, 0};
  return {2, true, alpha, {0, -alpha, 0}, -(1 - sdirk_node) / sdirk_node};
}

}  // namespace tellegen
