#include "tellegen/numeric/sparse_rows.h"

#include <gtest/gtest.h>

#include <random>

namespace tellegen {
namespace {

TEST(SparseRows, products_of_four_vectors_and_of_the_transpose) {
  SparseRows m(3);
  const std::int32_t a = m.add(2, 1), b = m.add(0, 0), c = m.add(2, 1), datum = m.add(-1, 0);
  m.build();
  EXPECT_EQ(m.place(a), m.place(c));
  EXPECT_EQ(m.place(datum), -1);
  m.values()[m.place(a)] = 3.0;
  m.values()[m.place(b)] = 2.0;
  const std::vector<double> x{1, 2, 3, 4, 10, 20, 30, 40};
  std::vector<double> y(12, 1.0);
  m.add_product(2.0, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<double>{5, 9, 13, 17, 1, 1, 1, 1, 61, 121, 181, 241}));
  std::vector<double> back(2, 0.0);
  m.add_transposed(1.0, std::vector<double>{5, 0, 7}.data(), back.data());
  EXPECT_EQ(back, (std::vector<double>{10, 21}));
}

// A matrix with several diagonal blocks, against KLU's own solution.
TEST(LaneSolver, agrees_with_one_solution_at_a_time) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-1, 1);
  constexpr int n = 40;
  PatternBuilder builder(n);
  std::vector<double> entries;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (i == j || (j / 10 >= i / 10 && random() % 8 == 0)) {
        builder.add((i * 7) % n, j);
        entries.push_back(i == j ? 4 + value(random) : value(random));
      }
  const SparsePattern pattern = builder.build();
  std::vector<double> values(pattern.nonzeros());
  for (std::size_t k = 0; k < entries.size(); ++k) values[builder.position(static_cast<int>(k))] = entries[k];
  SparseLu lu(pattern);
  ASSERT_TRUE(lu.factor(values));
  LaneSolver solver(lu);
  std::vector<double> b(n * lanes), x(n * lanes);
  for (double& v : b) v = value(random);
  solver.solve(b.data(), x.data());
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<double> one(n);
    for (int i = 0; i < n; ++i) one[i] = b[i * lanes + lane];
    lu.solve(one.data());
    for (int i = 0; i < n; ++i) EXPECT_NEAR(x[i * lanes + lane], one[i], 1e-13);
  }
}

TEST(SparseLu, transposed_solution) {
  PatternBuilder builder(2);
  builder.add(0, 0), builder.add(0, 1), builder.add(1, 1);
  SparseLu lu(builder.build());
  ASSERT_TRUE(lu.factor(std::vector<double>{2, 3, 4}));  // [2 3; 0 4]
  std::vector<double> b{2, 11};
  lu.solve_transposed(b.data());
  EXPECT_DOUBLE_EQ(b[0], 1);
  EXPECT_DOUBLE_EQ(b[1], 2);
}

}  // namespace
}  // namespace tellegen
