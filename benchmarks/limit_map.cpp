#include "benchmarks/limit_map.h"

#include <algorithm>

namespace tellegen {
namespace {

std::size_t interval(const std::vector<double>& x, bool equal_distances, double at) {
  if (equal_distances) {
    const double n = static_cast<double>(x.size() - 1);
    return std::min(static_cast<std::size_t>((at - x.front()) * (n / (x.back() - x.front()))), x.size() - 2);
  }
  return static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), at) - x.begin()) - 1;
}

struct Weights {
  double value[2], slope[2];
};

Weights weights(double left, double right, double at) {
  const double h = right - left, u = (at - left) / h;
  const double rise = u * u * (3 - 2 * u);
  return {{1 - rise, rise}, {h * u * (1 - u) * (1 - u), h * u * u * (u - 1)}};
}

double look_up(const HandMap& map, double a, double b) {
  const std::size_t i = interval(map.x, map.equal_distances, a), j = interval(map.y, map.equal_distances, b);
  const Weights u = weights(map.x[i], map.x[i + 1], a), v = weights(map.y[j], map.y[j + 1], b);
  double sum = 0;
  for (int k = 0; k < 2; ++k)
    for (int l = 0; l < 2; ++l) {
      const double* p = &map.point[4 * ((i + k) * map.y.size() + j + l)];
      sum += v.value[l] * (u.value[k] * p[0] + u.slope[k] * p[1]) +
             v.slope[l] * (u.value[k] * p[2] + u.slope[k] * p[3]);
    }
  return sum;
}

}  // namespace

void look_up_by_hand(const HandMap& map, const double* a, const double* b, double* values,
                     std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) values[k] = look_up(map, a[k], b[k]);
}

}  // namespace tellegen
