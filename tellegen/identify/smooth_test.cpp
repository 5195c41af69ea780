#include "tellegen/identify/smooth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tellegen {
namespace smooth_test {

double signal(int row) { return std::sin(0.004 * row) + (row < 1500 ? 0.0 : 3.0); }

TEST(Smooth, has_less_noise_and_keeps_a_jump) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0.0, 0.1);
  std::vector<double> readings;
  for (int row = 0; row < 3000; ++row)
    readings.push_back(row % 7 == 3 ? std::numeric_limits<double>::quiet_NaN()
                                    : signal(row) + normal(random));
  const std::vector<double> values = smoothed(readings, 0.1);
  ASSERT_EQ(values.size(), readings.size());
  double far = 0.0, near = 0.0;
  for (int row = 0; row < 3000; ++row) {
    const double error = values[row] - signal(row);
    (std::abs(row - 1500) < 12 ? near : far) += error * error;
    if (!std::isnan(readings[row])) {
      EXPECT_LT(std::abs(error), 0.6) << row;
    }
  }
  EXPECT_LT(std::sqrt(far / 2977), 0.035);
  EXPECT_LT(std::sqrt(near / 23), 0.15);
}

TEST(Smooth, leaves_clean_readings_and_fills_gaps) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(smoothed({none, 1.0, none, 3.0, none}, 0.0), (std::vector<double>{1.0, 1.0, 2.0, 3.0, 3.0}));
  EXPECT_TRUE(smoothed({none, none}, 1.0).empty());
}

}  // namespace smooth_test
}  // namespace tellegen
