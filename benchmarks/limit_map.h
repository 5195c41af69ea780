// A bicubic map as one would write it by hand for its one grid: interval by std::upper_bound, or by division
// where the points are known to be at equal distances; values and slopes at four corners, Hermite's cubics.
#pragma once

#include <cstddef>
#include <vector>

namespace tellegen {

struct HandMap {
  std::vector<double> x, y;   // strictly increasing
  std::vector<double> point;  // value, d/dx, d/dy, d2/dxdy; y runs first
  bool equal_distances = false;
};

// `count` positions, all inside.
void look_up_by_hand(const HandMap& map, const double* a, const double* b, double* values, std::size_t count);

}  // namespace tellegen
