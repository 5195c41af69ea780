#include "tellegen/results/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace compare_test {

const Trajectory run{{"a", "b"}, {"V", "K"}, {0, 0.5, 1.0}, {1, 10, 2, 20, 3, 30}};

TEST(Compare, RmsAndLargestErrorAtTheReferencesTimes) {
  const Trajectory reference{{"a"}, {""}, {0.5, 1.0}, {2.0 - 3e-3, 3.0 + 4e-3}};
  const auto errors = compare(run, reference);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].name, "a");
  EXPECT_EQ(errors[0].unit, "V");
  EXPECT_NEAR(errors[0].rms, std::sqrt((9e-6 + 16e-6) / 2), 1e-12);
  EXPECT_NEAR(errors[0].largest, 4e-3, 1e-12);
  EXPECT_EQ(errors[0].largest_at, 1.0);
}

TEST(Compare, TimesThatDifferByRoundingMatch) {
  const Trajectory reference{{"b"}, {"K"}, {1.0 + 5e-10}, {30}};
  EXPECT_EQ(compare(run, reference)[0].rms, 0.0);
}

TEST(Compare, OfTwoRowsAtOneTimeTheLastCounts) {
  const Trajectory jump{{"a"}, {""}, {0, 1, 1}, {0, 5, 6}};
  EXPECT_EQ(compare(jump, {{"a"}, {""}, {1}, {6}})[0].rms, 0.0);
}

TEST(Compare, ColumnsAreChosenByName) {
  const Trajectory reference{{"x", "b"}, {"", ""}, {1.0}, {0, 29}};
  const std::vector<std::string> columns{"b"};
  EXPECT_EQ(compare(run, reference, columns)[0].rms, 1.0);
}

TEST(Compare, BetweenRowsAValueIsStraightAndUnitsAreConverted) {
  const Trajectory line{{"b"}, {"K"}, {0, 2}, {300, 310}};
  EXPECT_NEAR(compare(line, {{"b"}, {"degC"}, {0.5}, {302.5 - 273.15}})[0].rms, 0.0, 1e-9);
}

TEST(Compare, WhatIsMissingIsAnError) {
  auto fails = [&](const Trajectory& reference) { return message_of([&] { compare(run, reference); }); };
  EXPECT_EQ(fails({{"a"}, {""}, {75}, {1}}),
            "cannot compare: the reference has a row at t = 75 s, the trajectory has none");
  EXPECT_EQ(fails({{"c"}, {""}, {1}, {1}}), "cannot compare: the trajectory has no column 'c'");
  EXPECT_EQ(fails({{"b"}, {"V"}, {1}, {1}}), "cannot compare: 'b' is in K, and in V in the reference");
  EXPECT_EQ(fails({{"a"}, {""}, {}, {}}), "cannot compare: the reference has no rows");
}

TEST(Compare, ANaNInTheRunIsNotAGoodResult) {
  const Trajectory broken{{"a"}, {""}, {0}, {NAN}};
  EXPECT_TRUE(std::isnan(compare(broken, {{"a"}, {""}, {0}, {1}})[0].rms));
}

}  // namespace compare_test
}  // namespace tellegen
