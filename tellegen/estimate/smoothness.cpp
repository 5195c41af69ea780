#include "tellegen/estimate/smoothness.h"

#include <algorithm>

namespace tellegen {

std::vector<SmoothRow> smooth_rows(const Model& model, std::span<const int> parameters) {
  std::vector<SmoothRow> rows;
  for (const ParameterTable& table : model.parameter_tables) {
    if (!table.smoothness) continue;
    const auto place = [&](std::size_t k) {
      const auto found = std::find(parameters.begin(), parameters.end(), table.parameters[k]);
      return found == parameters.end() ? -1 : static_cast<int>(found - parameters.begin());
    };
    std::size_t stride = table.parameters.size();
    for (const std::vector<double>& x : table.axes) {
      stride /= x.size();
      for (std::size_t k = 0; k < table.parameters.size(); ++k) {
        const std::size_t i = k / stride % x.size();
        if (i == 0 || i + 1 == x.size()) continue;
        const int before = place(k - stride), own = place(k), behind = place(k + stride);
        if (before < 0 || own < 0 || behind < 0) continue;
        const double width = x[i + 1] - x[i - 1], unit = 1.0 / *table.smoothness;
        rows.push_back({{before, -unit * (x[i + 1] - x[i]) / width},
                        {own, unit},
                        {behind, -unit * (x[i] - x[i - 1]) / width}});
      }
    }
  }
  return rows;
}

}  // namespace tellegen
