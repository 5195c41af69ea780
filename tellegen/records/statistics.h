// The few distributions that estimators and calibrations are judged by, and what is said of a sensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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
// entries are left out. NaN where the series is too short to tell. In the memory of the lags.
class Whiteness {
 public:
  void add(double value);
  double probability() const;

 private:
  static constexpr std::size_t lags = 20;
  // Of values less the first, which keeps the digits of a series far from zero.
  struct Pairs {
    double count = 0.0, products = 0.0, sum = 0.0;  // sum: of both
  };
  std::array<Pairs, lags> pairs_{};
  std::array<double, lags> last_{};  // the value of k rows ago at (next_ - k) mod lags
  std::size_t next_ = 0, seen_ = 0;
  double offset_ = 0.0, count_ = 0.0, sum_ = 0.0, squares_ = 0.0;
};
double whiteness(std::span<const double> series);

// How well the readings of a sensor agree with what was expected of them.
struct SensorStatistics {
  std::string name;
  std::int64_t used = 0, missing = 0, refused = 0;  // refused: by the gate
  double mean = 0.0;       // of innovations (residuals) over their standard deviation
  double variance = 0.0;   // likewise; 1 where filter and noise agree
  double whiteness = 0.0;  // probability of correlations as large as these, if the innovation were white
};

}  // namespace tellegen
