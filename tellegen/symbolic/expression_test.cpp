#include "tellegen/symbolic/expression.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "tellegen/symbolic/walk.h"

namespace tellegen {
namespace expression_test {

class Expression : public testing::Test {
 protected:
  Pool pool;
  Expr a = pool.symbol("a"), b = pool.symbol("b"), c = pool.symbol("c"), x = pool.symbol("x");
  Expr zero = pool.number(0.0), one = pool.number(1.0);
};

TEST_F(Expression, equal_expressions_are_one_node) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ(a + (b + c), (a + b) + c);
  EXPECT_EQ(a * (b * c), (c * a) * b);
  EXPECT_EQ(pool.symbol("a"), a);
  EXPECT_EQ(pool.call("sin", {a + b}), pool.call("sin", {b + a}));
  const std::size_t before = pool.size();
  (void)(b * a + pool.call("sin", {a + b}));
  EXPECT_EQ(pool.size(), before + 1);
}

TEST_F(Expression, like_terms_are_collected) {
  EXPECT_EQ(x + x, 2.0 * x);
  EXPECT_EQ(x - x, zero);
  EXPECT_EQ(2.0 * x + 3.0 * x - 5.0 * x, zero);
  EXPECT_EQ(a * b + b * a, 2.0 * (a * b));
  EXPECT_EQ(a + 1.0 + b + 2.0, a + b + 3.0);
  EXPECT_EQ((a + 2.0) - a, pool.number(2.0));
}

TEST_F(Expression, like_factors_are_collected) {
  EXPECT_EQ(x * x, pow(x, 2.0));
  EXPECT_EQ(x / x, one);
  EXPECT_EQ((a * b) / (b * a), one);
  EXPECT_EQ(pow(x, 2.0) / x, x);
  EXPECT_EQ(pow(x, a) * pow(x, b), pow(x, a + b));
  EXPECT_EQ(pow(x, a) * pow(x, -a), one);
  EXPECT_EQ((a + b) / (b + a), one);
  EXPECT_EQ(pow(a * b, 0.5) * pow(a * b, 0.5), a * b);
  EXPECT_EQ(pow(pow(x, 0.5), a) * pow(pow(x, 0.5), -a + 2.0) * x, pow(x, 2.0));
}

TEST_F(Expression, zero_and_one_are_absorbed) {
  EXPECT_EQ(0.0 * x, zero);
  EXPECT_EQ(1.0 * x, x);
  EXPECT_EQ(x + 0.0, x);
  EXPECT_EQ(pow(x, 0.0), one);
  EXPECT_EQ(pow(x, 1.0), x);
  EXPECT_EQ(pow(one, x), one);
  EXPECT_EQ(pool.number(-0.0), zero);
}

TEST_F(Expression, powers_of_powers_multiply_only_for_integer_outer_exponents) {
  EXPECT_EQ(pow(pow(x, 0.5), 2.0), x);
  EXPECT_EQ(pow(pow(x, a), 3.0), pow(x, 3.0 * a));
  EXPECT_FALSE(pow(pow(x, 2.0), 0.5) == x);
  EXPECT_EQ(pow(2.0 * a * b, 2.0), 4.0 * (pow(a, 2.0) * pow(b, 2.0)));
  EXPECT_EQ(pow(a * b, 0.5).op(), Op::power);
}

TEST_F(Expression, a_sum_minus_itself_is_zero_however_it_was_built) {
  Expr s = a + b;
  EXPECT_EQ(s - s, zero);
  EXPECT_EQ((s + c) - s, c);
  EXPECT_EQ(c - (c - s), s);
  EXPECT_EQ(2.0 * s - s - s, 2.0 * s - 2.0 * a - 2.0 * b);  // 2*(a + b) is not expanded ...
  EXPECT_EQ(2.0 * s + c - 2.0 * s, c);                      // ... but cancels as a whole
  EXPECT_EQ(0.5 * s + 0.5 * s, s);
  EXPECT_EQ(-s + 0.0, -s);
  EXPECT_EQ(x * s + x * -s, zero);
}

TEST_F(Expression, numbers_fold_and_divide_once) {
  EXPECT_EQ(pool.number(49.0) / pool.number(49.0), one);
  EXPECT_EQ((49.0 * x) / 49.0, x);
  EXPECT_EQ((3.0 * x) / (3.0 * a), x / a);
  EXPECT_TRUE(pool.call("sqrt", {pool.number(4.0)}).is_number(2.0));
  EXPECT_TRUE(pow(pool.number(2.0), 10.0).is_number(1024.0));
}

TEST_F(Expression, what_would_not_be_finite_is_not_folded) {
  Expr infinite = one / zero;
  EXPECT_FALSE(infinite.is_number());
  EXPECT_TRUE(std::isinf(evaluate(infinite, {})));
  EXPECT_TRUE(std::isnan(evaluate(zero / zero, {})));
  EXPECT_FALSE(pool.call("log", {zero}).is_number());
}

TEST_F(Expression, the_number_is_last_in_a_sum_and_first_in_a_product) {
  Expr sum = pool.number(3.0) + x;
  EXPECT_TRUE(sum.args().back().is_number(3.0));
  Expr product = a * (-2.0 * b);
  EXPECT_TRUE(product.args().front().is_number(-2.0));
  EXPECT_EQ(split_coefficient(product).coefficient, -2.0);
  EXPECT_EQ(split_coefficient(product).rest, a * b);
  EXPECT_EQ(split_coefficient(a).rest, a);
}

TEST_F(Expression, a_choice_with_a_known_condition_or_equal_branches_is_a_branch) {
  EXPECT_EQ(pool.call("if", {one, a, b}), a);
  EXPECT_EQ(pool.call("if", {zero, a, b}), b);
  EXPECT_EQ(pool.call("if", {x, a, a}), a);
}

TEST_F(Expression, min_of_many_is_nested_in_pairs) {
  EXPECT_EQ(pool.call("min", {a, b, c}), pool.call("min", {pool.call("min", {a, b}), c}));
}

TEST_F(Expression, children_come_before_parents) {
  Expr e = pool.call("sin", {a * b + c}) / (a + b);
  std::vector<Expr> nodes = nodes_of(std::array{e});
  Walk walk(std::array{e});
  for (Expr node : nodes)
    for (Expr arg : node.args()) {
      EXPECT_LT(walk[arg], walk[node]);
      EXPECT_LT(arg.id(), node.id());
    }
  EXPECT_EQ(nodes.back(), e);
}

TEST_F(Expression, symbols_are_listed_by_name_once) {
  std::vector<Expr> symbols = symbols_of(std::array{c * a + a, b});
  EXPECT_EQ(symbols, (std::vector<Expr>{a, b, c}));
  EXPECT_TRUE(depends_on(a * b, b));
  EXPECT_FALSE(depends_on(a * b, x));
}

TEST_F(Expression, substitution_is_simultaneous) {
  EXPECT_EQ(substitute(a - 2.0 * b, {{a, b}, {b, a}}), b - 2.0 * a);
  EXPECT_EQ(substitute(a * b + c, {{a, zero}}), c);
  EXPECT_EQ(substitute(a * b + c, {{a * b, x}}), c + x);
}

TEST_F(Expression, a_formal_table_becomes_the_given_one) {
  Expr e = 2.0 * pool.lookup(formal_table("f"), 0, x);
  auto own = make_table("points.csv", {0.0, 1.0}, {1.0, 3.0}, Interpolation::linear);
  Expr given = substitute(e, {}, {{"f", own}});
  EXPECT_EQ(evaluate(given, {{x, 0.5}}), 4.0);
  EXPECT_EQ(substitute(e, {{x, pool.number(0.5)}}, {{"f", own}}), pool.number(4.0));
  EXPECT_EQ(pool.lookup(formal_table("f"), 0, x), pool.lookup(formal_table("f"), 0, x));
  EXPECT_EQ(substitute(given, {}, {{"points.csv", nullptr}}), given);  // has points: stays
}

TEST_F(Expression, a_missing_value_is_nan) {
  EXPECT_TRUE(std::isnan(evaluate(a + b, {{a, 1.0}})));
  EXPECT_EQ(evaluate(a + b, {{a, 1.0}, {b, 2.0}}), 3.0);
}

TEST_F(Expression, operations_are_counted_once_per_node_or_as_written_out) {
  Expr s = pool.call("sin", {a * b});
  OperationCount shared = count_operations(std::array{s * s * c + s});
  EXPECT_EQ(shared.functions, 1);
  EXPECT_EQ(shared.additions, 1);
  EXPECT_EQ(shared.multiplications, 3);  // a*b, s^2, s^2*c
  OperationCount full = count_operations(std::array{s * s * c + s}, false);
  EXPECT_EQ(full.functions, 2);
  EXPECT_EQ(count_operations(std::array{a / b}).divisions, 1);
  EXPECT_EQ(count_operations(std::array{a / b}).multiplications, 0);
  EXPECT_EQ(count_operations(std::array{a - b}).multiplications, 0);
}

TEST_F(Expression, a_tree_too_large_to_count_saturates) {
  Expr e = x;
  for (int i = 0; i < 100; ++i) e = pool.call("sin", {e}) + pool.call("cos", {e});
  EXPECT_EQ(count_operations(std::array{e}, false).nodes, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(count_operations(std::array{e}).functions, 200);
}

TEST_F(Expression, a_hundred_thousand_levels_do_not_overflow_the_stack) {
  const Expr sum = x + a;
  Expr e = sum;
  for (int i = 0; i < 100000; ++i) e = x + pool.call("sin", {e});
  Expr d = derivative(e, x);
  EXPECT_TRUE(std::isfinite(evaluate(d, {{x, 0.3}, {a, 0.1}})));
  Expr replaced = substitute(e, {{a, b}});
  EXPECT_EQ(evaluate(replaced, {{x, 0.3}, {b, 0.1}}), evaluate(e, {{x, 0.3}, {a, 0.1}}));
  EXPECT_EQ(symbols_of(std::array{e}).size(), 2u);
  EXPECT_GT(count_operations(std::array{e}).functions, 99999);
}

TEST_F(Expression, random_sums_and_products_keep_their_value) {
  std::mt19937 random(7);
  const std::array symbols{a, b, c};
  const ExprMap<double> values{{a, 1.25}, {b, -0.75}, {c, 2.5}};
  for (int round = 0; round < 300; ++round) {
    std::vector<Expr> made(symbols.begin(), symbols.end());
    std::vector<double> expected{1.25, -0.75, 2.5};
    for (int step = 0; step < 12; ++step) {
      const std::size_t i = random() % made.size(), j = random() % made.size();
      switch (random() % 6) {
        case 0:
          made.push_back(made[i] + made[j]), expected.push_back(expected[i] + expected[j]);
          break;
        case 1:
          made.push_back(made[i] - made[j]), expected.push_back(expected[i] - expected[j]);
          break;
        case 2:
          made.push_back(made[i] * made[j]), expected.push_back(expected[i] * expected[j]);
          break;
        case 3:
          if (std::abs(expected[j]) < 1e-3) continue;
          made.push_back(made[i] / made[j]), expected.push_back(expected[i] / expected[j]);
          break;
        case 4:
          made.push_back(pow(made[i], 2.0)), expected.push_back(expected[i] * expected[i]);
          break;
        default:
          made.push_back(-1.5 * made[i]), expected.push_back(-1.5 * expected[i]);
      }
      if (std::abs(expected.back()) > 1e6) made.pop_back(), expected.pop_back();
      EXPECT_NEAR(evaluate(made.back(), values), expected.back(), 1e-6 * (1.0 + std::abs(expected.back())));
    }
  }
}

}  // namespace expression_test
}  // namespace tellegen
