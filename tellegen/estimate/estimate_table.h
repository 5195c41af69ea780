// An estimate as a table of columns in the units its quantities are told in.
#pragma once

#include "tellegen/estimate/estimate.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {

// For each quantity its mean and standard deviation ("T2", "T2_sd"), the same with the whole record where it
// was smoothed
// ("T2_smooth", "T2_smooth_sd"); for each sensor its innovation and the deviation expected of it.
Trajectory table_of(const Estimate& estimate, const Model& model, const Record& record);

// A deviation in a unit: a difference, so "degC" has no offset.
double deviation_in_unit(double si, const std::string& unit);

}  // namespace tellegen
