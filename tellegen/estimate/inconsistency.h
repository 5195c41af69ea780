// Whether innovations are as large, and as free of a mean, as the estimator says they are.
//
// Over windows of 1, 2, 4, ... readings of a sensor, the whole record the last of them, z the innovations
// over their standard deviations:
//
//   sum z^2        chi-square with as many degrees of freedom as readings (the normalised innovation
//                  squared, NIS)
//   (sum z)^2/n    chi-square with one: what is not white shows here long before it shows in the variance
//
// A window beyond its quantile is inconsistent. The quantile is corrected for the number of windows: the
// whole record is called inconsistent by chance with probability 0.001 at most, and one stretch in 200 hours
// of records, however they are cut. Innovations a tenth larger in variance than expected are tolerated: no
// noise is known better. Smaller ones make deviations too large, which does no harm, and are no stretch.
//
// [Bar-Shalom 2001] Bar-Shalom, Li, Kirubarajan, Estimation with Applications to Tracking and
// Navigation, 5.4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tellegen {

struct Inconsistency {
  std::size_t sensor = 0;
  std::int64_t from = 0, to = 0;  // first and last row
  std::int64_t readings = 0;
  double ratio = 0.0;        // what the statistic is over what is expected of it, the larger one of the two
  bool from_window = false;  // the earliest window was longer than one reading
};

// `z`: [row][sensor]; NaN: no reading; infinite: it was refused by the gate. `rows`: of the whole record,
// where these are part of it. In order of their beginning.
std::vector<Inconsistency> inconsistencies(std::span<const double> z, std::size_t sensors, double step,
                                           std::int64_t rows = 0);

}  // namespace tellegen
