#include "tellegen/symbolic/written_functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace written_functions_test {

constexpr double third = 2.0943951023931953;

struct Frames : testing::Test {
  double value(const char* text, double angle = 0.4) {
    ExprMap<double> at{{pool.symbol("a"), 1.3},
                       {pool.symbol("b"), -0.2},
                       {pool.symbol("c"), 2.1},
                       {pool.symbol("th"), angle}};
    return evaluate(parse(pool, text), at);
  }
  Pool pool;
};

TEST_F(Frames, are_those_of_the_definition) {
  const double th = 0.4;
  EXPECT_NEAR(value("q_of(a, b, c, th)"),
              2.0 / 3 * (1.3 * std::cos(th) - 0.2 * std::cos(th - third) + 2.1 * std::cos(th + third)),
              1e-15);
  EXPECT_NEAR(value("d_of(a, b, c, th)"),
              2.0 / 3 * (1.3 * std::sin(th) - 0.2 * std::sin(th - third) + 2.1 * std::sin(th + third)),
              1e-15);
  EXPECT_NEAR(value("zero_of(a, b, c)"), 3.2 / 3, 1e-15);
  EXPECT_NEAR(value("alpha_of(a, b, c)"), value("q_of(a, b, c, 0)"), 1e-15);
  EXPECT_NEAR(value("beta_of(a, b, c)"), -value("d_of(a, b, c, 0)"), 1e-15);
}

TEST_F(Frames, lead_there_and_back) {
  const char* there = "q_of(a, b, c, th), d_of(a, b, c, th), zero_of(a, b, c), th)";
  EXPECT_NEAR(value((std::string("a_of(") + there).c_str()), 1.3, 1e-14);
  EXPECT_NEAR(value((std::string("b_of(") + there).c_str()), -0.2, 1e-14);
  EXPECT_NEAR(value((std::string("c_of(") + there).c_str()), 2.1, 1e-14);
}

TEST_F(Frames, are_differentiated_like_everything_else) {
  const Expr q = parse(pool, "q_of(a, b, c, th)");
  EXPECT_NEAR(evaluate(derivative(q, pool.symbol("th")), {{pool.symbol("a"), 1.3},
                                                          {pool.symbol("b"), -0.2},
                                                          {pool.symbol("c"), 2.1},
                                                          {pool.symbol("th"), 0.4}}),
              -value("d_of(a, b, c, th)"), 1e-14);
}

TEST_F(Frames, count_their_arguments_and_are_suggested) {
  EXPECT_THROW(parse(pool, "q_of(a, b, c)"), ParseError);
  try {
    parse(pool, "qof(a, b, c, th)");
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'q_of'"), std::string::npos) << error.what();
  }
}

}  // namespace written_functions_test
}  // namespace tellegen
