// The few distributions that estimators are judged by.
#pragma once

#include <span>

namespace tellegen {

double normal_quantile(double probability);             // of the standard normal distribution
double chi_square_above(double value, double degrees);  // probability of more than `value`
double chi_square_quantile(double probability, double degrees);

// Probability of autocorrelations as large as these, were the series white (Ljung and Box, 20 lags); NaN
// entries are left out. NaN where the series is too short to tell.
double whiteness(std::span<const double> series);

}  // namespace tellegen
