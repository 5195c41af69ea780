#include "tellegen/numeric/row_solver.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

namespace tellegen {
namespace row_solver_test {

// A network-like matrix: chains one way only, so that there are blocks, and meshes within.
struct Case {
  SparsePattern pattern;
  std::vector<double> values;
  Eigen::MatrixXd dense;
};

Case random_case(std::mt19937& random, int n, int extra) {
  std::normal_distribution<double> number;
  PatternBuilder builder(n);
  for (int i = 0; i < n; ++i) builder.add(i, (i * 7 + 3) % n);
  for (int k = 0; k < extra; ++k) {
    const auto row = static_cast<int>(random() % n);
    builder.add(row, static_cast<int>(random() % n));
  }
  Case c{builder.build(), {}, Eigen::MatrixXd::Zero(n, n)};
  c.values.assign(c.pattern.nonzeros(), 0.0);
  for (int k = 0; k < n + extra; ++k)
    c.values[builder.position(k)] += (k < n ? 5.0 : number(random)) * std::exp(number(random));
  for (int j = 0; j < n; ++j)
    for (int k = c.pattern.column_start[j]; k < c.pattern.column_start[j + 1]; ++k)
      c.dense(c.pattern.row[k], j) = c.values[k];
  return c;
}

TEST(RowSolver, solves_for_sums_of_sources_in_the_order_of_the_factorisation) {
  std::mt19937 random(1);
  std::normal_distribution<double> number;
  for (int trial = 0; trial < 40; ++trial) {
    int n = 2 + static_cast<int>(random() % 40);
    if (n % 7 == 0) ++n;  // 7 i + 3 must run through all columns
    const int source_count = 1 + static_cast<int>(random() % 10);
    const Case c = random_case(random, n, static_cast<int>(random() % (2 * n)));
    SparseLu lu(c.pattern);
    if (!lu.factor(c.values)) continue;
    std::vector<RowSource> sources;
    for (int k = 0; k < 2 * n; ++k) {
      const auto row = static_cast<int>(random() % (n + 1)) - 1;  // -1: the datum's row
      sources.push_back({row, static_cast<int>(random() % source_count), number(random)});
    }
    std::vector<double> work(n + source_count, 1e99);  // old unknowns must not matter
    for (int s = 0; s < source_count; ++s) work[n + s] = number(random);
    Eigen::VectorXd b = Eigen::VectorXd::Zero(n);
    for (const RowSource& s : sources)
      if (s.row >= 0) b[s.row] += s.factor * work[n + s.source];
    const Eigen::VectorXd expected = c.dense.fullPivLu().solve(b);

    RowSolver(lu, sources).solve(work.data());
    const auto order = lu.column_order();
    for (int k = 0; k < n; ++k)
      EXPECT_NEAR(work[k], expected[order[k]], 1e-8 * (1.0 + expected.norm()))
          << "trial " << trial << ", unknown " << k;
  }
}

TEST(RowSolver, agrees_with_klu_solve) {
  std::mt19937 random(2);
  const Case c = random_case(random, 60, 100);
  SparseLu lu(c.pattern);
  ASSERT_TRUE(lu.factor(c.values));
  std::vector<RowSource> sources;
  for (int i = 0; i < 60; ++i) sources.push_back({i, i, 1.0});
  std::vector<double> work(120), b(60);
  for (int i = 0; i < 60; ++i) b[i] = work[60 + i] = std::sin(i);
  RowSolver(lu, sources).solve(work.data());
  lu.solve(b.data());
  const auto order = lu.column_order();
  double size = 0.0;
  for (double v : b) size = std::max(size, std::abs(v));
  for (int k = 0; k < 60; ++k) EXPECT_NEAR(work[k], b[order[k]], 1e-10 * size);
}

TEST(RowSolver, leaves_the_sources_as_they_are) {
  PatternBuilder builder(1);
  builder.add(0, 0);
  SparseLu lu(builder.build());
  ASSERT_TRUE(lu.factor(std::vector{4.0}));
  const RowSource source{0, 1, -2.0};
  double work[3] = {0.0, 9.0, 6.0};
  RowSolver(lu, std::span(&source, 1)).solve(work);
  EXPECT_EQ(work[0], -3.0);
  EXPECT_EQ(work[1], 9.0);
  EXPECT_EQ(work[2], 6.0);
}

}  // namespace row_solver_test
}  // namespace tellegen
