#include "tellegen/symbolic/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tellegen/symbolic/expression.h"

namespace tellegen {
namespace table_test {

// The monotone data of [Fritsch 1980], table 1 (RPN 14): flat, then steep.
const std::vector<double> rpn_x = {7.99, 8.09, 8.19, 8.7, 9.2, 10, 12, 15, 20};
const std::vector<double> rpn_y = {0,        2.76429e-5, 4.37498e-2, 0.169183, 0.469428,
                                   0.943740, 0.998636,   0.999919,   0.999994};

TEST(Table, passes_through_its_points) {
  for (Interpolation kind : {Interpolation::linear, Interpolation::hold, Interpolation::cubic}) {
    auto table = make_table("rpn", rpn_x, rpn_y, kind);
    for (std::size_t k = 0; k < rpn_x.size(); ++k) EXPECT_EQ(table->value(rpn_x[k]), rpn_y[k]);
    EXPECT_EQ(table->c.size(), 4 * (rpn_x.size() + 1));
  }
}

TEST(Table, linear_is_a_line_between_points_and_holds_the_ends) {
  auto table = make_table("t", {0.0, 2.0, 3.0}, {1.0, 5.0, 4.0}, Interpolation::linear);
  EXPECT_EQ(table->value(0.5), 2.0);
  EXPECT_EQ(table->value(2.5), 4.5);
  EXPECT_EQ(table->value(-10.0), 1.0);
  EXPECT_EQ(table->value(10.0), 4.0);
  EXPECT_EQ(table->value(1.0, 1), 2.0);
  EXPECT_EQ(table->value(10.0, 1), 0.0);
}

TEST(Table, hold_keeps_the_last_point_passed) {
  auto table = make_table("t", {0.0, 1.0}, {3.0, 7.0}, Interpolation::hold);
  EXPECT_EQ(table->value(-1.0), 3.0);
  EXPECT_EQ(table->value(0.999), 3.0);
  EXPECT_EQ(table->value(1.0), 7.0);
  EXPECT_EQ(table->value(5.0), 7.0);
}

TEST(Table, cubic_does_not_overshoot_monotone_data) {
  auto table = make_table("rpn", rpn_x, rpn_y, Interpolation::cubic);
  double last = table->value(rpn_x.front());
  for (double at = rpn_x.front(); at <= rpn_x.back(); at += 1e-3) {
    const double value = table->value(at);
    EXPECT_GE(value, last - 1e-15) << at;
    EXPECT_GE(value, rpn_y.front());
    EXPECT_LE(value, rpn_y.back() + 1e-15);
    last = value;
  }
}

TEST(Table, cubic_has_a_continuous_slope_and_straight_ends) {
  auto table = make_table("t", {0.0, 1.0, 3.0, 4.0}, {0.0, 2.0, 1.0, 1.5}, Interpolation::cubic);
  for (double knot : table->x) {
    const double before = std::nextafter(knot, -10.0);
    EXPECT_NEAR(table->value(before), table->value(knot), 1e-14);
    EXPECT_NEAR(table->value(before, 1), table->value(knot, 1), 1e-13);
  }
  EXPECT_EQ(table->value(1.0, 1), 0.0);  // an extremum stays one
  EXPECT_EQ(table->value(-2.0), -2.0 * table->value(0.0, 1));
  EXPECT_EQ(table->value(100.0, 1), table->value(4.0, 1));
  EXPECT_EQ(table->value(100.0, 2), 0.0);
}

TEST(Table, cubic_reproduces_a_line) {
  auto table = make_table("t", {0.0, 1.0, 2.5, 4.0}, {1.0, 3.0, 6.0, 9.0}, Interpolation::cubic);
  for (double at : {-3.0, 0.5, 2.0, 3.9, 7.0}) EXPECT_NEAR(table->value(at), 1.0 + 2.0 * at, 1e-13);
}

TEST(Table, derivatives_match_differences) {
  for (Interpolation kind : {Interpolation::linear, Interpolation::cubic}) {
    auto table = make_table("t", {0.0, 1.0, 3.0, 4.0}, {0.0, 2.0, 2.5, 7.0}, kind);
    const double h = 1e-5;
    for (double at : {-0.5, 0.4, 1.7, 2.9, 3.5, 4.8})
      for (int order = 0; order < 3; ++order)
        EXPECT_NEAR(table->value(at, order + 1),
                    (table->value(at + h, order) - table->value(at - h, order)) / (2.0 * h), 1e-7);
    EXPECT_EQ(table->value(0.4, 4), 0.0);
  }
}

TEST(Table, one_point_is_a_constant) {
  for (Interpolation kind : {Interpolation::linear, Interpolation::hold, Interpolation::cubic})
    for (double at : {-1.0, 2.0, 3.0}) EXPECT_EQ(make_table("t", {2.0}, {5.0}, kind)->value(at), 5.0);
}

TEST(Table, a_formal_table_has_a_name_and_no_value) {
  EXPECT_EQ(formal_table("f")->name, "f");
  EXPECT_TRUE(std::isnan(formal_table("f")->value(1.0)));
}

TEST(Table, wrong_points_are_refused) {
  const auto linear = Interpolation::linear;
  EXPECT_THROW(make_table("t", {}, {}, linear), std::invalid_argument);
  EXPECT_THROW(make_table("t", {1.0, 1.0}, {0.0, 0.0}, linear), std::invalid_argument);
  EXPECT_THROW(make_table("t", {1.0, 2.0}, {0.0}, linear), std::invalid_argument);
  EXPECT_THROW(make_table("t", {1.0, std::nan("")}, {0.0, 0.0}, linear), std::invalid_argument);
  EXPECT_THROW(make_table("t", {1.0}, {std::numeric_limits<double>::infinity()}, linear),
               std::invalid_argument);
}

std::shared_ptr<const Table> grid_of(std::size_t dimensions, Interpolation kind) {
  std::vector<std::vector<double>> axes{{0.0, 0.7, 1.0, 2.5}, {-1.0, 0.0, 0.4, 2.0, 3.0}, {1.0, 2.0, 4.0}};
  axes.resize(dimensions);
  std::vector<double> values;
  for (double x : axes[0])
    for (double y : axes[1]) {
      if (dimensions == 2)
        values.push_back(std::sin(x) * (1.0 + y));
      else
        for (double z : axes[2]) values.push_back(std::sin(x) * (1.0 + y) / z);
    }
  return make_grid("g", axes, values, kind);
}

TEST(Grid, has_the_values_of_its_points_in_every_interpolation) {
  for (Interpolation kind : {Interpolation::linear, Interpolation::hold, Interpolation::cubic})
    for (double x : {0.0, 0.7, 2.5})
      for (double y : {-1.0, 0.4, 3.0}) {
        const double two[] = {x, y};
        EXPECT_NEAR(grid_of(2, kind)->value_at(two), std::sin(x) * (1.0 + y), 1e-15);
        for (double z : {1.0, 4.0}) {
          const double three[] = {x, y, z};
          EXPECT_NEAR(grid_of(3, kind)->value_at(three), std::sin(x) * (1.0 + y) / z, 1e-15);
        }
      }
}

TEST(Grid, derivatives_are_those_of_the_value) {
  const double h = 1e-5;
  for (std::size_t dimensions : {2u, 3u})
    for (Interpolation kind : {Interpolation::linear, Interpolation::cubic}) {
      const auto table = grid_of(dimensions, kind);
      for (double x : {-0.5, 0.3, 0.9, 1.8, 3.0})
        for (double y : {-2.0, -0.3, 0.2, 2.6, 3.5})
          for (double z : {0.5, 1.4, 3.0, 5.0})
            for (std::size_t d = 0; d < dimensions; ++d)
              for (int order : {0, 1, 4, 5}) {
                const auto next = next_order(*table, order, d);
                double low[] = {x, y, z}, high[] = {x, y, z};
                const double at[] = {x, y, z};
                low[d] -= h;
                high[d] += h;
                EXPECT_NEAR(next ? table->value_at(at, *next) : 0.0,
                            (table->value_at(high, order) - table->value_at(low, order)) / (2.0 * h), 2e-8)
                    << x << ' ' << y << ' ' << z << " by " << d << " of order " << order;
              }
    }
}

TEST(Grid, cubics_are_smooth_across_the_lines_of_the_grid_and_straight_outside) {
  const auto table = grid_of(2, Interpolation::cubic);
  const double e = 1e-9;
  for (double x : {0.0, 0.7, 1.0, 2.5})
    for (double y : {-1.5, -0.4, 0.1, 1.0, 4.0})
      for (int order : {0, 1, 4}) {
        const double left[] = {x - e, y}, right[] = {x + e, y};
        EXPECT_NEAR(table->value_at(left, order), table->value_at(right, order), 1e-7);
      }
  const double a[] = {5.0, 1.0}, b[] = {6.0, 1.0}, c[] = {7.0, 1.0};
  EXPECT_NEAR(table->value_at(c) - table->value_at(b), table->value_at(b) - table->value_at(a), 1e-12);
  const auto line = grid_of(2, Interpolation::linear);
  const double corner[] = {9.0, 9.0}, last[] = {2.5, 3.0};
  EXPECT_EQ(line->value_at(corner), line->value_at(last));
}

TEST(Grid, what_is_not_a_number_stays_so) {
  const double at[] = {std::nan(""), 1.0}, far[] = {1e300, -1e300};
  for (Interpolation kind : {Interpolation::linear, Interpolation::hold, Interpolation::cubic})
    EXPECT_TRUE(std::isnan(grid_of(2, kind)->value_at(at)));
  EXPECT_EQ(grid_of(2, Interpolation::linear)->value_at(far), 0.0);  // sin(2.5)*(1 - 1)
}

// Held values tell the interval. Axes of equal and unequal distances, decades, far from zero, and as narrow
// and as wide as numbers go; at every point and on both sides of it.
TEST(Grid, the_interval_is_found_on_every_axis) {
  std::vector<double> even, decades, far;
  for (int k = 0; k < 50; ++k) {
    even.push_back(0.1 * k);
    decades.push_back(std::pow(10.0, k / 2 - 12) * (k % 2 ? 3.0 : 1.0));
    far.push_back(1e16 + 2.0 * k * (k + 1));
  }
  const double largest = std::numeric_limits<double>::max(),
               least = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& axis :
       {even, decades, far, std::vector<double>{-largest, -1.0, 0.5, largest},
        std::vector<double>{0.0, least, 3 * least, 4 * least}, std::vector<double>{-2.0, 7.0}}) {
    std::vector<double> values;
    for (std::size_t k = 0; k < 2 * axis.size(); ++k) values.push_back(static_cast<double>(k / 2));
    const auto first = make_grid("g", {axis, {0.0, 1.0}}, values, Interpolation::hold);
    const auto cubic = make_grid("g", {axis, {0.0, 1.0}}, values, Interpolation::cubic);
    for (std::size_t k = 0; k < axis.size(); ++k)
      for (const double at : {std::nextafter(axis[k], -largest), axis[k], std::nextafter(axis[k], largest),
                              k + 1 < axis.size() ? 0.5 * axis[k] + 0.5 * axis[k + 1] : axis[k]}) {
        const auto passed = std::upper_bound(axis.begin(), axis.end(), at) - axis.begin();
        const double here[] = {at, 0.5};
        EXPECT_EQ(first->value_at(here), static_cast<double>(std::max<std::ptrdiff_t>(passed - 1, 0))) << at;
        if (axis.back() - axis.front() < largest && axis.back() > 1e-300 && passed > 0) {
          EXPECT_LE(cubic->value_at(here), static_cast<double>(passed) + 1e-9) << at;
          EXPECT_GE(cubic->value_at(here), static_cast<double>(passed - 1) - 1e-9) << at;
        }
      }
  }
}

TEST(Grid, wrong_ones_are_refused) {
  EXPECT_THROW(make_grid("g", {{0.0, 1.0}, {0.0}}, {1.0}, Interpolation::linear), std::invalid_argument);
  EXPECT_THROW(make_grid("g", {{0.0, 0.0}, {0.0}}, {1.0, 2.0}, Interpolation::linear), std::invalid_argument);
  EXPECT_THROW(make_grid("g", {{0.0, 1.0}, {}}, {}, Interpolation::linear), std::invalid_argument);
}

// A value times its shape, summed up: the table itself, and by each value its shape.
TEST(Table, with_parameters_for_values_is_the_same_function) {
  const std::vector<double> x{0.0, 1.0, 3.0, 4.0}, y{1.0, 2.0, 3.5, 6.0};
  const std::vector<std::vector<double>> axes{{0.0, 1.0, 3.0}, {-1.0, 2.0}};
  const std::vector<double> grid{1.0, 2.0, 2.5, 4.0, 5.0, 8.0};
  for (const Interpolation interpolation : {Interpolation::linear, Interpolation::hold, Interpolation::cubic})
    for (const bool line : {true, false}) {
      Pool pool;
      const auto table =
          line ? make_table("f", x, y, interpolation) : make_grid("f", axes, grid, interpolation);
      EXPECT_EQ(values_of(*table), line ? y : grid);
      std::vector<std::string> names;
      ExprMap<double> at{{pool.symbol("a"), 0.0}, {pool.symbol("b"), 0.0}};
      for (std::size_t k = 0; k < values_of(*table).size(); ++k) {
        names.push_back("f[" + std::to_string(k + 1) + "]");
        at[pool.symbol(names.back())] = values_of(*table)[k];
      }
      const auto sum = with_parameters(*table, names);
      std::vector<Expr> args{pool.symbol("a")};
      if (!line) args.push_back(pool.symbol("b"));
      const Expr e = pool.lookup(sum, 0, args);
      for (double a : {-0.5, 0.0, 0.3, 1.7, 3.9, 5.0})
        for (double b : {-2.0, 0.5, 3.0}) {
          at[pool.symbol("a")] = a;
          at[pool.symbol("b")] = b;
          const double here[] = {a, b};
          EXPECT_NEAR(evaluate(e, at), table->value_at(here), 1e-13);
          EXPECT_NEAR(evaluate(derivative(e, args[0]), at), table->value_at(here, 1), 1e-12);
          const double own = at[pool.symbol("f[3]")];
          const double slope = evaluate(derivative(e, pool.symbol("f[3]")), at);
          at[pool.symbol("f[3]")] = own + 1.0;
          EXPECT_NEAR(evaluate(e, at), table->value_at(here) + slope, 1e-12);
          at[pool.symbol("f[3]")] = own;
        }
    }
}

}  // namespace table_test
}  // namespace tellegen
