// The few distributions that estimators are judged by.
#pragma once

#include <span>

namespace tellegen {

double normal_quantile(double probability);             // of the standard normal distribution
double chi_square_above(double value, double degrees);  // probability of more than `value`
double chi_square_quantile(double probability, double degrees);

// Where a chi-square over its degrees of freedom lies with this probability, chance alone at work.
struct ChiSquareInterval {
  double low = 0.0, high = 0.0;
  bool contains(double value) const { return value >= low && value <= high; }
};
ChiSquareInterval chi_square_interval(double probability, double degrees);

// Probability of autocorrelations as large as these, were the series white (Ljung and Box, 20 lags); NaN
// entries are left out. NaN where the series is too short to tell.
double whiteness(std::span<const double> series);

}  // namespace tellegen
