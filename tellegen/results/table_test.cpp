#include "tellegen/results/table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tellegen {
namespace table_test {

const TextTable table{{"method", "step [ms]", "error"}, {{"bdf2", "0.25", "2.04e-4"}, {"euler", "1"}}};

TEST(TextTable, NumbersToTheRightTextToTheLeftNoTrailingBlanks) {
  EXPECT_EQ(to_text(table),
            "method   step [ms]     error\n"
            "bdf2          0.25   2.04e-4\n"
            "euler            1\n");
}

TEST(TextTable, WidthIsCountedInCharacters) {
  EXPECT_EQ(to_text({{"R", "x"}, {{"1 Ω", "a"}, {"10 k", "b"}}}),
            "R      x\n"
            "1 Ω    a\n"
            "10 k   b\n");
}

TEST(TextTable, WithoutAHeaderThereAreOnlyRows) {
  EXPECT_EQ(to_text({{}, {{"nodes", "3"}, {"edges", "12"}}}), "nodes    3\nedges   12\n");
  EXPECT_EQ(to_text({}), "");
}

TEST(TextTable, AsMarkdown) {
  EXPECT_EQ(to_markdown(table),
            "| method | step [ms] |   error |\n"
            "| ------ | --------: | ------: |\n"
            "| bdf2   |      0.25 | 2.04e-4 |\n"
            "| euler  |         1 |         |\n");
}

TEST(BriefNumber, HasFewDigitsAndNoTrailingZeros) {
  EXPECT_EQ(brief_number(0.000204081), "0.0002041");
  EXPECT_EQ(brief_number(12.0), "12");
  EXPECT_EQ(brief_number(1.0 / 3.0, 2), "0.33");
  EXPECT_EQ(brief_number(NAN), "-");
}

}  // namespace table_test
}  // namespace tellegen
