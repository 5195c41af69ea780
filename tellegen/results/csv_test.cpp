#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tellegen/results/test_folder.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace csv_test {

Trajectory read(std::string_view text) { return read_csv_text(text, "data.csv"); }

std::string reading_fails(std::string_view text) {
  return message_of([&] { read(text); });
}

TEST(Csv, WritesUnitsInTheHeaderAndTheShortestNumbers) {
  TestFolder folder;
  write_csv(folder / "a.csv", {{"n2.T", "gain"}, {"K", ""}, {0, 0.1}, {299, 1e-9, -0.3, 1e22}});
  EXPECT_EQ(get(folder / "a.csv"), "t [s],n2.T [K],gain\n0,299,1e-09\n0.1,-0.3,1e+22\n");
}

TEST(Csv, EveryDoubleSurvivesTheRoundTrip) {
  TestFolder folder;
  std::mt19937_64 random(1);
  Trajectory written{{"a", "b", "c"}, {"V", "", "degC"}, {}, {}};
  for (int r = 0; r < 20'000; ++r) {
    std::array<double, 3> row;
    for (double& x : row) {
      x = std::bit_cast<double>(random());
      if (!std::isfinite(x)) x = 0.1;
    }
    written.append(r * 1e-3, row);
  }
  written.append(20.0, std::array{std::numeric_limits<double>::infinity(), 5e-324, -0.0});
  write_csv(folder / "a.csv", written);
  const Trajectory back = read_csv(folder / "a.csv");
  EXPECT_EQ(back.names, written.names);
  EXPECT_EQ(back.units, written.units);
  EXPECT_EQ(back.t, written.t);
  EXPECT_EQ(back.values, written.values);
}

TEST(Csv, AMissingValueIsAnEmptyCellAndNaN) {
  TestFolder folder;
  write_csv(folder / "a.csv", {{"a", "b"}, {"", ""}, {0}, {NAN, 2}});
  EXPECT_EQ(get(folder / "a.csv"), "t [s],a,b\n0,,2\n");
  const Trajectory back = read_csv(folder / "a.csv");
  EXPECT_TRUE(std::isnan(back.at(0, 0)));
  EXPECT_EQ(back.at(0, 1), 2.0);
}

TEST(Csv, NamesWithCommasAndQuotesSurvive) {
  TestFolder folder;
  write_csv(folder / "a.csv", {{"max(a, b)", "say \"x\""}, {"V", ""}, {0}, {1, 2}});
  const Trajectory back = read_csv(folder / "a.csv");
  EXPECT_EQ(back.names, (std::vector<std::string>{"max(a, b)", "say \"x\""}));
  EXPECT_EQ(back.units[0], "V");
}

TEST(Csv, ReadsByteOrderMarkCrlfBlanksCommentsAndALastLineWithoutEnd) {
  const Trajectory t =
      read("\xEF\xBB\xBF# a record\r\nt_s, \"T2 [degC]\" ,x[1] [V] \r\n\r\n0,+1.5, 2\r\n# more\r\n1,3,4e0");
  EXPECT_EQ(t.names, (std::vector<std::string>{"T2", "x[1]"}));
  EXPECT_EQ(t.units, (std::vector<std::string>{"degC", "V"}));
  EXPECT_EQ(t.t, (std::vector<double>{0, 1}));
  EXPECT_EQ(t.values, (std::vector<double>{1.5, 2, 3, 4}));
}

TEST(Csv, ALastEmptyCellIsAMissingValue) {
  EXPECT_TRUE(std::isnan(read("t,a\n0,\n").at(0, 0)));
  EXPECT_TRUE(std::isnan(read("t,a\n0,").at(0, 0)));
}

TEST(Csv, FaultsNameFileLineAndColumn) {
  EXPECT_EQ(reading_fails("t,a\n0,1\n1,x2\n"), "data.csv:3: column 'a': 'x2' is not a number");
  EXPECT_EQ(reading_fails("t,a\n0,1,2\n"), "data.csv:2: 3 cells, but the header names 2 columns");
  EXPECT_EQ(reading_fails("t,a\n,1\n"), "data.csv:2: the time is missing");
  EXPECT_EQ(reading_fails("t [V],a\n"), "data.csv:1: the time 't' is in V; expected s, ms, ...");
  EXPECT_EQ(reading_fails("t,a,a\n"), "data.csv:1: columns 2 and 3 are both 'a'");
  EXPECT_EQ(reading_fails("t,a,\n"), "data.csv:1: column 3 has no name");
  EXPECT_EQ(reading_fails("0,1\n1,2\n"), "data.csv:1: expected a header with the names of the columns");
  EXPECT_EQ(reading_fails("t,\"a\n0,1\n"), "data.csv:1: a quoted cell does not end");
  EXPECT_EQ(reading_fails("\n\n"), "data.csv: the file is empty");
  EXPECT_NE(message_of([] { read_csv("no/such.csv"); }).find("cannot read 'no/such.csv'"), std::string::npos);
}

TEST(Csv, AQuotedCellOverTwoLinesKeepsTheLineNumbersRight) {
  EXPECT_EQ(reading_fails("t,\"a\nb\"\n0,x\n"), "data.csv:3: column 'a\nb': 'x' is not a number");
}

TEST(Csv, AHeaderAloneIsATrajectoryWithoutRows) { EXPECT_EQ(read("t,a").rows(), 0u); }

TEST(Csv, AFailedWriteLeavesTheOldFile) {
  TestFolder folder;
  EXPECT_NE(message_of([&] { write_csv(folder / "none/a.csv", {}); }), "");
  EXPECT_EQ(folder.file_count(), 0u);
}

TEST(Trajectory, FindsColumnsByName) {
  const Trajectory t{{"a", "b"}, {"", ""}, {}, {}};
  EXPECT_EQ(t.find("b"), 1u);
  EXPECT_FALSE(t.find("c"));
}

}  // namespace csv_test
}  // namespace tellegen
