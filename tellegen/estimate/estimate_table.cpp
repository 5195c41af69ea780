#include "tellegen/estimate/estimate_table.h"

#include "tellegen/model/units.h"

namespace tellegen {

double deviation_in_unit(double si, const std::string& unit) {
  return unit.empty() ? si : units().from_si(si, unit) - units().from_si(0.0, unit);
}

Trajectory table_of(const Estimate& estimate, const Model& model, const Record& record) {
  Trajectory table;
  const bool smooth = !estimate.smooth.empty();
  const std::size_t sensors = record.sensors.size(), width = estimate.quantities.size();
  for (const EstimatedQuantity& q : estimate.quantities)
    for (const char* part : {"", "_sd", "_smooth", "_smooth_sd"}) {
      if (!smooth && std::string_view(part).starts_with("_smooth")) continue;
      table.names.push_back(q.name + part);
      table.units.push_back(q.unit);
    }
  for (int s : record.sensors)
    for (const char* part : {"innovation_", "innovation_sd_"}) {
      table.names.push_back(part + model.outputs[s].name);
      table.units.push_back(model.outputs[s].unit);
    }
  table.t = estimate.t;
  table.values.reserve(estimate.t.size() * table.names.size());
  for (std::size_t row = 0; row < estimate.t.size(); ++row) {
    for (std::size_t q = 0; q < width; ++q) {
      const std::string& unit = estimate.quantities[q].unit;
      const auto value = [&](double si) {
        table.values.push_back(unit.empty() ? si : units().from_si(si, unit));
      };
      const auto spread = [&](double si) { table.values.push_back(deviation_in_unit(si, unit)); };
      value(estimate.mean[row * width + q]);
      spread(estimate.deviation[row * width + q]);
      if (!smooth) continue;
      value(estimate.smooth[row * width + q]);
      spread(estimate.smooth_deviation[row * width + q]);
    }
    for (std::size_t s = 0; s < sensors; ++s) {
      const std::string& unit = model.outputs[record.sensors[s]].unit;
      table.values.push_back(deviation_in_unit(estimate.innovation[row * sensors + s], unit));
      table.values.push_back(deviation_in_unit(estimate.innovation_deviation[row * sensors + s], unit));
    }
  }
  return table;
}

}  // namespace tellegen
