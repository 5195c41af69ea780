#include "tellegen/estimate/tune.h"

#include <algorithm>
#include <cmath>

namespace tellegen {

std::vector<double> minimise(std::vector<double> start, double size,
                             const std::function<double(const std::vector<double>&)>& function) {
  const std::size_t n = start.size();
  struct Corner {
    std::vector<double> at;
    double value;
  };
  std::vector<Corner> simplex{{start, function(start)}};
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double> at = start;
    at[k] += size;
    simplex.push_back({at, function(at)});
  }
  const auto along = [&](const std::vector<double>& centre, const std::vector<double>& from, double factor) {
    std::vector<double> at(n);
    for (std::size_t k = 0; k < n; ++k) at[k] = centre[k] + factor * (from[k] - centre[k]);
    return Corner{at, function(at)};
  };
  for (std::size_t round = 0; round < 200 * n; ++round) {
    std::sort(simplex.begin(), simplex.end(),
              [](const Corner& a, const Corner& b) { return a.value < b.value; });
    double spread = 0.0;
    for (std::size_t k = 0; k < n; ++k)
      spread = std::max(spread, std::abs(simplex.back().at[k] - simplex.front().at[k]));
    if (spread < 1e-3 * size) break;
    std::vector<double> centre(n, 0.0);
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t k = 0; k < n; ++k) centre[k] += simplex[c].at[k] / static_cast<double>(n);
    const Corner mirrored = along(centre, simplex.back().at, -1.0);
    if (mirrored.value < simplex.front().value) {
      const Corner further = along(centre, simplex.back().at, -2.0);
      simplex.back() = further.value < mirrored.value ? further : mirrored;
    } else if (mirrored.value < simplex[n - 1].value) {
      simplex.back() = mirrored;
    } else {
      const Corner nearer =
          along(centre, simplex.back().at, mirrored.value < simplex.back().value ? -0.5 : 0.5);
      if (nearer.value < std::min(simplex.back().value, mirrored.value)) {
        simplex.back() = nearer;
      } else {
        for (std::size_t c = 1; c <= n; ++c) simplex[c] = along(simplex.front().at, simplex[c].at, 0.5);
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end(),
                          [](const Corner& a, const Corner& b) { return a.value < b.value; })
      ->at;
}

}  // namespace tellegen
