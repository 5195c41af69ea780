#include "tellegen/numeric/sparse_lu.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "runtime/tellegen_network.h"

namespace tellegen {
namespace sparse_lu_test {

using Dense = Eigen::MatrixXd;

struct Sparse {
  SparsePattern pattern;
  std::vector<double> values;
};

Dense dense(const SparsePattern& p, const std::vector<double>& values) {
  Dense m = Dense::Zero(p.size, p.size);
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k) m(p.row[k], c) += values[k];
  return m;
}

// A permuted diagonal, so that it is not singular, and some entries beside it.
Sparse random_matrix(std::mt19937& random, int size, int extra) {
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::vector<int> order(size);
  for (int i = 0; i < size; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  PatternBuilder builder(size);
  for (int i = 0; i < size; ++i) builder.add(order[i], i);
  for (int k = 0; k < extra; ++k) {
    const auto row = static_cast<int>(random() % size);
    builder.add(row, static_cast<int>(random() % size));
  }
  Sparse m{builder.build(), {}};
  m.values.assign(m.pattern.nonzeros(), 0.0);
  for (int k = 0; k < size + extra; ++k) m.values[builder.position(k)] += k < size ? 3.0 : number(random);
  return m;
}

TEST(PatternBuilder, equal_entries_share_a_position_and_the_datum_has_none) {
  PatternBuilder builder(3);
  const auto a = builder.add(2, 1), b = builder.add(0, 1), c = builder.add(2, 1), d = builder.add(-1, 1),
             e = builder.add(0, -1), f = builder.add(1, 0);
  const SparsePattern pattern = builder.build();
  EXPECT_EQ(pattern.column_start, (std::vector<std::int32_t>{0, 1, 3, 3}));
  EXPECT_EQ(pattern.row, (std::vector<std::int32_t>{1, 0, 2}));
  EXPECT_EQ(builder.position(a), 2);
  EXPECT_EQ(builder.position(b), 1);
  EXPECT_EQ(builder.position(c), builder.position(a));
  EXPECT_EQ(builder.position(d), -1);
  EXPECT_EQ(builder.position(e), -1);
  EXPECT_EQ(builder.position(f), 0);
}

TEST(PatternBuilder, an_empty_pattern_has_no_entries) {
  PatternBuilder builder(2);
  EXPECT_EQ(builder.build().nonzeros(), 0);
}

TEST(SparseLu, solves_what_dense_elimination_solves) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 30; ++trial) {
    const int n = 1 + static_cast<int>(random() % 40);
    const Sparse m = random_matrix(random, n, static_cast<int>(random() % (3 * n)));
    SparseLu lu(m.pattern);
    ASSERT_TRUE(lu.factor(m.values));
    Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, -1.0, 2.0);
    const Eigen::VectorXd expected = dense(m.pattern, m.values).fullPivLu().solve(b);
    lu.solve(b.data());
    EXPECT_LT((b - expected).norm(), 1e-10 * (1.0 + expected.norm())) << "trial " << trial;
  }
}

