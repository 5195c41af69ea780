// An estimator led along a record: what it believed after each step, and how well the readings agreed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/records/record.h"
#include "tellegen/records/statistics.h"

namespace tellegen {

// Something that is estimated: a state, an unknown, or a sensor or output of the model.
struct EstimatedQuantity {
  enum class What { state, unknown, sensor, output } what;
  std::string name, unit;  // the unit it is reported in; empty: SI
};

// A stretch of the record in which the innovations of a sensor are not what the filter expects.
struct InconsistentStretch {
  std::string sensor;
  double from = 0.0, to = 0.0;       // times
  std::int64_t first = 0, last = 0;  // rows
  double ratio = 0.0;                // of NIS, or of the squared mean, over what is expected
  bool short_window = false;         // a single reading shows it
};

// A fault of a sensor that the innovations, or its readings alone, give away.
struct SensorFault {
  enum class Kind { offset, drift, scale, stuck } kind = Kind::offset;
  int sensor = -1;    // in Model::outputs
  std::string name;   // of the sensor
  double size = 0.0;  // SI; drift: per second; scale: relative; stuck: the reading it shows
  double deviation = 0.0;
  double onset = 0.0, end = 0.0;    // times; `end` of what is stuck, otherwise that of the record
  double statistic = 0.0;           // twice the logarithm of the likelihood ratio
  bool observable = true;           // otherwise the sensor says nothing from the onset on
  bool left_out = false;            // its readings are not used from the onset to the end
  std::vector<std::string> others;  // what explains the innovations nearly as well
  std::string text;                 // in words
};

struct Estimate {
  std::vector<EstimatedQuantity> quantities;
  std::vector<double> t;
  std::vector<double> mean, deviation;                   // [row][quantity], SI
  std::vector<double> innovation, innovation_deviation;  // [row][sensor], SI; NaN: no reading was used
  std::vector<double> smooth, smooth_deviation;  // [row][quantity] with the whole record, where asked for
  // Of each quantity, SI, over all rows: also where these were not kept (estimate_stream.h, summarise()).
  struct Range {
    double end = 0.0, deviation = 0.0;  // at the last row
    double lowest = 0.0, highest = 0.0;
  };
  std::vector<Range> ranges;
  std::int64_t rows = 0;
  std::vector<SensorStatistics> sensors;
  double log_likelihood = 0.0;
  struct Pass {
    std::vector<double> unknowns;  // their values at its end, SI, in the order of `quantities`
    double change = 0.0;           // since the pass before
  };
  std::vector<Pass> passes;
  std::vector<std::pair<std::string, double>>
      tuned;  // process noise: whose, and its deviation after one second
  double loop_seconds = 0.0;
  std::string estimator, executor;    // "ekf", "generated C"
  std::string reduction;              // of a reduced filter: to how many states, and its error
  std::vector<std::string> warnings;  // whiteness, consistency
  std::vector<InconsistentStretch> inconsistent;
  bool corrects = true;              // false: nothing is uncertain, and no reading changes anything
  std::vector<SensorFault> faults;   // found by judged_estimate(), and allowed for in what is estimated
  std::vector<std::string> reasons;  // likely reasons of what is inconsistent
  double inflation = 1.0;            // by which deviations were multiplied, the largest
  std::string failure;               // empty: went through; otherwise when and where it diverged
};

struct EstimateOptions {
  std::string estimator;  // empty: as the model says
  bool smooth = false;    // rts, after the filter
  bool tune = false;      // process noise by maximum likelihood of the innovations
  bool euler = false;     // forward Euler instead of the exact flow
  int passes = 1;         // over the same record, each beginning with the unknowns the last one found ...
  double passes_tolerance = 1e-10;  // ... until they change by less than this, SI
  bool anyway = false;              // go on where the filter diverged
  bool compile = true;
  // At these rows an unknown may jump: so much is added to its deviation, in squares.
  struct Widening {
    std::int64_t row = 0;
    std::string unknown;
    double deviation = 0.0;
  };
  std::vector<Widening> widenings;
  long reduce = 0;  // states of a reduced filter at most; 0: where the model is large; -1: never
  std::function<void(double fraction)> progress;
};

// Throws ModelError where the model cannot be estimated so; what goes wrong on the way is told in `failure`.
Estimate estimate(const Model& model, const Record& record, const EstimateOptions& options);

// The model with what begins at a number that the data give (a coolant's temperature) at their first row.
Model begun_with(const Model& model, const Record& record);
Model begun_with(const Model& model, const std::vector<std::string>& inputs, std::span<const double> first);

}  // namespace tellegen
