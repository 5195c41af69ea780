#include "tellegen/symbolic/evaluator.h"

#include <gtest/gtest.h>

namespace tellegen {
namespace {

// Of quotients and powers too, of what several roots share, and of a divisor that is asked for itself.
TEST(Evaluator, has_the_bits_of_evaluate) {
  Pool pool;
  const std::vector<Expr> s{pool.symbol("a"), pool.symbol("b"), pool.symbol("c"), pool.symbol("d")};
  const Expr quotient = s[0] / (s[1] * pow(s[2], 3.0)) * s[3];
  const std::vector<Expr> roots{quotient,
                                quotient * quotient / (s[3] + 2.0 * s[0]),
                                pow(s[1], -1.0),
                                pow(s[1], -1.0) * s[0],
                                pow(s[2] + 1.0, -0.3) * pow(s[0], s[1]),
                                pool.call("sin", {s[0] / 3.0}) + pool.call("exp", {-s[2]}) - 7.0,
                                pool.call("if", {pool.call("lt", {s[0], s[1]}), s[2] / s[3], s[3] / s[2]}),
                                s[3],
                                pool.number(4.0)};
  Evaluator evaluator(roots, s);
  std::vector<double> values(roots.size());
  for (int trial = 1; trial < 20; ++trial) {
    const std::vector<double> at{0.1 * trial, 1.0 / trial, 0.7 + 0.01 * trial, 3.0 / (1.0 + trial)};
    ExprMap<double> named;
    for (std::size_t k = 0; k < s.size(); ++k) named[s[k]] = at[k];
    evaluator.run(at, values);
    for (std::size_t k = 0; k < roots.size(); ++k) EXPECT_EQ(values[k], evaluate(roots[k], named)) << k;
  }
}

}  // namespace
}  // namespace tellegen
