#include "tellegen/numeric/null_space.h"

#include <gtest/gtest.h>

#include <set>

namespace tellegen {
namespace null_space_test {

struct Entries {
  std::int32_t size;
  std::vector<std::array<double, 3>> list;  // row, column, value
  NullSpace null() const {
    PatternBuilder builder(size);
    for (const auto& e : list) builder.add(static_cast<std::int32_t>(e[0]), static_cast<std::int32_t>(e[1]));
    const SparsePattern pattern = builder.build();
    std::vector<double> values(pattern.nonzeros(), 0.0);
    for (std::size_t k = 0; k < list.size(); ++k)
      values[builder.position(static_cast<std::int32_t>(k))] += list[k][2];
    return null_space(pattern, values);
  }
  // Largest entry of A x and of y'A.
  std::pair<double, double> products(const NullSpace& null) const {
    std::vector<double> x(size, 0.0), y(size, 0.0), ax(size, 0.0), ya(size, 0.0);
    for (const auto& part : null.columns) x[part.index] = part.weight;
    for (const auto& part : null.rows) y[part.index] = part.weight;
    for (const auto& e : list) {
      ax[static_cast<int>(e[0])] += e[2] * x[static_cast<int>(e[1])];
      ya[static_cast<int>(e[1])] += e[2] * y[static_cast<int>(e[0])];
    }
    double largest = 0.0, other = 0.0;
    for (double v : ax) largest = std::max(largest, std::abs(v));
    for (double v : ya) other = std::max(other, std::abs(v));
    return {largest, other};
  }
};

TEST(NullSpace, ARegularMatrixHasNone) {
  const NullSpace null = Entries{2, {{0, 0, 1}, {1, 1, 1e-9}, {0, 1, 5}}}.null();
  EXPECT_TRUE(null.columns.empty());
  EXPECT_TRUE(null.rows.empty());
}

// Rows 0 and 2 are proportional, columns 1 and 2 too; row and column 3 have nothing to do with it.
TEST(NullSpace, NamesTheRowsAndColumnsThatDependOnEachOther) {
  const Entries a{4,
                  {{0, 0, 1},
                   {0, 1, 2e6},
                   {0, 2, 4e6},
                   {1, 0, 3},
                   {2, 0, 1e-3},
                   {2, 1, 2e3},
                   {2, 2, 4e3},
                   {1, 1, 1e6},
                   {1, 2, 2e6},
                   {3, 3, 7}}};
  const NullSpace null = a.null();
  std::set<std::int32_t> columns, rows;
  for (const auto& part : null.columns) columns.insert(part.index);
  for (const auto& part : null.rows) rows.insert(part.index);
  EXPECT_EQ(columns, (std::set<std::int32_t>{1, 2}));
  EXPECT_EQ(rows, (std::set<std::int32_t>{0, 2}));
  const auto [right, left] = a.products(null);
  EXPECT_LT(right, 1e-6);
  EXPECT_LT(left, 1e-6);
}

TEST(NullSpace, AnEmptyRowIsTheOneThatSaysNothing) {
  const NullSpace null = Entries{3, {{0, 0, 1}, {0, 1, 1}, {2, 2, 1}, {1, 1, 0}}}.null();
  ASSERT_EQ(null.rows.size(), 1u);
  EXPECT_EQ(null.rows[0].index, 1);
  EXPECT_EQ(null.columns.size(), 2u);
}

}  // namespace null_space_test
}  // namespace tellegen
