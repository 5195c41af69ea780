// A table of one to three arguments and its interpolation, as used by `lookup` expressions.
//
//   linear   straight lines, the end values held outside
//   hold     the value of the last point passed, the first value held before it
//   cubic    monotone cubic Hermite (Fritsch-Carlson): no overshoot, continuous slope, straight
//            lines continue it outside
//
// Every piece is a cubic in (x - x_k), so value, slope and curvature come from one evaluation, in C
// from runtime/ with the same arithmetic. Grids of two and three arguments are the same along each axis,
// cubics with the slopes of such lines and their differences across (bicubic Hermite). [Fritsch 1980] SIAM J.
// Numer. Anal. 17, 238.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

enum class Interpolation { linear, hold, cubic };

struct Table {
  std::string name;       // formal name in a kind, or where the points come from
  std::vector<double> x;  // strictly increasing; of one argument
  std::vector<double> c;  // 4 per piece; piece 0 is left of x[0], piece k starts at x[k-1]. Empty: formal
  Interpolation interpolation = Interpolation::linear;
  int dimensions = 1;
  std::vector<std::vector<double>> axes{};  // of two or three; then c are values, or values and slopes
  // How the runtime finds its way along an axis (runtime/tellegen_math.h).
  struct Guide {
    double scale = 0;
    std::vector<int> intervals{};
  };
  std::vector<Guide> guides{};  // one for each axis
  // Where its values are parameters it is a sum: each of them times what it is without the others.
  struct Term {
    std::string parameter;  // its symbol
    std::shared_ptr<const Table> shape;
  };
  std::vector<Term> terms{};

  bool formal() const { return c.empty(); }      // a name in a kind, not yet given
  int grid_interpolation() const;                // as the runtime counts them
  double value(double at, int order = 0) const;  // order-th derivative, of one argument
  // Of any number; the order by argument d stands in bits 2d and 2d + 1.
  double value_at(const double* at, int order = 0) const;
};

// The order of the derivative of one more by an argument; nothing where it is zero everywhere.
std::optional<int> next_order(const Table& table, int order, std::size_t argument);

// x strictly increasing and finite, at least one point; otherwise throws std::invalid_argument.
std::shared_ptr<const Table> make_table(std::string name, std::vector<double> x, std::vector<double> y,
                                        Interpolation interpolation, bool monotone = true);
// Values on the grid of two or three axes, the last axis running first.
std::shared_ptr<const Table> make_grid(std::string name, std::vector<std::vector<double>> axes,
                                       std::vector<double> values, Interpolation interpolation,
                                       bool monotone = true);
std::shared_ptr<const Table> formal_table(std::string_view name, int dimensions = 1);

// The values at the points, the last axis running first; and the same table with parameters of these symbols
// in their place. A cubic one is then not kept monotone: slopes that are would be no sum of terms.
std::vector<double> values_of(const Table& table);
std::shared_ptr<const Table> with_parameters(const Table& table, const std::vector<std::string>& symbols);

}  // namespace tellegen
