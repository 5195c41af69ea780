// What the innovations say of an estimator, block by block of a record: the statistics of each sensor, and
// the stretches in which they are not what the filter expects (inconsistency.h; windows end with their
// block).
//
// Costs the memory of a block, and at most `most_stretches` stretches: those beyond extend the last.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tellegen/estimate/estimate.h"
#include "tellegen/records/statistics.h"

namespace tellegen {

class InnovationMonitor {
 public:
  // `rows`: of the whole record, for the level of the tests; 0: nobody knows.
  InnovationMonitor(std::vector<std::string> sensors, double step, std::int64_t rows);

  // The next rows: their times; [row][sensor]; an innovation that is NaN: no reading was used. Returns the
  // stretches in them.
  std::vector<InconsistentStretch> add(std::span<const double> t, std::span<const double> innovation,
                                       std::span<const double> deviation, std::span<const char> refused);

  std::vector<SensorStatistics> statistics() const;
  const std::vector<InconsistentStretch>& stretches() const { return stretches_; }
  std::vector<std::string> warnings() const;  // whiteness, variance

  static constexpr std::size_t most_stretches = 1000;

 private:
  struct Sensor {
    std::string name;
    std::int64_t used = 0, missing = 0, refused = 0;
    double sum = 0.0, squares = 0.0;
    Whiteness whiteness;
  };
  std::vector<Sensor> sensors_;
  double step_;
  std::int64_t expected_, row_ = 0;  // rows of the record, rows so far
  std::vector<InconsistentStretch> stretches_;
  std::vector<double> normal_;
};

}  // namespace tellegen
