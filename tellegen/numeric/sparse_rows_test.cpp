#include "tellegen/numeric/sparse_rows.h"

#include <gtest/gtest.h>

#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {
namespace sparse_rows_test {

TEST(SparseRows, products_of_several_vectors_and_of_the_transpose) {
  SparseRows m(3);
  const std::int32_t a = m.add(2, 1), b = m.add(0, 0), c = m.add(2, 1), datum = m.add(-1, 0);
  m.build();
  EXPECT_EQ(m.place(a), m.place(c));
  EXPECT_EQ(m.place(datum), -1);
  m.values()[m.place(a)] = 3.0;
  m.values()[m.place(b)] = 2.0;
  const std::vector<double> x{1, 2, 3, 4, 10, 20, 30, 40};
  std::vector<double> y(12, 1.0);
  m.add_product<few_lanes>(2.0, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<double>{5, 9, 13, 17, 1, 1, 1, 1, 61, 121, 181, 241}));
  std::vector<double> one(4, 1.0);
  m.add_row<few_lanes>(2, x.data(), one.data());
  EXPECT_EQ(one, (std::vector<double>{31, 61, 91, 121}));
  std::vector<double> eight(lanes, 1.0), wide(2 * lanes, 0.0);
  for (int lane = 0; lane < lanes; ++lane) wide[lanes + lane] = lane;
  m.add_row<lanes>(2, wide.data(), eight.data());
  EXPECT_EQ(eight, (std::vector<double>{1, 4, 7, 10, 13, 16, 19, 22}));
  std::vector<double> back(2, 0.0);
  m.add_transposed(1.0, std::vector<double>{5, 0, 7}.data(), back.data());
  EXPECT_EQ(back, (std::vector<double>{10, 21}));
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

}  // namespace sparse_rows_test
}  // namespace tellegen
