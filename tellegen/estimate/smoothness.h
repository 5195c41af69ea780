// Tables whose values are unknown and vary smoothly.
//
// Along each axis a value lies near the straight line between its neighbours, at distance 0 with the standard
// deviation that [unknowns] gives:
//
//   (v_k - ((x_k+1 - x_k) v_k-1 + (x_k - x_k-1) v_k+1) / (x_k+1 - x_k-1)) / smoothness = 0 +- 1
//
// One such row is a reading that costs no sensor. Straight lines satisfy it whatever their slope, so the
// level and the slope of a table come from the readings alone, and what no reading reaches continues
// straight. [Eilers 1996] Statistical Science 11, 89: penalties on differences, here of uneven points.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

using SmoothRow = std::vector<std::pair<int, double>>;  // index into `parameters`, and its factor
// Rows of tables that lie among the parameters with all three of their values.
std::vector<SmoothRow> smooth_rows(const Model& model, std::span<const int> parameters);

}  // namespace tellegen
