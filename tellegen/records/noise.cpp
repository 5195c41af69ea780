#include "tellegen/records/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/tellegen_math.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/records/reading_check.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {
namespace {

constexpr std::uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);  // of SplitMix64

enum Purpose : std::uint64_t {
  of_noise,
  of_loss,
  of_bursts,
  of_stuck,
  of_outliers,
  of_signs,
  of_late,
  of_delay
};

void check_disturbances(const DisturbanceOptions& options) {
  FaultList faults;
  const auto probability = [&](double p, const char* what) {
    if (p >= 0.0 && p <= 1.0) return;
    faults.add({"synthesize", 0}, "T599",
               fmt::format("{} is a probability from 0 to 1, and is {:g}", what, p));
  };
  const auto stretches = [&](const DisturbanceOptions::Stretches& s, const char* what) {
    if (std::isfinite(s.rate) && s.rate >= 0.0 && s.length >= 0.0 && (s.rate == 0.0 || s.length > 0.0))
      return;
    faults.add({"synthesize", 0}, "T599",
               fmt::format("{} need a rate and a length above 0, and have {:g} per second and {:g} s", what,
                           s.rate, s.length));
  };
  probability(options.loss, "the loss");
  probability(options.outliers, "that of outliers");
  probability(options.late, "that of late readings");
  stretches(options.bursts, "bursts");
  stretches(options.stuck, "stuck stretches");
  if (!(options.delay >= 0.0) || (options.late > 0.0 && options.delay == 0.0))
    faults.add({"synthesize", 0}, "T599", "late readings need a delay above 0");
  if (!std::isfinite(options.outlier_size))
    faults.add({"synthesize", 0}, "T599", "the size of outliers must be finite");
  faults.throw_if_any();
}

// Rows that lie in stretches: one may begin at any row that is in none.
class Stretch {
 public:
  Stretch(const DisturbanceOptions::Stretches& options, double step, RandomSequence random)
      : random_(random),
        begins_(options.rate * step),
        rows_(std::max<std::int64_t>(1, std::llround(options.length / step))) {}

  bool covers(std::int64_t row) {
    began_ = false;
    if (row < end_) return true;
    if (begins_ == 0.0 || random_.uniform(row) >= begins_) return false;
    began_ = true;
    end_ = row + rows_;
    return true;
  }
  bool began() const { return began_; }  // at the row just asked for

 private:
  RandomSequence random_;
  double begins_;
  std::int64_t rows_, end_ = 0;
  bool began_ = false;
};

}  // namespace

RandomSequence::RandomSequence(std::uint64_t seed, std::string_view name, std::uint64_t purpose) {
  std::uint64_t hash = UINT64_C(0xcbf29ce484222325);  // FNV-1a
  for (unsigned char c : name) hash = (hash ^ c) * UINT64_C(0x100000001b3);
  key_ = tellegen_mix(tellegen_mix(tellegen_mix(seed + golden) + hash) + purpose);
}

double RandomSequence::uniform(std::int64_t k) const {
  return static_cast<double>(tellegen_mix(key_ + (static_cast<std::uint64_t>(k) + 1) * golden) >> 11) *
         0x1p-53;
}

double RandomSequence::normal(std::int64_t k) const {
  return tellegen_gauss(static_cast<double>(key_ >> 11), static_cast<double>(k));
}

Rehearsal rehearse(Model model, const SimulationOptions& given, bool all_variables,
                   const std::function<void(double)>& progress) {
  Rehearsal rehearsal;
  Record& record = rehearsal.record;
  for (std::size_t k = 0; k < model.outputs.size(); ++k)
    if (model.outputs[k].sensor) record.sensors.push_back(static_cast<int>(k));
  if (record.sensors.empty())
    throw ModelError({{model.file.string(), 0},
                      "T599",
                      "the model has no sensors",
                      {"write [sensors], T2 = { measures = \"n2.T\", noise = \"0.5 K\" }"}});
  record.inputs = model.estimation.inputs;

  SimulationOptions options = complete_options(model, given);
  add_stop_watch(model, options);
  const EquationSystem system = build_system(model);
  std::vector<OutputColumn> columns = default_outputs(system, false);
  if (all_variables)
    for (OutputColumn& column : default_outputs(system, true)) columns.push_back(std::move(column));
  const std::size_t shown = columns.size();
  Trajectory& truth = rehearsal.truth;
  for (OutputColumn& column : columns) {
    truth.names.push_back(column.name);
    truth.units.push_back(std::exchange(column.unit, ""));
  }
  for (const std::string& name : record.inputs) columns.push_back({name, "", parse_value(model, name, {})});

  Simulation simulation(system, options, columns);
  record.step = simulation.sample_interval();
  const SimulationResult run = simulation.run(progress);
  rehearsal.failure = run.failure;
  rehearsal.brief = run.brief();
  std::vector<double> row(shown);
  for (std::size_t k = 0; k < run.t.size(); ++k) {
    // A run that ends at an event may end between two samples.
    if (std::abs(run.t[k] - record.time(static_cast<std::int64_t>(k))) > 1e-6 * record.step) break;
    const double* values = run.values.data() + k * columns.size();
    for (std::size_t c = 0; c < shown; ++c)
      row[c] = truth.units[c].empty() ? values[c] : units().from_si(values[c], truth.units[c]);
    truth.append(run.t[k], row);
    for (int sensor : record.sensors) record.readings.push_back(values[sensor]);  // sensors come first
    for (std::size_t c = shown; c < columns.size(); ++c) record.given.push_back(values[c]);
    ++record.steps;
  }
  record.counts.assign(record.sensors.size(), {});
  for (Record::Count& count : record.counts) count.taken = record.steps;
  return rehearsal;
}

