// An estimate as a table of columns in the units its quantities are told in.
#pragma once

#include <span>

#include "tellegen/estimate/estimate.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {

// For each quantity its mean and standard deviation ("T2", "T2_sd"), the same with the whole record where it
// was smoothed ("T2_smooth", "T2_smooth_sd"); for each sensor its innovation and the deviation expected of
// it.
class EstimateColumns {
 public:
  EstimateColumns(const Model& model, const std::vector<int>& sensors,
                  std::vector<EstimatedQuantity> quantities, bool smooth = false);
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& units() const { return units_; }

  // One row, SI; the smoothed ones may be empty.
  struct Row {
    std::span<const double> mean, deviation, smooth, smooth_deviation, innovation, innovation_deviation;
  };
  void convert(const Row& row, std::vector<double>& out) const;

 private:
  std::vector<EstimatedQuantity> quantities_;
  std::vector<std::string> sensor_units_, names_, units_;
  bool smooth_;
};

Trajectory table_of(const Estimate& estimate, const Model& model, const Record& record);

// `ranges` and `rows`, from the rows that are there.
void summarise(Estimate& estimate);

}  // namespace tellegen
