#include "tellegen/symbolic/print.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace print_test {

class Print : public testing::Test {
 protected:
  std::string text(const char* in) { return to_text(parse(pool, in)); }
  std::string latex(const char* in) { return to_latex(parse(pool, in)); }
  Pool pool;
};

TEST_F(Print, text_reads_as_it_was_written) {
  for (const char* in : {"a - b",
                         "-a",
                         "a/b",
                         "1/a",
                         "-1/a",
                         "a/(b*c)",
                         "a*b/(c*d^2)",
                         "2*a - 3*b + 4",
                         "-(a + b)",
                         "a*(b + c)",
                         "(a + b)*(a - b)",
                         "a^2",
                         "a^-b",
                         "a^(b + 1)",
                         "(a + b)^2",
                         "(-2)^a",
                         "a^(b^c)",
                         "(a^0.5)^b",
                         "sin(a + b)",
                         "atan2(a, b)",
                         "if(a < b, a, b)",
                         "a < b and b < c",
                         "not (a and b)",
                         "a or b and c",
                         "(a or b) and c",
                         "(a < b) < c",
                         "2*(a < b)",
                         "a/3",
                         "a/(7*b)",
                         "0.1*a",
                         "1e-06*a",
                         "der(x) - y'",
                         "1 - a",
                         "1/0",
                         "a/0",
                         "0/0",
                         "log(0)",
                         "a^0.5",
                         "1/a^0.5",
                         "2*(a + b) + c",
                         "a == b",
                         "a + b < c - d"}) {
    Pool pool;
    Expr e = parse(pool, in);
    EXPECT_EQ(parse(pool, to_text(e)), e) << in << " as " << to_text(e);
    std::string expected = in;
    if (expected == "a^-b") expected = "a^(-b)";
    EXPECT_EQ(to_text(e), expected);
  }
}

TEST_F(Print, the_derivative_of_everything_reads_back) {
  for (const char* in :
       {"sin(x)^2/cos(x*y)", "x^y*tanh(x/y)", "exp(-x^2/3)/sqrt(1 + x)", "if(x < y, x^3, -1/x)",
        "limexp(x/0.0258)", "asin(x) + acosh(x) - mod(x, 3)", "max(x, y, 2)*abs(x - y)"}) {
    Expr d = derivative(parse(pool, in), pool.symbol("x"));
    EXPECT_EQ(parse(pool, to_text(d)), d) << to_text(d);
  }
}

TEST_F(Print, numbers_round_trip) {
  for (double value : {0.1, 1.0 / 3.0, 1e300, 5e-324, -2.0, 123456789.0}) {
    EXPECT_EQ(std::strtod(text_number(value).c_str(), nullptr), value);
    EXPECT_EQ(std::strtod(c_number(value).c_str(), nullptr), value);
    EXPECT_NE(c_number(value).find_first_of(".e"), std::string::npos);
  }
  EXPECT_EQ(c_number(2.0), "2.0");
  EXPECT_EQ(c_number(std::numeric_limits<double>::infinity()), "INFINITY");
  EXPECT_EQ(text_number(0.1), "0.1");
}

TEST_F(Print, latex_is_typeset) {
  EXPECT_EQ(latex("a/b"), R"(\frac{a}{b})");
  EXPECT_EQ(latex("der(x) - 2*tau"), R"(\dot{x} - 2\,\tau)");
  EXPECT_EQ(latex("c*(a + b)"), R"(c\,\left(a + b\right))");
  EXPECT_EQ(latex("(a + b)/2"), R"(0.5\,\left(a + b\right))");
  EXPECT_EQ(latex("cell_2.r.i"), R"(i_{\mathrm{cell\_2.r}})");
  EXPECT_EQ(latex("T_j^2"), R"(T_{j}^{2})");
  EXPECT_EQ(latex("sqrt(1e-6*x)"), R"(\sqrt{10^{-6}\,x})");
  EXPECT_EQ(latex("x^(a + 1)"), "x^{a + 1}");
}

TEST_F(Print, a_deep_expression_prints) {
  Expr x = pool.symbol("x"), e = x;
  for (int i = 0; i < 100000; ++i) e = x + pool.call("sin", {e});
  EXPECT_GT(to_text(e).size(), 900000u);
  EXPECT_GT(to_c(e, {}).size(), 900000u);
  EXPECT_GT(to_latex(e).size(), 900000u);
}

}  // namespace print_test
}  // namespace tellegen
