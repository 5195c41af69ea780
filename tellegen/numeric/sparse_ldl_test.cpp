#include "tellegen/numeric/sparse_ldl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tellegen {
namespace sparse_ldl_test {

// A chain of n unknowns with an equality between neighbours, and one unknown that all meet.
struct Chain {
  SparsePattern upper;
  std::vector<double> values;
  std::vector<signed char> signs;

  explicit Chain(int n) {
    const int size = 2 * n;  // 0: shared; 1..n: unknowns; then n - 1 equalities
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    PatternBuilder builder(size);
    std::vector<std::pair<int, double>> entries;
    const auto put = [&](int row, int column, double value) {
      entries.push_back({builder.add(row, column), value});
    };
    for (int k = 0; k < size; ++k) put(k, k, k <= n ? 2.0 + k % 3 : -0.5);
    for (int k = 1; k <= n; ++k) put(0, k, 0.3 / std::sqrt(n) * normal(random));
    for (int k = 0; k + 1 < n; ++k) {
      put(k + 1, n + 1 + k, normal(random));
      put(k + 2, n + 1 + k, normal(random));
    }
    upper = builder.build();
    values.assign(upper.nonzeros(), 0.0);
    for (const auto& [entry, value] : entries) values[builder.position(entry)] += value;
    signs.assign(size, 1);
    std::fill(signs.begin() + n + 1, signs.end(), -1);
  }

  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> y(x.size(), 0.0);
    for (std::int32_t j = 0; j < upper.size; ++j)
      for (std::int32_t p = upper.column_start[j]; p < upper.column_start[j + 1]; ++p) {
        y[upper.row[p]] += values[p] * x[j];
        if (upper.row[p] != j) y[j] += values[p] * x[upper.row[p]];
      }
    return y;
  }
};

TEST(sparse_ldl, solves_a_quasidefinite_system) {
  const Chain chain(200);
  SparseLdl ldl(chain.upper, chain.signs);
  EXPECT_EQ(ldl.factor(chain.values, 1e-14), 0);
  std::vector<double> x(chain.upper.size);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(1.0 + static_cast<double>(k));
  std::vector<double> b = chain.times(x);
  ldl.solve(b.data());
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(b[k], x[k], 1e-12);
}

TEST(sparse_ldl, factors_of_a_chain_grow_with_its_length) {
  const auto nonzeros = [](int n) {
    const Chain chain(n);
    return static_cast<double>(SparseLdl(chain.upper, chain.signs).factor_nonzeros());
  };
  EXPECT_NEAR(nonzeros(10000) / nonzeros(1000), 10.0, 0.2);
}

TEST(sparse_ldl, pivots_that_are_too_small_are_counted) {
  Chain chain(20);
  std::fill(chain.values.begin(), chain.values.end(), 0.0);
  SparseLdl ldl(chain.upper, chain.signs);
  EXPECT_EQ(ldl.factor(chain.values, 1e-8), chain.upper.size);
}

}  // namespace sparse_ldl_test
}  // namespace tellegen