Record disturbed(const Model& model, const Record& clean, const DisturbanceOptions& options,
                 std::vector<Disturbance>* counts) {
  check_disturbances(options);
  Record record = clean;
  record.remarks.clear();
  record.arrivals.clear();
  record.counts.assign(record.sensors.size(), {});
  if (counts) counts->assign(record.sensors.size(), {});
  const std::size_t width = record.sensors.size();
  if (options.late > 0.0) {
    record.arrivals.resize(record.readings.size());
    for (std::size_t k = 0; k < record.arrivals.size(); ++k)
      record.arrivals[k] = static_cast<std::int64_t>(k / width);
  }
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    for (const ModelInput& input : model.inputs) {
      if (input.name != record.inputs[k]) continue;
      const RandomSequence noise(options.seed, input.name, of_noise);
      const double bias = input.bias >= 0 ? model.parameters[input.bias].number : 0.0;
      for (std::int64_t row = 0; row < record.steps; ++row)
        record.given[static_cast<std::size_t>(row) * record.inputs.size() + k] +=
            bias + (options.noise && input.noise > 0.0 ? input.noise * noise.normal(row) : 0.0);
    }
  for (std::size_t s = 0; s < width; ++s) {
    const ModelOutput& sensor = model.outputs[record.sensors[s]];
    const auto random = [&](Purpose purpose) { return RandomSequence(options.seed, sensor.name, purpose); };
    const RandomSequence noise = random(of_noise), loss = random(of_loss), outlier = random(of_outliers),
                         sign = random(of_signs), late = random(of_late), delay = random(of_delay);
    Stretch burst(options.bursts, record.step, random(of_bursts));
    Stretch stuck(options.stuck, record.step, random(of_stuck));
    const double deviation = sensor.noise.value_or(0.0);
    Disturbance done;
    double held = no_number;
    for (std::int64_t row = 0; row < record.steps; ++row) {
      double& reading = record.readings[row * width + s];
      if (std::isnan(reading)) continue;
      if (options.noise && deviation > 0.0) reading += deviation * noise.normal(row);
      if (options.outliers > 0.0 && outlier.uniform(row) < options.outliers) {
        reading += options.outlier_size * deviation * (sign.uniform(row) < 0.5 ? -1.0 : 1.0);
        ++done.outliers;
      }
      if (stuck.covers(row)) {
        if (stuck.began()) held = reading;
        reading = held;
        done.stuck += !stuck.began();
      }
      if (burst.covers(row)) {
        reading = no_number;
        ++done.burst;
      } else if (options.loss > 0.0 && loss.uniform(row) < options.loss) {
        reading = no_number;
        ++done.lost;
      } else if (options.late > 0.0 && late.uniform(row) < options.late) {
        // Above zero, so that what is late is known at a later row; after the last it is never known.
        const double rows = (1.0 - delay.uniform(row)) * options.delay / record.step;
        const std::int64_t known = row + std::max<std::int64_t>(1, std::llround(std::ceil(rows - 1e-9)));
        if (known < record.steps) {
          record.arrivals[row * width + s] = known;
          ++done.late;
        } else {
          reading = no_number;
          ++done.lost;
        }
      }
      Record::Count& count = record.counts[s];
      if (std::isnan(reading))
        ++count.missing;
      else
        ++count.taken;
      if (!record.arrivals.empty() && record.arrivals[row * width + s] > row) ++count.late;
    }
    if (counts) (*counts)[s] = done;
  }
  return record;
}

}  // namespace tellegen
