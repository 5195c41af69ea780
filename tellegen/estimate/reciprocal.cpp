#include "tellegen/estimate/reciprocal.h"

#include <cmath>

namespace tellegen {

std::optional<Vector> reciprocal_scaling(const SlopeRows& f, const std::vector<std::int32_t>& own) {
  std::vector<std::int32_t> index(f.rows(), -1);
  for (std::size_t k = 0; k < own.size(); ++k) index[own[k]] = static_cast<std::int32_t>(k);
  const auto entry = [&](std::int32_t row, std::int32_t column) {
    for (auto k = f.start[row]; k < f.start[row + 1]; ++k)
      if (f.column[k] == column) return f.value[k];
    return 0.0;
  };
  Vector weight = Vector::Zero(static_cast<long>(own.size()));
  std::vector<std::int32_t> open;
  for (std::int32_t first : own) {
    if (weight[index[first]] != 0.0) continue;
    weight[index[first]] = 1.0;
    open.assign(1, first);
    while (!open.empty()) {
      const std::int32_t i = open.back();
      open.pop_back();
      for (auto k = f.start[i]; k < f.start[i + 1]; ++k) {
        const std::int32_t j = f.column[k];
        if (j == i || index[j] < 0 || f.value[k] == 0.0) continue;
        const double back = entry(j, i), ratio = f.value[k] / back;
        if (back == 0.0 || !(ratio > 0.0)) return std::nullopt;
        const double expected = weight[index[i]] * ratio;
        double& found = weight[index[j]];
        if (found == 0.0) {
          found = expected;
          open.push_back(j);
        } else if (std::abs(found - expected) > 1e-9 * found) {
          return std::nullopt;
        }
      }
    }
  }
  return weight.cwiseSqrt();
}

}  // namespace tellegen
