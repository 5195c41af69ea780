#include "tellegen/symbolic/common.h"

#include <gtest/gtest.h>

#include "tellegen/symbolic/parse.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace common_test {

TEST(Common, what_is_used_twice_is_named_once) {
  Pool pool;
  const std::vector<Expr> roots{parse(pool, "3*a + 4*sin(b + c)"), parse(pool, "(b + c)*tan(a)"),
                                parse(pool, "-a/d + t1"), parse(pool, "b/d - a")};
  const NamedExpressions found = name_common(roots);
  ASSERT_EQ(found.named.size(), 1u);
  EXPECT_EQ(to_text(found.named[0].first), "t2");  // t1 is taken
  EXPECT_EQ(to_text(found.named[0].second), "b + c");
  EXPECT_EQ(to_text(found.roots[1]), to_text(parse(pool, "t2*tan(a)")));
}

// [thesis 5.31 to 5.34]: 5 additions, 5 multiplications, 2 functions; then 4, 4 and 2 with one assignment.
// Here 3*b + 3*c is written 3*(b + c), which saves a multiplication from the start.
TEST(Common, costs_are_counted_as_written) {
  Pool pool;
  const std::vector<Expr> roots{parse(pool, "a + b + c"), parse(pool, "3*a + 4*sin(b + c)"),
                                parse(pool, "3*(b + c)*tan(a)")};
  const Cost before = cost_of(roots), after = cost_of(name_common(roots));
  EXPECT_EQ(before.additions, 5);
  EXPECT_EQ(before.multiplications, 4);
  EXPECT_EQ(before.functions, 2);
  EXPECT_EQ(after.additions, 4);
  EXPECT_EQ(after.multiplications, 4);
  EXPECT_EQ(after.functions, 2);
  EXPECT_EQ(after.assignments, 1);
}

TEST(Common, names_build_on_names) {
  Pool pool;
  const std::vector<Expr> roots{parse(pool, "exp(a*b) + cos(exp(a*b))"), parse(pool, "a*b")};
  const NamedExpressions found = name_common(roots);
  ASSERT_EQ(found.named.size(), 2u);
  ExprMap<Expr> values;
  for (const auto& [symbol, value] : found.named) values[symbol] = substitute(value, values);
  EXPECT_EQ(substitute(found.roots[0], values), roots[0]);
  EXPECT_EQ(substitute(found.roots[1], values), roots[1]);
}

TEST(Common, sines_of_three_phases_are_written_in_one_sine_and_cosine) {
  Pool pool;
  const std::vector<Expr> roots{parse(pool, "V*cos(w*t) + cos(w*t - 2)"), parse(pool, "sin(w*t + 0.5)"),
                                parse(pool, "cos(x + 1)")};
  const ExprMap<Expr> written = shared_sines(pool, roots);
  EXPECT_EQ(written.size(), 2u);  // nothing shares the argument x
  const ExprMap<double> at{
      {pool.symbol("V"), 3.0}, {pool.symbol("w"), 7.0}, {pool.symbol("t"), 0.3}, {pool.symbol("x"), 1.1}};
  for (Expr root : roots) EXPECT_NEAR(evaluate(substitute(root, written), at), evaluate(root, at), 1e-15);
}

}  // namespace common_test
}  // namespace tellegen