// What exported code carries with it: the order of operations is KLU's.
TEST(SparseLu, factors_by_tables_are_those_of_klu_to_the_last_bit) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 1 + static_cast<int>(random() % 50);
    Sparse m = random_matrix(random, n, static_cast<int>(random() % (4 * n)));
    SparseLu lu(m.pattern);
    ASSERT_TRUE(lu.factor(m.values));
    const SparseLu::Factors f = lu.factors();
    std::vector<int> place(n), lower_column{0}, lower_row, upper_column{0}, upper_row;
    for (int k = 0; k < n; ++k) place[f.row_order[k]] = k;
    const auto strict = [&](const SparsePattern& p, std::vector<int>& column, std::vector<int>& row) {
      for (int c = 0; c < n; ++c) {
        for (int k = p.column_start[c]; k < p.column_start[c + 1]; ++k)
          if (p.row[k] != c) row.push_back(p.row[k]);
        column.push_back(static_cast<int>(row.size()));
      }
    };
    strict(f.lower, lower_column, lower_row);
    strict(f.upper, upper_column, upper_row);
    const tellegen_sparse tables = {n,
                                    static_cast<int>(f.block_start.size()) - 1,
                                    f.block_start.data(),
                                    place.data(),
                                    f.row_order.data(),
                                    f.column_order.data(),
                                    m.pattern.column_start.data(),
                                    m.pattern.row.data(),
                                    lower_column.data(),
                                    lower_row.data(),
                                    upper_column.data(),
                                    upper_row.data(),
                                    f.off_diagonal.column_start.data(),
                                    f.off_diagonal.row.data()};
    std::vector<double> lower(lower_row.size()), upper(upper_row.size()), off(f.off_diagonal.row.size()),
        diagonal(n), scale(n), work(n);
    const tellegen_factors factors = {lower.data(),    upper.data(), off.data(),
                                      diagonal.data(), scale.data(), work.data()};
    // Other values with the same pivots.
    std::uniform_real_distribution<double> number(0.9, 1.1);
    for (double& value : m.values) value *= number(random);
    ASSERT_TRUE(lu.refactor(m.values));
    ASSERT_EQ(lu.choices(), 1);
    ASSERT_EQ(tellegen_factor(&tables, m.values.data(), &factors), 0);
    std::vector<double> here(n), there(n);
    for (int k = 0; k < n; ++k) here[k] = there[k] = number(random);
    lu.solve(here.data());
    tellegen_solve(&tables, &factors, there.data());
#if !defined(__FP_FAST_FMA)  // where the library contracts products and sums its last bits are others
    EXPECT_EQ(here, there) << "trial " << trial;
#else
    for (int k = 0; k < n; ++k) EXPECT_NEAR(here[k], there[k], 1e-9 * (1.0 + std::fabs(here[k])));
#endif
    // A pivot that vanishes is an error.
    std::fill(m.values.begin(), m.values.end(), 0.0);
    EXPECT_EQ(tellegen_factor(&tables, m.values.data(), &factors), 1);
  }
}

// A junction's conductance goes from 1e-14 S to 1e6 S within a step; the diagonal pivot chosen first is then
// useless.
TEST(SparseLu, refactoring_chooses_pivots_anew_when_the_old_ones_have_become_small) {
  PatternBuilder builder(2);
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) builder.add(r, c);
  SparseLu lu(builder.build());  // column by column: a00 a10 a01 a11
  ASSERT_TRUE(lu.factor(std::vector{1.0, 1e-14, 1e-14, 1.0}));
  for (const auto& values : {std::vector{1e-18, 1.0, 1.0, 1.0}, std::vector{1.0, 1.0, 1.0, 1e-18},
                             std::vector{1e6, 1.0, 1.0, 1e-14}, std::vector{1e-14, 1.0, 1.0, 1e6}}) {
    ASSERT_TRUE(lu.refactor(values));
    double b[2] = {values[0] + 2 * values[2], values[1] + 2 * values[3]};  // of x = (1, 2)
    lu.solve(b);
    EXPECT_NEAR(b[0], 1.0, 1e-9);
    EXPECT_NEAR(b[1], 2.0, 1e-9);
  }
}

TEST(SparseLu, refactoring_agrees_with_factoring) {
  std::mt19937 random(2);
  Sparse m = random_matrix(random, 50, 120);
  SparseLu kept(m.pattern);
  ASSERT_TRUE(kept.factor(m.values));
  for (int trial = 0; trial < 10; ++trial) {
    for (double& v : m.values) v *= std::exp(std::normal_distribution<double>(0.0, 2.0)(random));
    SparseLu fresh(m.pattern);
    ASSERT_TRUE(fresh.factor(m.values));
    ASSERT_TRUE(kept.refactor(m.values));
    Eigen::VectorXd a = Eigen::VectorXd::Ones(50), b = a;
    kept.solve(a.data());
    fresh.solve(b.data());
    EXPECT_LT((a - b).norm(), 1e-7 * b.norm());
  }
}

