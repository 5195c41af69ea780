#include "tellegen/identify/relations.h"

#include <cmath>
#include <optional>

#include "tellegen/estimate/sensor_slopes.h"

namespace tellegen {
namespace {

// Straight between the readings that are there, level beyond them; empty: none is.
std::optional<Signal> readings_of(const Record& record, std::size_t sensor) {
  std::vector<double> values(static_cast<std::size_t>(record.steps));
  std::int64_t last = -1;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const double reading = record.reading(row, sensor);
    if (std::isnan(reading)) continue;
    const double before = last < 0 ? reading : values[last];
    for (std::int64_t k = last + 1; k < row; ++k)
      values[k] =
          before + (reading - before) * static_cast<double>(k - last) / static_cast<double>(row - last);
    values[row] = reading;
    last = row;
  }
  if (last < 0) return std::nullopt;
  for (std::int64_t k = last + 1; k < record.steps; ++k) values[k] = values[last];
  return Signal(std::move(values));
}

}  // namespace

Relations derive_relations(const Model& model, const Record& record, const std::vector<int>& unknowns) {
  const Model given = with_inputs(model, record);
  ReductionRequest request;
  request.unknowns = unknowns;
  for (std::int64_t row = 0; row < record.steps; ++row) request.times.push_back(record.time(row));
  for (std::size_t s = 0; s < record.sensors.size(); ++s) {
    const ModelOutput& sensor = given.outputs[record.sensors[s]];
    if (std::optional<Signal> readings = readings_of(record, s))
      request.readings.push_back({sensor.name, sensor.value, std::move(*readings)});
  }
  return reduce_to_states(given, request);
}

}  // namespace tellegen
