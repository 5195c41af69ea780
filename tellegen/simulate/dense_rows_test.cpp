#include "tellegen/simulate/dense_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tellegen {
namespace dense_rows_test {

using Output = std::function<double(double)>;

// Rows of some outputs over one step; how often it was solved for.
struct Rows {
  std::vector<std::vector<double>> rows;
  int solutions = 0;
  Rows(const std::vector<Output>& outputs, int count, double end = 1.0) {
    DenseRows dense(outputs.size(), 1e-5);
    dense.begin(end, count);
    for (int k = 1; k <= count; ++k) {
      rows.emplace_back(outputs.size());
      EXPECT_TRUE(dense.row(
          static_cast<double>(k) / count,
          [&](double theta, double* row) {
            ++solutions;
            for (const Output& output : outputs) *row++ = output(theta);
            return true;
          },
          rows.back().data()));
    }
  }
};

double smooth(double theta) { return 300.0 + std::sin(2.0 * theta); }
double steep(double theta) { return std::exp(-12.0 * theta); }
double jump(double theta) { return theta < 0.3 ? 1.0 : 5.0; }

TEST(DenseRows, few_solutions_are_enough_for_many_smooth_rows) {
  const Rows found({smooth, steep}, 1000);
  EXPECT_LT(found.solutions, 100);
  for (int k = 0; k < 1000; ++k) {
    EXPECT_NEAR(found.rows[k][0], smooth((k + 1) / 1000.0), 1e-5 * 301);
    EXPECT_NEAR(found.rows[k][1], steep((k + 1) / 1000.0), 1e-5);
  }
}

TEST(DenseRows, a_jump_is_where_it_is) {
  const Rows found({jump}, 1000);
  EXPECT_LT(found.solutions, 200);
  for (int k = 0; k < 1000; ++k) EXPECT_EQ(found.rows[k][0], jump((k + 1) / 1000.0)) << k;
}

TEST(DenseRows, what_comes_after_the_end_is_solved_for) {
  const Output after = [](double theta) { return theta < 1.0 - 1e-10 ? theta : 7.0; };
  const Rows found({after}, 100, 1.0 - 4e-10);
  EXPECT_LT(found.solutions, 12);
  EXPECT_EQ(found.rows[99][0], 7.0);
  EXPECT_NEAR(found.rows[98][0], 0.99, 1e-9);
}

TEST(DenseRows, other_outputs_change_no_bit) {
  const Rows alone({smooth}, 300), among({jump, smooth, steep}, 300);
  for (int k = 0; k < 300; ++k) EXPECT_EQ(alone.rows[k][0], among.rows[k][1]) << k;
}

TEST(DenseRows, rounding_is_no_reason_to_solve_for_every_row) {
  const Output rounded = [](double theta) {
    return (1e6 + 1e-9 * theta) * (1e6 - theta) - 1e12 + 1e6 * theta;
  };
  EXPECT_LT(Rows({rounded}, 1000).solutions, 100);
}

TEST(DenseRows, where_there_is_no_solution_there_is_no_row) {
  DenseRows dense(1, 1e-5);
  dense.begin(1.0, 100);
  double row = 0.0;
  EXPECT_FALSE(dense.row(
      0.5, [](double theta, double*) { return theta < 0.7; }, &row));
}

}  // namespace dense_rows_test
}  // namespace tellegen
