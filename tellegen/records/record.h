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
#include <string_view>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/records/data_file.h"

namespace tellegen {

struct Record {
  std::vector<int> sensors;         // in Model::outputs
  std::vector<std::string> inputs;  // names of inputs or parameters of the model
  double start = 0.0, step = 0.0;
  std::int64_t steps = 0;        // rows: at start, start + step, ...
  std::vector<double> clock;     // when each row is, where that is irregular: `step` is a usual interval
  std::vector<double> readings;  // [row][sensor], SI; NaN: none
  std::vector<double> given;     // [row][input], SI; always there
  std::vector<std::int64_t> arrivals;  // [row][sensor]: at which row the reading is known; empty: at its own

  // Rows with a reading and rows without, whatever the reason; then readings of the file that are not used,
  // and why; of those that are, `late` were known only after their own row.
  struct Count {
    std::int64_t taken = 0, missing = 0, out_of_range = 0, stuck = 0, late = 0, too_late = 0;
    // Another reading lies nearer to the same step or has the same time, or no step lies beside it.
    std::int64_t displaced = 0;
  };
  std::vector<Count> counts;         // per sensor
  std::vector<std::string> remarks;  // gaps and jitter of the time base, in words

  double time(std::int64_t row) const {
    return clock.empty() ? start + step * static_cast<double>(row) : clock[static_cast<std::size_t>(row)];
  }
  double end() const { return time(steps - 1); }
  // From the row before to this one.
  double length(std::int64_t row) const { return clock.empty() ? step : time(row) - time(row - 1); }
  std::string rows_text() const;  // "2142 rows every 0.5 s", "2142 rows, irregular"
  double reading(std::int64_t row, std::size_t sensor) const {
    return readings[row * sensors.size() + sensor];
  }
};

struct RecordOptions {
  std::vector<int> sensors = {};         // in Model::outputs: columns that must be there
  std::vector<std::string> inputs = {};  // likewise
  double step = 0.0;                     // of the estimator; 0: that of the file
  double late = 0.0;                     // how much later than taken a reading may arrive
  std::string resample = "exact";        // exact: a time beside the steps is a fault; nearest, linear
  bool clock = true;  // irregular times may be the record's own rows; else they lie on the tick of a clock
  std::optional<double> from = {}, to = {};  // the part of the record that is used
};

RecordOptions record_options(const Model& model);  // as [estimate] says

// A table: a column of times ("t", "time", "t_s"), one for each sensor and input by its name (units as
// "T2 [degC]", "T2 (K)" or "T2_K"), optionally "arrival". Empty cells and "nan" are missing readings. Throws
// ModelError with every fault of the file.
//
// Resampled `exact`, and without a step that is asked for, irregular times are followed as they are: each row
// of the file is one of the record, at its own time (Record::clock). Models that count steps themselves
// (sampled variables, imported FMUs, mechanisms), and those who ask for steps, get the tick of the logger's
// clock, and most steps have no reading.
//
// The rows begin at the first time of the file, or the first step after `from`. Resampled `nearest`, a
// reading belongs to the step next to it, and of two the nearer one counts; `linear` interpolates between
// rows that follow each other at the file's interval, and never across a missing reading.
//
// An input is what the model says of it between rows (ModelInput::interpolation): straight from row to row,
// or held: what a row gives is in force from its time until the next row. So it is wherever it is missing,
// and after its last row it keeps its value. Parameters that the data give are interpolated.
Record read_record(const Model& model, const DataSource& source, const RecordOptions& options);

// The same with its first row at t = 0.
Record from_zero(Record record);

// The same with these sensors; one that it does not have has no reading.
Record with_sensors(const Record& record, const std::vector<int>& sensors);

// The file that read_record() reads as the same record: rows in the order in which they become known, with a
// column "arrival" where some are late. Whole or not at all; throws std::runtime_error.
void write_record(const std::filesystem::path& file, const Model& model, const Record& record);

// Drops readings that cannot be ones (reading_check.h), and counts them: for a record that is not from a
// file.
void drop_impossible(const Model& model, Record& record);

// Sensors an estimator weighs by their noise: throws ModelError (T598) for each that has none, or zero.
void check_noise(const Model& model, const std::vector<int>& sensors);

// The unit in which readings are told; empty: SI, whatever that is.
std::string sensor_unit(const Model& model, int sensor);
std::string input_unit(const Model& model, std::string_view name);

// Throws ModelError (T607) for an input that is cubic between its points: rows of data are not.
void check_interpolation(const Model& model, const std::string& input);

// Whether what a row gives of an input is in force until the next row.
bool is_held(const Model& model, std::string_view input);

}  // namespace tellegen
