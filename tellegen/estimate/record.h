// Measurements on the steps of an estimator: what each sensor read at each step, and what is known of inputs.
//
// A reading that is not there is NaN: the sensor is slower than the step, the sample was lost, or the value
// cannot be one (out of the sensor's range, stuck). Why, is counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

struct Record {
  std::vector<int> sensors;         // in Model::outputs
  std::vector<std::string> inputs;  // names of inputs or parameters of the model
  double start = 0.0, step = 0.0;
  std::int64_t steps = 0;              // rows: at start, start + step, ...
  std::vector<double> readings;        // [row][sensor], SI; NaN: none
  std::vector<double> given;           // [row][input], SI; always there
  std::vector<std::int64_t> arrivals;  // [row][sensor]: at which row the reading is known; empty: at its own

  struct Count {
    std::int64_t taken = 0, missing = 0, out_of_range = 0, stuck = 0, late = 0, too_late = 0;
  };
  std::vector<Count> counts;         // per sensor
  std::vector<std::string> remarks;  // gaps and jitter of the time base, in words

  double time(std::int64_t row) const { return start + step * static_cast<double>(row); }
  double reading(std::int64_t row, std::size_t sensor) const {
    return readings[row * sensors.size() + sensor];
  }
};

struct RecordOptions {
  std::vector<int> sensors;         // in Model::outputs: columns that must be there
  std::vector<std::string> inputs;  // likewise
  double step = 0.0;                // of the estimator; 0: that of the file
  double late = 0.0;                // how much later than taken a reading may arrive
  std::string resample = "exact";   // exact: a time beside the steps is a fault; nearest, linear
  std::optional<double> from, to;   // the part of the record that is used
};

// A CSV file: a column of times ("t", "time", "t_s"), one for each sensor and input by its name (units as
// "T2 [degC]", "T2 (K)" or "T2_K"), optionally "arrival". Empty cells and "nan" are missing readings. Throws
// ModelError with every fault of the file.
Record read_record(const Model& model, const std::filesystem::path& file, const RecordOptions& options);

}  // namespace tellegen
