#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tellegen/symbolic/parse.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace derivative_test {

class Derivative : public testing::Test {
 protected:
  Expr d(const char* text, const char* by = "x") { return derivative(parse(pool, text), pool.symbol(by)); }
  Expr expr(const char* text) { return parse(pool, text); }
  Pool pool;
};

TEST_F(Derivative, of_sums_products_and_powers) {
  EXPECT_EQ(d("3*x + y + 2"), expr("3"));
  EXPECT_EQ(d("x*y*z"), expr("y*z"));
  EXPECT_EQ(d("x^2*y"), expr("2*x*y"));
  EXPECT_EQ(d("1/x"), expr("-1/x^2"));
  EXPECT_EQ(d("x^n"), expr("n*x^(n - 1)"));
  EXPECT_EQ(d("2^x"), expr("2^x*log(2)"));
  EXPECT_EQ(d("y"), expr("0"));
  EXPECT_EQ(d("x"), expr("1"));
}

TEST_F(Derivative, of_a_general_power_matches_differences) {
  Expr x = pool.symbol("x"), e = expr("(x^2 + 1)^(x*sin(x))"), slope = derivative(e, x);
  const double h = 1e-5;
  for (double at : {0.3, 1.1, 2.7}) {
    const double difference = (evaluate(e, {{x, at + h}}) - evaluate(e, {{x, at - h}})) / (2.0 * h);
    EXPECT_NEAR(evaluate(slope, {{x, at}}), difference, 1e-6 * (1.0 + std::abs(difference)));
  }
}

TEST_F(Derivative, of_a_choice_chooses_between_derivatives) {
  EXPECT_EQ(d("if(x > 1, x^2, sin(x))"), expr("if(x > 1, 2*x, cos(x))"));
  EXPECT_EQ(d("if(x > 1, y, x)"), expr("if(x > 1, 0, 1)"));
  EXPECT_EQ(d("min(x^2, y)"), expr("if(x^2 < y, 2*x, 0)"));
  EXPECT_EQ(d("max(x, 3*x)"), expr("if(x > 3*x, 1, 3)"));
}

TEST_F(Derivative, a_branch_not_taken_does_not_leak_its_infinity) {
  Expr x = pool.symbol("x");
  EXPECT_EQ(evaluate(d("if(x > 0, sqrt(x), 0)"), {{x, 0.0}}), 0.0);
  EXPECT_EQ(evaluate(d("max(sqrt(x), 1)"), {{x, 0.0}}), 0.0);
}

TEST_F(Derivative, of_steps_is_zero) {
  for (const char* text :
       {"x < 1", "floor(x)", "ceil(x)", "sign(x)", "not x", "x > 1 and x < 2", "junction_limit(x, y)"})
    EXPECT_EQ(d(text), expr("0")) << text;
}

TEST_F(Derivative, of_a_lookup_is_its_slope) {
  TableMap tables{{"f", formal_table("f")}};
  Expr x = pool.symbol("x");
  EXPECT_EQ(derivative(parse(pool, "f(x^2)", tables), x), parse(pool, "2*x*f'(x^2)", tables));
  auto hold = make_table("h", {0.0, 1.0}, {2.0, 3.0}, Interpolation::hold);
  EXPECT_TRUE(derivative(pool.lookup(hold, 0, x), x).is_number(0.0));
}

TEST_F(Derivative, a_gradient_agrees_with_its_derivatives) {
  Expr e = expr("x*sin(y*z) + exp(x*y)/(1 + z^2)");
  const std::array symbols{expr("z"), expr("x"), expr("unused"), expr("y")};
  std::vector<Expr> all = gradient(e, symbols);
  for (std::size_t i = 0; i < symbols.size(); ++i) EXPECT_EQ(all[i], derivative(e, symbols[i]));
}

}  // namespace derivative_test
}  // namespace tellegen
