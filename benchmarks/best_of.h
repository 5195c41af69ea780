// Shortest wall time of repeated calls: the run that was disturbed least.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace tellegen {

// Calls f until `budget` seconds are spent, at least three times; returns the shortest call in seconds.
template <class F>
double best_of(F&& f, double budget) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double best = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  for (int call = 0; call < 3 || seconds_since(start) < budget; ++call) {
    const auto begin = Clock::now();
    f();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

}  // namespace tellegen
