#include "tellegen/sweep/samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tellegen {
namespace samples_test {

const std::vector<Axis> axes{{"a", "", 0.0, 2.0, false, {}}, {"b", "", 1e-3, 1e3, true, {}}};

double unit_of(const Axis& axis, double value) {
  return axis.log ? std::log(value / axis.lower) / std::log(axis.upper / axis.lower)
                  : (value - axis.lower) / (axis.upper - axis.lower);
}

TEST(Samples, a_grid_has_both_ends_and_equal_distances) {
  EXPECT_EQ(grid_values(0.1, 1.0, false, 4), (std::vector<double>{0.1, 0.4, 0.7, 1.0}));
  EXPECT_EQ(grid_values(5.0, 9.0, false, 1), std::vector<double>{5.0});
  const auto decades = grid_values(1e-3, 1e3, true, 7);
  for (int k = 0; k < 7; ++k) EXPECT_NEAR(decades[k] / std::pow(10.0, k - 3), 1.0, 1e-14);
  EXPECT_EQ(decades.back(), 1e3);
}

TEST(Samples, a_grid_is_the_full_product_with_the_last_axis_fastest) {
  const SampleSet set = grid_samples({{"a", "", 1, 2, false, {1, 2}}, {"b", "", 3, 5, false, {3, 4, 5}}});
  EXPECT_EQ(set.values, (std::vector<double>{1, 3, 1, 4, 1, 5, 2, 3, 2, 4, 2, 5}));
}

TEST(Samples, a_latin_hypercube_has_one_sample_in_every_layer) {
  const std::size_t count = 57;
  const SampleSet set = latin_hypercube(axes, count, 3);
  ASSERT_EQ(set.rows(), count);
  for (std::size_t c = 0; c < axes.size(); ++c) {
    std::set<int> layers;
    for (std::size_t r = 0; r < count; ++r)
      layers.insert(static_cast<int>(unit_of(axes[c], set.row(r)[c]) * static_cast<double>(count)));
    EXPECT_EQ(layers.size(), count);
    EXPECT_EQ(*layers.begin(), 0);
    EXPECT_EQ(*layers.rbegin(), static_cast<int>(count) - 1);
  }
}

TEST(Samples, follow_from_the_seed_alone) {
  EXPECT_EQ(latin_hypercube(axes, 20, 3).values, latin_hypercube(axes, 20, 3).values);
  EXPECT_NE(latin_hypercube(axes, 20, 3).values, latin_hypercube(axes, 20, 4).values);
  // The generator's own numbers, computed apart: no platform and no later version changes a study.
  EXPECT_EQ(uniform_number(1, 0, 0), 0.6935121390102292);
}

TEST(Samples, uniform_numbers_have_the_moments_of_a_uniform_distribution) {
  double mean = 0.0, square = 0.0, product = 0.0;
  const int count = 100'000;
  for (int k = 0; k < count; ++k) {
    const double u = uniform_number(7, 1, k);
    ASSERT_TRUE(u >= 0.0 && u < 1.0);
    mean += u / count, square += u * u / count, product += u * uniform_number(7, 2, k) / count;
  }
  EXPECT_NEAR(mean, 0.5, 0.004);
  EXPECT_NEAR(square, 1.0 / 3, 0.004);
  EXPECT_NEAR(product, 0.25, 0.004);
}

TEST(Samples, every_axis_moves_once_in_a_morris_trajectory) {
  const SampleSet set = morris_samples(axes, 11, 5);
  ASSERT_EQ(set.rows(), 33u);
  for (std::size_t t = 0; t < 11; ++t) {
    std::set<std::size_t> moved;
    for (std::size_t r = 3 * t; r + 1 < 3 * t + 3; ++r)
      for (std::size_t c = 0; c < 2; ++c) {
        const double from = unit_of(axes[c], set.row(r)[c]), to = unit_of(axes[c], set.row(r + 1)[c]);
        if (set.row(r)[c] == set.row(r + 1)[c]) continue;
        EXPECT_NEAR(std::fabs(to - from), morris_step, 1e-12);
        EXPECT_TRUE(to > -1e-12 && to < 1 + 1e-12);
        moved.insert(c);
      }
    EXPECT_EQ(moved.size(), 2u);
  }
}

TEST(Samples, sobol_blocks_exchange_one_number_each) {
  const SampleSet set = sobol_samples(axes, 9, 2);
  ASSERT_EQ(set.rows(), 36u);
  for (std::size_t r = 0; r < 36; r += 4) {
    const auto a = set.row(r), b = set.row(r + 1), ab0 = set.row(r + 2), ab1 = set.row(r + 3);
    EXPECT_TRUE(ab0[0] == b[0] && ab0[1] == a[1]);
    EXPECT_TRUE(ab1[0] == a[0] && ab1[1] == b[1]);
    EXPECT_TRUE(a[0] != b[0] && a[1] != b[1]);
  }
}

}  // namespace samples_test
}  // namespace tellegen
