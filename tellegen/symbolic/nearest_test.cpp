#include "tellegen/symbolic/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace tellegen {
namespace nearest_test {

const std::vector<std::string> names = {"sin", "sinh", "cos", "sqrt", "capacitor", "resistor"};

TEST(Nearest, finds_what_was_meant) {
  EXPECT_EQ(nearest("sine", names), "sin");
  EXPECT_EQ(nearest("sqtr", names), "sqrt");
  EXPECT_EQ(nearest("capacator", names), "capacitor");
  EXPECT_EQ(nearest("Resistor", names), "resistor");
}

TEST(Nearest, makes_no_wild_guess) {
  EXPECT_EQ(nearest("inductor", names), "");
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("sin", {}), "");
}

}  // namespace nearest_test
}  // namespace tellegen
