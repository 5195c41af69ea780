// The thermal benchmark problems and records of them, for the tests of this folder and of those above it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tellegen/model/test_text.h"
#include "tellegen/records/record.h"
#include "tellegen/records/sensor_slopes.h"

namespace tellegen {

inline Model twin_model_file(const std::string& file) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(TELLEGEN_SOURCE_DIR "/models/" + file, options);
}

inline std::vector<int> parameters_of(const Model& model, const std::vector<std::string>& names) {
  std::vector<int> found;
  for (const std::string& name : names)
    for (std::size_t k = 0; k < model.parameters.size(); ++k)
      if (model.parameters[k].name == name) found.push_back(static_cast<int>(k));
  return found;
}

inline std::vector<int> sensors_of(const Model& model, const std::vector<std::string>& names) {
  std::vector<int> found;
  for (const std::string& name : names)
    for (std::size_t k = 0; k < model.outputs.size(); ++k)
      if (model.outputs[k].name == name && model.outputs[k].sensor) found.push_back(static_cast<int>(k));
  return found;
}

// Rows without readings.
inline Record rows_of(std::vector<int> sensors, double step, std::int64_t rows) {
  Record record;
  record.sensors = std::move(sensors);
  record.step = step;
  record.steps = rows;
  record.readings.assign(record.sensors.size() * static_cast<std::size_t>(rows),
                         std::numeric_limits<double>::quiet_NaN());
  return record;
}

// Readings of the model as it stands, with the noise of its sensors: splitmix64 [Steele 2014] and the
// transformation of Box and Muller.
inline void read_with_noise(const Model& model, Record& record, std::uint64_t seed) {
  SimulationOptions integration;
  integration.method = integration.form = integration.start = "";
  integration.compile = false;
  const SensorSlopes run = sensor_slopes(model, record, {}, integration);
  std::uint64_t state = seed * 0x2545f4914f6cdd1d;
  const auto uniform = [&] {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  };
  for (std::size_t k = 0; k < record.readings.size(); ++k) {
    const double noise = model.outputs[record.sensors[k % record.sensors.size()]].noise.value_or(0.0);
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    record.readings[k] = run.values[k] + noise * radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
}

}  // namespace tellegen
