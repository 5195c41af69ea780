#include "tellegen/results/trajectory.h"

#include <algorithm>
#include <cassert>

namespace tellegen {

std::optional<std::size_t> Trajectory::find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

void Trajectory::append(double time, std::span<const double> row) {
  assert(row.size() == names.size());
  t.push_back(time);
  values.insert(values.end(), row.begin(), row.end());
}

}  // namespace tellegen
