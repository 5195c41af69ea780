#include "tellegen/records/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tellegen/records/noise.h"

namespace tellegen {
namespace spectrum_test {

std::vector<double> white(std::size_t count) {
  const RandomSequence random(5, "white");
  std::vector<double> series;
  for (std::size_t k = 0; k < count; ++k) series.push_back(random.normal(static_cast<std::int64_t>(k)));
  return series;
}

double share_inside(const Spectrum& s) {
  double inside = 0.0;
  for (double density : s.density) inside += density > s.lowest && density < s.highest ? 1.0 : 0.0;
  return inside / static_cast<double>(s.density.size());
}

TEST(Spectrum, of_white_values_is_flat_at_their_variance) {
  const Spectrum s = averaged_spectrum(white(20000), 1e-3);
  ASSERT_EQ(s.density.size(), 127u);
  EXPECT_NEAR(s.frequency.front(), 1000.0 / 256.0, 1e-9);
  EXPECT_LT(s.frequency.back(), 500.0);
  double mean = 0.0;
  for (double density : s.density) mean += density / 127.0;
  EXPECT_NEAR(mean, 1.0, 0.03);
  EXPECT_GT(share_inside(s), 0.88);
}

TEST(Spectrum, missing_values_do_not_change_the_level) {
  std::vector<double> series = white(20000);
  for (std::size_t k = 0; k < series.size(); k += 3) series[k] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GT(share_inside(averaged_spectrum(series, 1e-3)), 0.85);
}

TEST(Spectrum, of_a_tone_stands_out_where_the_tone_is) {
  std::vector<double> series = white(8192);
  for (std::size_t k = 0; k < series.size(); ++k)
    series[k] += std::sin(2.0 * std::numbers::pi * 125.0 * 1e-3 * static_cast<double>(k));
  const Spectrum s = averaged_spectrum(series, 1e-3);
  EXPECT_GT(s.density[31], 20.0);  // 32 * 1000/256 Hz
  EXPECT_LT(s.density[60], 2.0);
}

TEST(Spectrum, of_a_short_series_is_none) {
  EXPECT_TRUE(averaged_spectrum(white(20), 1e-3).density.empty());
  EXPECT_FALSE(averaged_spectrum(white(40), 1e-3).density.empty());
}

}  // namespace spectrum_test
}  // namespace tellegen
