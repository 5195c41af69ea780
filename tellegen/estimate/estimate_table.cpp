#include "tellegen/estimate/estimate_table.h"

#include <algorithm>
#include <limits>

#include "tellegen/model/units.h"

namespace tellegen {

EstimateColumns::EstimateColumns(const Model& model, const std::vector<int>& sensors,
                                 std::vector<EstimatedQuantity> quantities, bool smooth)
    : quantities_(std::move(quantities)), smooth_(smooth) {
  for (const EstimatedQuantity& q : quantities_)
    for (const char* part : {"", "_sd", "_smooth", "_smooth_sd"}) {
      if (!smooth && std::string_view(part).starts_with("_smooth")) continue;
      names_.push_back(q.name + part);
      units_.push_back(q.unit);
    }
  for (int s : sensors) {
    sensor_units_.push_back(model.outputs[s].unit);
    for (const char* part : {"innovation_", "innovation_sd_"}) {
      names_.push_back(part + model.outputs[s].name);
      units_.push_back(model.outputs[s].unit);
    }
  }
}

void EstimateColumns::convert(const Row& row, std::vector<double>& out) const {
  out.clear();
  for (std::size_t q = 0; q < quantities_.size(); ++q) {
    const std::string& unit = quantities_[q].unit;
    const auto value = [&](double si) {
      out.push_back(unit.empty() ? si : tellegen::units().from_si(si, unit));
    };
    value(row.mean[q]);
    out.push_back(deviation_in_unit(row.deviation[q], unit));
    if (!smooth_) continue;
    value(row.smooth[q]);
    out.push_back(deviation_in_unit(row.smooth_deviation[q], unit));
  }
  for (std::size_t s = 0; s < sensor_units_.size(); ++s) {
    out.push_back(deviation_in_unit(row.innovation[s], sensor_units_[s]));
    out.push_back(deviation_in_unit(row.innovation_deviation[s], sensor_units_[s]));
  }
}

Trajectory table_of(const Estimate& estimate, const Model& model, const Record& record) {
  const bool smooth = !estimate.smooth.empty();
  const std::size_t sensors = record.sensors.size(), width = estimate.quantities.size();
  const EstimateColumns columns(model, record.sensors, estimate.quantities, smooth);
  Trajectory table;
  table.names = columns.names();
  table.units = columns.units();
  table.t = estimate.t;
  table.values.reserve(estimate.t.size() * table.names.size());
  std::vector<double> cells;
  const auto part = [](const std::vector<double>& of, std::size_t row, std::size_t size) {
    return of.empty() ? std::span<const double>() : std::span(of).subspan(row * size, size);
  };
  for (std::size_t row = 0; row < estimate.t.size(); ++row) {
    columns.convert(
        {part(estimate.mean, row, width), part(estimate.deviation, row, width),
         part(estimate.smooth, row, width), part(estimate.smooth_deviation, row, width),
         part(estimate.innovation, row, sensors), part(estimate.innovation_deviation, row, sensors)},
        cells);
    table.values.insert(table.values.end(), cells.begin(), cells.end());
  }
  return table;
}

void summarise(Estimate& e) {
  const std::size_t width = e.quantities.size();
  e.rows = static_cast<std::int64_t>(e.t.size());
  e.ranges.clear();
  for (std::size_t q = 0; q < width && !e.t.empty(); ++q) {
    const std::size_t last = (e.t.size() - 1) * width + q;
    Estimate::Range range{e.mean[last], e.deviation[last], std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()};
    for (std::size_t k = q; k < e.mean.size(); k += width) {
      range.lowest = std::min(range.lowest, e.mean[k]);
      range.highest = std::max(range.highest, e.mean[k]);
    }
    e.ranges.push_back(range);
  }
}

}  // namespace tellegen
