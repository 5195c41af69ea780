// How far a trajectory is from a reference, at the reference's own times.
//
//   rms = sqrt(1/n * sum over the n rows of the reference of (value - reference)^2)
//
// Times that match to 1e-9 of the time itself or of the reference's end are compared as they are, so that the
// error measured is the integrator's alone; between two rows of the trajectory its value lies straight
// between them. Units that convert are converted. Throws std::runtime_error for a time outside of the
// trajectory, a column that is missing and units that do not convert.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/results/trajectory.h"

namespace tellegen {

struct ColumnError {
  std::string name, unit;
  double rms = 0.0;
  double largest = 0.0;     // absolute
  double largest_at = 0.0;  // its time
};

// Of the columns named; without names, of every column of the reference.
std::vector<ColumnError> compare(const Trajectory& trajectory, const Trajectory& reference,
                                 std::span<const std::string> columns = {});

}  // namespace tellegen
