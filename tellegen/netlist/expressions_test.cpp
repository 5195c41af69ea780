#include "tellegen/netlist/expressions.h"

#include <gtest/gtest.h>

#include <map>

namespace tellegen {
namespace expressions_test {

class TestMeanings : public Meanings {
 public:
  std::optional<Formula> value(const std::string& name) override {
    if (name == "r") return Formula{"r", Formula::atom, false};
    if (name == "s") return Formula{"a + b", Formula::sum, false};
    if (name == "minus") return number_formula(-2.0);
    return std::nullopt;
  }
  const SpiceFunction* function(const std::string& name) override {
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : &found->second;
  }
  Formula voltage(const std::string& node) override { return {node + ".v", Formula::atom, true}; }
  Formula current(const std::string& element) override { return {element + ".i", Formula::atom, true}; }
  double celsius() override { return 27.0; }
  std::map<std::string, SpiceFunction> functions;
};

std::string said(const std::string& text) {
  TestMeanings meanings;
  return translate(text, meanings).text;
}

std::string code_of(const std::string& text) {
  TestMeanings meanings;
  meanings.functions["again"] = {{"x"}, "{again(x)}"};
  try {
    return translate(text, meanings).text;
  } catch (const ExpressionError& error) {
    return error.code;
  }
}

TEST(NetlistExpressions, TheLargestOfOneIsItself) {
  EXPECT_EQ(said("max(r*2)"), "r*2");
  EXPECT_EQ(said("3*min(s)"), "3*(a + b)");
}

TEST(Expressions, KeepTheirPrecedence) {
  EXPECT_EQ(said("1+2*3-4/5"), "1 + 2*3 - 4/5");
  EXPECT_EQ(said("(1+2)*3"), "(1 + 2)*3");
  EXPECT_EQ(said("2-(3-4)"), "2 - (3 - 4)");
  EXPECT_EQ(said("8/(4*2)"), "8/(4*2)");
  EXPECT_EQ(said("-r*2"), "-r*2");
  EXPECT_EQ(said("2*-r"), "2*(-r)");
}

TEST(Expressions, ParametersAreWrittenInWithTheBracketsTheyNeed) {
  EXPECT_EQ(said("2*s"), "2*(a + b)");
  EXPECT_EQ(said("s+1"), "a + b + 1");
  EXPECT_EQ(said("3-s"), "3 - (a + b)");
  EXPECT_EQ(said("r - minus"), "r - -2");
  EXPECT_EQ(said("minus**2"), "(-2)^2");
}

TEST(Expressions, NumbersCarrySuffixesAndUnits) {
  EXPECT_EQ(said("2k + 1.5meg*10nF"), "2000 + 1500000*1e-08");
}

// ngspice 39: pow(-2, 3) = 8, 2^3^2 = 64, -2^2 = -4.
TEST(Expressions, PowersAreThoseOfNgspice) {
  EXPECT_EQ(said("r^3"), "abs(r)^3");
  EXPECT_EQ(said("r**2"), "r^2");
  EXPECT_EQ(said("pow(r, 0.5)"), "abs(r)^0.5");
  EXPECT_EQ(said("2^3^2"), "(2^3)^2");
  EXPECT_EQ(said("-2^2"), "-2^2");
  EXPECT_EQ(said("pwr(r,3)"), "sign(r)*abs(r)^3");
  EXPECT_EQ(said("r^-1"), "abs(r)^(-1)");
}

TEST(Expressions, ConditionsAreWordsHere) {
  EXPECT_EQ(said("r > 1 && r < 2 || !(r == 3)"), "r > 1 and r < 2 or (not r == 3)");
  EXPECT_EQ(said("r > 1 ? 2 : r != 3 ? 4 : 5"), "if(r > 1, 2, if(r != 3, 4, 5))");
  EXPECT_EQ(said("(r > 1) + 1"), "(r > 1) + 1");
}

TEST(Expressions, VoltagesCurrentsAndTimeVary) {
  TestMeanings meanings;
  EXPECT_EQ(said("v(a,b)*i(v1) + v( out )"), "(a.v - b.v)*v1.i + out.v");
  EXPECT_TRUE(translate("2*time", meanings).varies);
  EXPECT_TRUE(translate("max(v(x+), 1)", meanings).varies);
  EXPECT_FALSE(translate("2*temper + pi", meanings).varies);
}

TEST(Expressions, FunctionsOfSpiceAreWrittenInThoseOfTellegen) {
  EXPECT_EQ(said("ln(r) + log(r) + log10(r)"), "log(r) + log(r) + log10(r)");
  EXPECT_EQ(said("u(r) + uramp(r)"), "if(r > 0, 1, 0) + max(r, 0)");
  EXPECT_EQ(said("limit(r, -1, 1)"), "min(max(r, -1), 1)");
  EXPECT_EQ(said("limit(r, 1, -1)"), "min(max(r, min(1, -1)), max(1, -1))");
  EXPECT_EQ(said("min(1,2,r)"), "min(1, 2, r)");
  EXPECT_EQ(said("~(r > 1) & (r < 2)"), said("!(r > 1) && (r < 2)"));
  EXPECT_EQ(said("table(r, 1,0, 2,3)"), "3/(2 - 1)*(min(max(r, 1), 2) - 1)");
  EXPECT_EQ(said("pwl(r, 1,0, 2,3, 4,5)"), "3/(2 - 1)*(min(r, 2) - 1) + (5 - 3)/(4 - 2)*(max(r, 2) - 2)");
}

TEST(Expressions, OwnFunctionsAreWrittenOut) {
  TestMeanings meanings;
  meanings.functions["f"] = {{"x", "y"}, "{x*y + r}"};
  EXPECT_EQ(translate("2*f(1+r, 3)", meanings).text, "2*((1 + r)*3 + r)");
}

TEST(Expressions, WhatIsWrongHasACode) {
  for (const char* text :
       {"", "1+", "(1", "1)", "2 3", "f(1)", "sin(1,2)", "r ? 1", "v(", "v(a,b,c)", "{1", "@"})
    EXPECT_EQ(code_of(text), "T505") << text;
  EXPECT_EQ(code_of("nothing"), "T506");
  EXPECT_EQ(code_of("again(1)"), "T505");
  EXPECT_EQ(code_of(std::string(100000, '(')), "T505");
  EXPECT_EQ(code_of(std::string(100000, '-') + "1"), "T505");
}

}  // namespace expressions_test
}  // namespace tellegen
