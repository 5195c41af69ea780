#include "tellegen/symbolic/row_list.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tellegen {
namespace row_list_test {

constexpr int lanes = 5;

TEST(RowList, has_the_bits_of_evaluate_in_every_lane) {
  Pool pool;
  const std::vector<Expr> s{pool.symbol("a"), pool.symbol("b"), pool.symbol("c"), pool.symbol("d")};
  const Expr quotient = s[0] / (s[1] * pow(s[2], 3.0)) * s[3];
  const std::vector<Expr> roots{quotient,
                                quotient * quotient / (s[3] + 2.0 * s[0]),
                                pow(s[1], -1.0),
                                pow(s[1], -2.0) * s[0] - s[3],
                                pow(s[2] + 1.0, -0.3) * pow(s[0], s[1]),
                                pow(s[2], 0.5) / s[3],
                                pool.call("sin", {s[0] / 3.0}) + pool.call("exp", {-s[2]}) - 7.0,
                                pool.call("if", {pool.call("lt", {s[0], s[1]}), s[2] / s[3], s[3] / s[2]}),
                                s[3],
                                s[3] * s[3] / 7.0,
                                pool.number(4.0)};
  // c and d are the same in all lanes.
  RowList list;
  const RowValue a = list.input(), b = list.input();
  const auto values = list.evaluate(roots, {{s[0], a}, {s[1], b}, {s[2], 0.7}, {s[3], 1.0 / 3}});
  ASSERT_TRUE(list.possible());
  EXPECT_TRUE(values[0].varies());
  EXPECT_FALSE(values[5].varies());
  EXPECT_FALSE(values[9].varies());
  list.start(lanes);
  for (int l = 0; l < lanes; ++l) {
    list.row(a)[l] = 0.1 * (l + 1);
    list.row(b)[l] = 1.0 / (l + 2);
  }
  std::vector<char> good(lanes, 1);
  list.run(good);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    std::vector<double> found(lanes);
    list.put(values[k], found.data());
    for (int l = 0; l < lanes; ++l)
      EXPECT_EQ(
          found[l],
          evaluate(roots[k], {{s[0], 0.1 * (l + 1)}, {s[1], 1.0 / (l + 2)}, {s[2], 0.7}, {s[3], 1.0 / 3}}))
          << k << " in lane " << l;
  }
  EXPECT_EQ(good, std::vector<char>(lanes, 1));
}

TEST(RowList, only_lanes_that_break_a_requirement_leave) {
  RowList list;
  const RowValue a = list.input();
  list.require(RowCheck::finite, list.divide(1.0, list.subtract(a, 1.0)));
  list.require(RowCheck::above, a, -1.0);
  list.require(RowCheck::at_least, 3.0, a);
  list.require_cancelling(a, list.divide(a, 3.0), 3.0, 1e-12);
  list.require_share(a, 10.0, 0.01);
  list.start(lanes);
  const double at[lanes] = {2.0, 1.0, -2.0, 4.0, 0.01};
  std::copy_n(at, lanes, list.row(a));
  std::vector<char> good(lanes, 1);
  list.run(good);
  EXPECT_EQ(good, (std::vector<char>{1, 0, 0, 0, 0}));
}

TEST(RowList, a_requirement_on_what_is_the_same_in_all_lanes_is_decided_at_once) {
  RowList list;
  list.require(RowCheck::zero, 0.0);
  EXPECT_TRUE(list.possible());
  list.require(RowCheck::equal, list.add(1.0, 1.0), 3.0);
  EXPECT_FALSE(list.possible());
}

}  // namespace row_list_test
}  // namespace tellegen
