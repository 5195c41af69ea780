#include "tellegen/estimate/inconsistency.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/tellegen_math.h"

namespace tellegen {
namespace inconsistency_test {

std::vector<double> white(double seed, std::size_t count) {
  std::vector<double> z;
  for (std::size_t k = 0; k < count; ++k) z.push_back(tellegen_gauss(seed, static_cast<double>(k)));
  return z;
}

TEST(Inconsistencies, white_innovations_of_the_right_size_have_none) {
  for (int seed = 1; seed <= 20; ++seed) EXPECT_TRUE(inconsistencies(white(seed, 36000), 2, 1.0).empty());
}

TEST(Inconsistencies, a_stretch_of_twice_the_deviation_is_found_where_it_is) {
  std::vector<double> z = white(3, 4000);
  for (std::size_t k = 1000; k < 1400; k += 2) z[k] *= 2.0;  // sensor 0, rows 500 to 699
  const auto found = inconsistencies(z, 2, 1.0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sensor, 0u);
  EXPECT_NEAR(static_cast<double>(found[0].from), 500.0, 40.0);
  EXPECT_NEAR(static_cast<double>(found[0].to), 699.0, 40.0);
  // The larger of two: 4 of the squares, and of the mean 4 times chi-square with one degree of freedom.
  EXPECT_GT(found[0].ratio, 3.0);
  EXPECT_LT(found[0].ratio, 4.0 * 6.63);
}

// A mean of a fifth of the deviation: in 1000 readings its sum is 6.3 deviations of the sum.
TEST(Inconsistencies, a_small_mean_shows_over_a_long_window) {
  std::vector<double> z = white(4, 4000);
  for (double& v : z) v += 0.2;
  const auto found = inconsistencies(z, 1, 1.0);
  ASSERT_FALSE(found.empty());
  EXPECT_GT(found[0].ratio, 30.0);
}

TEST(Inconsistencies, innovations_that_are_too_small_are_none) {
  std::vector<double> z = white(5, 4000);
  for (double& v : z) v *= 0.5;
  EXPECT_TRUE(inconsistencies(z, 1, 1.0).empty());
}

TEST(Inconsistencies, a_gate_that_refuses_most_readings_hides_nothing) {
  std::vector<double> z = white(6, 1000);
  for (std::size_t k = 400; k < 500; ++k) z[k] = INFINITY;
  const auto found = inconsistencies(z, 1, 1.0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(static_cast<double>(found[0].from), 400.0, 16.0);
}

}  // namespace inconsistency_test
}  // namespace tellegen
