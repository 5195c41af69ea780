#include "tellegen/identify/relations.h"

#include "tellegen/identify/smooth.h"
#include "tellegen/records/sensor_slopes.h"

namespace tellegen {

Relations derive_relations(const Model& model, const Record& record, const std::vector<int>& unknowns,
                           const std::vector<ReductionRequest::Reading>& more, bool products) {
  const Model given = with_inputs(model, record);
  ReductionRequest request;
  request.unknowns = unknowns;
  request.products = products;
  for (std::int64_t row = 0; row < record.steps; ++row) request.times.push_back(record.time(row));
  for (std::size_t s = 0; s < record.sensors.size(); ++s) {
    const ModelOutput& sensor = given.outputs[record.sensors[s]];
    std::vector<double> readings;
    for (std::int64_t row = 0; row < record.steps; ++row) readings.push_back(record.reading(row, s));
    if (readings = smoothed(readings, sensor.noise.value_or(0.0)); !readings.empty())
      request.readings.push_back({sensor.name, sensor.value, Signal(std::move(readings))});
  }
  request.readings.insert(request.readings.end(), more.begin(), more.end());
  return reduce_to_states(given, request);
}

}  // namespace tellegen
