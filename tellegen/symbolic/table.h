// A one-dimensional table and its interpolation, as used by `lookup` expressions.
//
//   linear   straight lines, the end values held outside
//   hold     the value of the last point passed, the first value held before it
//   cubic    monotone cubic Hermite (Fritsch-Carlson): no overshoot, continuous slope, straight
//            lines continue it outside
//
// Every piece is a cubic in (x - x_k), so value, slope and curvature come from one evaluation, in C
// from runtime/ with the same arithmetic. [Fritsch 1980] SIAM J. Numer. Anal. 17, 238.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

enum class Interpolation { linear, hold, cubic };

struct Table {
  std::string name;       // formal name in a kind, or where the points come from
  std::vector<double> x;  // strictly increasing; empty: a formal table, not yet given
  std::vector<double> c;  // 4 per piece; piece 0 is left of x[0], piece k starts at x[k-1]
  Interpolation interpolation = Interpolation::linear;

  double value(double at, int order = 0) const;  // order-th derivative
};

// x strictly increasing and finite, at least one point; otherwise throws std::invalid_argument.
std::shared_ptr<const Table> make_table(std::string name, std::vector<double> x, std::vector<double> y,
                                        Interpolation interpolation);
std::shared_ptr<const Table> formal_table(std::string_view name);

}  // namespace tellegen
