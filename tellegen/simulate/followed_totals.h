// Integrals over the first rows of a run by the variable step, for networks so large that summing up their
// integrands in every stage would be felt (Problem::totals; small ones keep them as states).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tellegen/simulate/esdirk.h"
#include "tellegen/simulate/integrator.h"

namespace tellegen {

struct FollowedTotals {
  std::int64_t rows = 0;  // so many are followed; 0: none
  bool done = false;
  // Integrands, stored energy and exchanged power, at the stages of a step and in the middle of a part of it.
  std::array<std::vector<double>, Esdirk::stages> at;
  std::vector<double> middle, sum;

  void begin(const Problem& problem, std::int64_t all_rows) {
    rows = std::max<std::int64_t>(1, all_rows * 3 / 100);
    for (auto& values : at) values.assign(problem.totals.size() + 2, 0.0);
    std::copy(problem.totals_start.begin(), problem.totals_start.end(), at[0].begin());
    middle = sum = at[1];
  }
  bool active() const { return rows > 0 && !done; }
  std::vector<double>& end() { return at[Esdirk::stages - 1]; }
  void add_step(double length) {
    for (std::size_t k = 0; k < sum.size(); ++k)
      for (int i = 0; i < Esdirk::stages; ++i) sum[k] += length * Esdirk::a[Esdirk::stages - 1][i] * at[i][k];
    at[0] = end();
  }
  // Of a step that an event cuts short: Simpson's rule.
  void add_part(double length) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += length / 6 * (at[0][k] + 4 * middle[k] + end()[k]);
    at[0] = end();
  }
  Totals totals(std::int64_t stride) const {
    if (!done) return {};
    return {{sum.begin(), sum.end() - 2}, rows * stride, -1, at[0][sum.size() - 2], sum.back()};
  }
};

}  // namespace tellegen
