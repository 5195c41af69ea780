// A maximum or minimum over samples has a derivative only where one sample has it alone, and where it is not
// at an event between two samples whose time parameters move. What is said where it is otherwise.
#pragma once

#include <cmath>
#include <string>

#include "tellegen/sensitivity/run.h"

namespace tellegen {

inline bool is_extreme(const Observed& observed) {
  return observed.what == Observed::What::maximum || observed.what == Observed::What::minimum;
}

// Whether `value` lies beyond `other`, in the direction of the extreme.
inline bool is_beyond(const Observed& observed, double value, double other) {
  return observed.what == Observed::What::maximum ? value > other : value < other;
}

// Derivatives at a sample and at an event nearby: those of a smooth extreme are nearly the same.
inline bool slopes_differ(double at_sample, double at_event) {
  return std::abs(at_sample - at_event) > 0.02 * (std::abs(at_sample) + std::abs(at_event));
}

std::string shared_extreme(const Observed& observed, double t);
std::string extreme_at_event(const Observed& observed, double event, double t);
std::string event_at_end(const std::string& discrete, double t);

}  // namespace tellegen
