#include "tellegen/netlist/numbers.h"

#include <gtest/gtest.h>

namespace tellegen {
namespace numbers_test {

TEST(Numbers, SuffixesAreThoseOfSpice) {
  for (const auto& [text, value] : {std::pair{"1t", 1e12},
                                    {"2g", 2e9},
                                    {"1.5meg", 1.5e6},
                                    {"4.7k", 4700.0},
                                    {"3m", 3e-3},
                                    {"2.2u", 2.2e-6},
                                    {"100n", 1e-7},
                                    {"33p", 33e-12},
                                    {"5f", 5e-15}})
    EXPECT_EQ(read_number(text), value) << text;
  EXPECT_DOUBLE_EQ(read_number("1mil").value(), 25.4e-6);
}

TEST(Numbers, LettersAfterTheSuffixAreAUnit) {
  EXPECT_EQ(read_number("10pf"), 10e-12);
  EXPECT_EQ(read_number("5volts"), 5.0);
  EXPECT_EQ(read_number("1kohm"), 1000.0);
  // ngspice 39 reads 2 for each of these: A is no suffix.
  for (const char* text : {"2a", "2amp", "2as", "2am", "2z"}) EXPECT_EQ(read_number(text), 2.0) << text;
  // ngspice 39: 1e6, 25.4e-6, 1e-3, 1e-3, 5e-15.
  EXPECT_EQ(read_number("1megohm"), 1e6);
  EXPECT_DOUBLE_EQ(read_number("1milx").value(), 25.4e-6);
  EXPECT_EQ(read_number("1mi"), 1e-3);
  EXPECT_EQ(read_number("1me"), 1e-3);
  EXPECT_EQ(read_number("5farad"), 5e-15);
  EXPECT_EQ(read_number("1e3hz"), 1000.0);
  EXPECT_EQ(read_number("3.3\xc2\xb5"
                        "f"),
            3.3e-6);
  EXPECT_EQ(read_number("27\xc2\xb0"
                        "c"),
            27.0);
  EXPECT_EQ(read_number("9k\xce\xa9"), 9000.0);  // ohm
}

TEST(Numbers, AnExponentComesBeforeASuffix) {
  EXPECT_EQ(read_number("1e-3"), 1e-3);
  EXPECT_EQ(read_number("-2.5e+2k"), -250000.0);
  EXPECT_EQ(read_number("+.5"), 0.5);
  EXPECT_EQ(read_number("1e"), 1.0);  // a unit that begins with e
  EXPECT_EQ(read_number("2d3"), 2000.0);
  EXPECT_EQ(read_number("1.5d-12"), 1.5e-12);
  EXPECT_EQ(read_number("1d-3k"), 1.0);
  EXPECT_EQ(read_number("3d"), 3.0);
}

TEST(Numbers, WhatIsNotANumberIsNone) {
  for (const char* text : {"", "-", ".", "k", "1k2", "2+3", "1 k", "--1", "inf", "nan", "0x10", "1e999"})
    EXPECT_EQ(read_number(text), std::nullopt) << text;
}

TEST(Numbers, AreWrittenWithEveryDigit) {
  for (const double value : {0.1, 1e30, 1.0 / 3.0, 1e-300, 4700.0})
    EXPECT_EQ(std::stod(number_text(value)), value);
}

}  // namespace numbers_test
}  // namespace tellegen
