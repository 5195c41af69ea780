#include "benchmarks/twin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/tellegen_math.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

const std::vector<TwinSection>& twin_sections() {
  static const std::vector<TwinSection> sections{
      {"rc", "the RC benchmark: resistances, capacities, source, state", twin_rc},
      {"calibration", "batch calibration of the RC benchmark and of the inverter", twin_calibration},
      {"inverter", "an inverter's junction temperatures from three sensors, cases 1 to 4", twin_inverter},
      {"ageing", "a resistance of the inverter that rises during the drive", twin_ageing},
      {"tuning", "the inverter's resistances and capacitances in the published form", twin_tuning},
      {"stack_twin", "the inverter's twin on readings of its finite-volume model", twin_stack},
      {"speed", "a step of the estimator beside a filter written by hand", twin_speed},
      {"soak", "many steps with lost, missing and stuck readings", twin_soak},
  };
  return sections;
}

bool run_twin_benchmark(const TwinBenchmarkOptions& options) {
  Report report;
  for (const TwinSection& section : twin_sections())
    if (options.only.empty() ||
        std::find(options.only.begin(), options.only.end(), section.name) != options.only.end())
      section.run(report, options);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

Model benchmark_model(const std::string& file, const std::vector<std::pair<std::string, double>>& numbers) {
  Model model = read_model(std::filesystem::path(TELLEGEN_SOURCE_DIR) / "models" / file);
  std::vector<int> parameters;
  std::vector<double> values;
  for (const auto& [name, value] : numbers) {
    parameters.push_back(study_parameter(model, name));
    values.push_back(value);
  }
  if (!parameters.empty()) set_parameters(model, parameters, values);
  return model;
}

double Truth::at(std::size_t row, std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return values[row * names.size() + static_cast<std::size_t>(found - names.begin())];
}

Truth simulate_truth(const Model& model, double stop, double step, const std::string& method) {
  SimulationOptions options;
  options.method = method;
  options.stop = stop;
  options.step = step;
  std::vector<OutputColumn> outputs;
  for (const ModelOutput& o : model.outputs) outputs.push_back({o.name, "", o.value});
  Simulation simulation(model, complete_options(model, options), outputs);
  const SimulationResult result = simulation.run();
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  return {result.names, result.t, result.values};
}

std::vector<double> column_of(const Truth& truth, std::string_view name) {
  std::vector<double> values;
  for (std::size_t row = 0; row < truth.t.size(); ++row) values.push_back(truth.at(row, name));
  return values;
}

Record noisy_record(const Model& model, const Truth& truth, const std::vector<std::string>& sensors,
                    unsigned seed) {
  Record record;
  for (const std::string& name : sensors)
    for (std::size_t k = 0; k < model.outputs.size(); ++k)
      if (model.outputs[k].name == name) record.sensors.push_back(static_cast<int>(k));
  record.step = truth.t[1] - truth.t[0];
  record.start = truth.t[0];
  record.steps = static_cast<std::int64_t>(truth.t.size());
  record.counts.resize(sensors.size());
  for (std::size_t row = 0; row < truth.t.size(); ++row)
    for (std::size_t s = 0; s < sensors.size(); ++s)
      record.readings.push_back(
          truth.at(row, sensors[s]) +
          model.outputs[record.sensors[s]].noise.value_or(0.0) *
              tellegen_gauss(1000.0 * seed + static_cast<double>(s), static_cast<double>(row)));
  return record;
}

namespace {

std::size_t index_of(const Estimate& estimate, std::string_view quantity) {
  for (std::size_t k = 0; k < estimate.quantities.size(); ++k)
    if (estimate.quantities[k].name == quantity) return k;
  throw std::runtime_error(fmt::format("'{}' was not estimated", quantity));
}

}  // namespace

SeriesError error_against(const Estimate& estimate, const std::vector<double>& mean,
                          const std::vector<double>& deviation, std::string_view quantity,
                          const std::vector<double>& truth, double from) {
  SeriesError error;
  const std::size_t q = index_of(estimate, quantity), width = estimate.quantities.size();
  double count = 0.0;
  for (std::size_t row = 0; row < estimate.t.size(); ++row) {
    if (estimate.t[row] < from - 1e-12) continue;
    const double e = mean[row * width + q] - truth[row];
    error.mean += e;
    error.rms += e * e;
    error.worst = std::max(error.worst, std::abs(e));
    error.covered += std::abs(e) <= 1.959964 * deviation[row * width + q];
    count += 1.0;
  }
  error.mean /= count;
  error.rms = std::sqrt(error.rms / count);
  error.covered /= count;
  return error;
}

double last_of(const Estimate& estimate, std::string_view quantity) {
  return estimate.mean[(estimate.t.size() - 1) * estimate.quantities.size() + index_of(estimate, quantity)];
}

double last_deviation_of(const Estimate& estimate, std::string_view quantity) {
  return estimate
      .deviation[(estimate.t.size() - 1) * estimate.quantities.size() + index_of(estimate, quantity)];
}

void OverSeeds::add(double error) {
  sum += error * error;
  worst = std::max(worst, std::abs(error));
  ++count;
}

double OverSeeds::rms() const { return std::sqrt(sum / count); }

}  // namespace tellegen
