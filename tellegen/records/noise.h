// Data for a rehearsal: what the sensors would read in a simulation, with noise, and with everything that
// goes wrong on the way from a sensor to an estimator.
//
//   const Rehearsal rehearsal = rehearse(model, options);            one run, without noise
//   const Record record = disturbed(model, rehearsal.record, {.seed = 7, .loss = 0.2});
//
// The random numbers are those of gauss(seed, k) in the expression language, so a seed gives the same record
// everywhere. Each sensor and each kind of disturbance has numbers of its own, counted by rows: a record with
// losses has the noise of the record without, and another sensor changes nothing for those there are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/records/record.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/integrator.h"

namespace tellegen {

// Random numbers that are asked for by their number. `name` and `purpose` choose among the sequences of a
// seed.
class RandomSequence {
 public:
  RandomSequence(std::uint64_t seed, std::string_view name, std::uint64_t purpose = 0);
  double uniform(std::int64_t k) const;  // from 0 to below 1
  double normal(std::int64_t k) const;   // mean 0, standard deviation 1

 private:
  std::uint64_t key_;
};

struct Rehearsal {
  Record record;        // of all sensors, as they would read without noise, and the inputs that data give
  Trajectory truth;     // sensors and outputs of the model (every variable too, where asked for), no noise
  std::string failure;  // empty: the run finished
  std::string brief;    // of the run, one line
};

// Rows are the samples of the run. Throws as Simulation does; T599 where the model has no sensors.
Rehearsal rehearse(Model model, const SimulationOptions& given, bool all_variables = false,
                   const std::function<void(double fraction)>& progress = {});

struct DisturbanceOptions {
  struct Stretches {
    double rate = 0.0;    // how many begin in a second
    double length = 0.0;  // s
  };
  std::uint64_t seed = 1;
  bool noise = true;           // as the sensors declare
  double loss = 0.0;           // probability that a reading is lost
  Stretches bursts = {};       // nothing is read
  Stretches stuck = {};        // the reading of the beginning is repeated
  double outliers = 0.0;       // probability that a reading is off,
  double outlier_size = 20.0;  // by so many times the sensor's noise, up or down
  double late = 0.0;           // probability that a reading comes late,
  double delay = 0.0;          // by up to this, s
};

struct Disturbance {
  std::int64_t lost = 0, burst = 0, stuck = 0, outliers = 0, late = 0;  // readings
};

// `counts`: one per sensor, where asked for. Throws ModelError (T599) for options that cannot be.
Record disturbed(const Model& model, const Record& clean, const DisturbanceOptions& options,
                 std::vector<Disturbance>* counts = nullptr);

}  // namespace tellegen
