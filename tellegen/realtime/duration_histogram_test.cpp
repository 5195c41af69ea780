#include "tellegen/realtime/duration_histogram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tellegen {
namespace duration_histogram_test {

TEST(DurationHistogram, quantiles_are_upper_bounds_within_seven_percent) {
  DurationHistogram histogram;
  for (std::int64_t us = 1; us <= 10000; ++us) histogram.add(1000 * us);
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.9999}) {
    const double exact = 1e-6 * std::ceil(share * 10000);
    EXPECT_GE(histogram.quantile(share), exact * (1 - 1e-12)) << share;
    EXPECT_LE(histogram.quantile(share), exact * 1.07) << share;
  }
  EXPECT_EQ(histogram.count(), 10000);
  EXPECT_DOUBLE_EQ(histogram.longest(), 10e-3);
  EXPECT_DOUBLE_EQ(histogram.quantile(1.0), 10e-3);
}

TEST(DurationHistogram, one_outlier_in_ten_thousand_is_beyond_the_quantile_and_two_are_not) {
  DurationHistogram histogram;
  for (int k = 0; k < 9999; ++k) histogram.add(1000);
  histogram.add(7'654'321);
  EXPECT_DOUBLE_EQ(histogram.quantile(0.9999), 1e-6);
  EXPECT_DOUBLE_EQ(histogram.longest(), 7.654321e-3);
  histogram.add(7'654'321);
  EXPECT_DOUBLE_EQ(histogram.quantile(0.9999), 7.654321e-3);  // the bound, but not above the longest
}

TEST(DurationHistogram, bounds_belong_to_the_bin_below) {
  DurationHistogram histogram;
  for (const std::int64_t ns : {2000, 2001}) histogram.add(ns);
  const auto bins = histogram.bins();
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_DOUBLE_EQ(bins[0].to, 2e-6);
  EXPECT_DOUBLE_EQ(bins[1].to, 2.12e-6);
}

TEST(DurationHistogram, takes_any_duration) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0.0);
  EXPECT_TRUE(histogram.bins().empty());
  for (const std::int64_t ns : {std::int64_t{-5}, std::int64_t{0}, std::int64_t{3'000'000'000'000}})
    histogram.add(ns);
  const auto bins = histogram.bins();
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0].count, 2);
  EXPECT_DOUBLE_EQ(bins[1].to, 3000.0);
  EXPECT_DOUBLE_EQ(histogram.quantile(0.99), 3000.0);
}

TEST(DurationHistogram, is_printed_from_the_first_row_with_something_to_the_last) {
  DurationHistogram lateness, execution;
  lateness.add(60'000);
  lateness.add(100'000);
  execution.add(15'000);
  EXPECT_EQ(histogram_table(lateness, execution),
            "    up to    lateness   execution\n"
            "    20 us           0           1\n"
            "    50 us           0           0\n"
            "   100 us           2           0\n");
  lateness.add(2'000'000'000'000);
  const std::string long_table = histogram_table(lateness, execution);
  EXPECT_TRUE(long_table.ends_with("   longer           1           0\n")) << long_table;
  EXPECT_EQ(histogram_table({}, {}), "");
}

}  // namespace duration_histogram_test
}  // namespace tellegen