TEST(SparseLu, refactoring_before_the_first_factorisation_factorises) {
  PatternBuilder builder(1);
  builder.add(0, 0);
  SparseLu lu(builder.build());
  ASSERT_TRUE(lu.refactor(std::vector{4.0}));
  double b = 2.0;
  lu.solve(&b);
  EXPECT_DOUBLE_EQ(b, 0.5);
}

TEST(SparseLu, a_singular_matrix_is_told_with_a_column_that_has_no_pivot) {
  PatternBuilder builder(3);
  for (int i = 0; i < 3; ++i) builder.add(i, i);
  SparseLu lu(builder.build());
  EXPECT_FALSE(lu.factor(std::vector{1.0, 0.0, 1.0}));
  EXPECT_EQ(lu.singular_column(), 1);
  EXPECT_TRUE(lu.factor(std::vector{1.0, 2.0, 1.0}));
  EXPECT_FALSE(lu.refactor(std::vector{1.0, 2.0, 0.0}));
}

// A model of signals alone has no network.
TEST(SparseLu, a_matrix_without_rows_is_not_singular) {
  SparseLu lu(PatternBuilder(0).build());
  EXPECT_FALSE(lu.structurally_singular());
  EXPECT_TRUE(lu.factor({}));
  EXPECT_TRUE(lu.refactor({}));
  EXPECT_TRUE(lu.factors().row_order.empty());
}

TEST(SparseLu, a_pattern_without_a_full_matching_is_structurally_singular) {
  PatternBuilder builder(3);
  builder.add(0, 0);
  builder.add(0, 1);
  builder.add(0, 2);
  builder.add(1, 2);
  const SparsePattern pattern = builder.build();
  EXPECT_TRUE(SparseLu(pattern).structurally_singular());
  const Unmatched left = unmatched(pattern);
  EXPECT_EQ(left.rows, (std::vector<std::int32_t>{2}));
  ASSERT_EQ(left.columns.size(), 1u);
  EXPECT_LT(left.columns[0], 2);  // row 1 must have column 2; one of the others is over
}

TEST(SparseLu, nothing_is_left_unmatched_in_a_nonsingular_pattern) {
  std::mt19937 random(3);
  const Unmatched left = unmatched(random_matrix(random, 30, 10).pattern);
  EXPECT_TRUE(left.rows.empty());
  EXPECT_TRUE(left.columns.empty());
}

TEST(SparseLu, the_factors_multiply_to_the_permuted_scaled_matrix) {
  std::mt19937 random(4);
  for (int extra : {3, 20, 80}) {
    const int n = 25;
    const Sparse m = random_matrix(random, n, extra);
    SparseLu lu(m.pattern);
    ASSERT_TRUE(lu.factor(m.values));
    const auto f = lu.factors();
    const Dense a = dense(m.pattern, m.values);
    Dense permuted(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) permuted(i, j) = a(f.row_order[i], f.column_order[j]) / f.row_scale[i];
    const Dense product = dense(f.lower, f.lower_values) * dense(f.upper, f.upper_values) +
                          dense(f.off_diagonal, f.off_diagonal_values);
    EXPECT_LT((product - permuted).norm(), 1e-12 * permuted.norm()) << extra;
    EXPECT_EQ(lu.column_order(), f.column_order);
  }
}

TEST(SparseLu, the_reciprocal_condition_is_small_for_a_badly_conditioned_matrix) {
  PatternBuilder builder(2);
  builder.add(0, 0);
  builder.add(1, 1);
  builder.add(0, 1);
  builder.add(1, 0);
  SparseLu lu(builder.build());
  ASSERT_TRUE(lu.factor(std::vector{1.0, 1.0, 1.0, 1.0 + 1e-12}));
  EXPECT_LT(lu.reciprocal_condition(), 1e-10);
  ASSERT_TRUE(lu.factor(std::vector{1.0, 0.0, 0.0, 1.0}));
  EXPECT_GT(lu.reciprocal_condition(), 0.5);
}

}  // namespace sparse_lu_test
}  // namespace tellegen
