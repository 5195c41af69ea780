#include "tellegen/estimate/innovation_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/estimate/inconsistency.h"

namespace tellegen {
namespace {

constexpr std::int64_t one_stretch = 16;  // rows between two that are one

}  // namespace

InnovationMonitor::InnovationMonitor(std::vector<std::string> sensors, double step, std::int64_t rows)
    : step_(step), expected_(rows) {
  for (std::string& name : sensors) sensors_.push_back({std::move(name), 0, 0, 0, 0.0, 0.0, {}});
}

std::vector<InconsistentStretch> InnovationMonitor::add(std::span<const double> t,
                                                        std::span<const double> innovation,
                                                        std::span<const double> deviation,
                                                        std::span<const char> refused) {
  const std::size_t width = sensors_.size();
  std::vector<InconsistentStretch> found;
  if (width == 0) return found;
  normal_.resize(innovation.size());
  for (std::size_t k = 0; k < normal_.size(); ++k) {
    const double z = innovation[k] / deviation[k];
    normal_[k] = refused[k] ? INFINITY : z;
    Sensor& sensor = sensors_[k % width];
    sensor.whiteness.add(refused[k] ? std::nan("") : z);
    if (refused[k])
      ++sensor.refused;
    else if (std::isnan(z))
      ++sensor.missing;
    if (refused[k] || std::isnan(z)) continue;
    ++sensor.used;
    sensor.sum += z;
    sensor.squares += z * z;
  }
  const auto rows = static_cast<std::int64_t>(normal_.size() / width);
  for (const Inconsistency& i : inconsistencies(normal_, width, step_, std::max(expected_, row_ + rows))) {
    const std::int64_t first = row_ + i.from, last = row_ + i.to;
    found.push_back({sensors_[i.sensor].name, t[static_cast<std::size_t>(i.from)],
                     t[static_cast<std::size_t>(i.to)], first, last, i.ratio, !i.from_window});
  }
  // One that goes on behind the end of a block is one.
  for (const InconsistentStretch& stretch : found) {
    const auto before =
        std::find_if(stretches_.rbegin(), stretches_.rend(), [&](const InconsistentStretch& s) {
          return row_ > 0 && s.sensor == stretch.sensor && s.last < row_ &&
                 stretch.first - s.last <= one_stretch;
        });
    const bool full = stretches_.size() >= most_stretches;
    if (before == stretches_.rend() && !full) {
      stretches_.push_back(stretch);
      continue;
    }
    InconsistentStretch& extended = before == stretches_.rend() ? stretches_.back() : *before;
    extended.to = std::max(extended.to, stretch.to);
    extended.last = std::max(extended.last, stretch.last);
    extended.ratio = std::max(extended.ratio, stretch.ratio);
  }
  row_ += rows;
  return found;
}

std::vector<SensorStatistics> InnovationMonitor::statistics() const {
  std::vector<SensorStatistics> all;
  for (const Sensor& sensor : sensors_) {
    SensorStatistics& out = all.emplace_back();
    out.name = sensor.name;
    out.used = sensor.used, out.missing = sensor.missing, out.refused = sensor.refused;
    if (sensor.used == 0) continue;
    out.mean = sensor.sum / static_cast<double>(sensor.used);
    out.variance = sensor.squares / static_cast<double>(sensor.used);
    out.whiteness = sensor.whiteness.probability();
  }
  return all;
}

std::vector<std::string> InnovationMonitor::warnings() const {
  std::vector<std::string> all;
  for (const SensorStatistics& s : statistics()) {
    if (s.used == 0) continue;
    if (s.whiteness < 1e-3)
      all.push_back(fmt::format(
          "the innovation of '{}' is not white (probability {:.1e}): the model or its process noise "
          "does not explain the readings",
          s.name, s.whiteness));
    const double spread = std::sqrt(2.0 / static_cast<double>(s.used));
    if (std::abs(s.variance - 1.0) > 5.0 * spread + 0.05)
      all.push_back(fmt::format("the innovation of '{}' has {:.2f} times the variance the filter expects",
                                s.name, s.variance));
  }
  return all;
}

}  // namespace tellegen
