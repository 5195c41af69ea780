#include "tellegen/numeric/row_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "tellegen/numeric/lanes.h"

namespace tellegen {
namespace row_program_test {

// A matrix with several diagonal blocks, factorised.
struct TestMatrix {
  static constexpr int n = 40;
  std::mt19937 random{3};
  std::uniform_real_distribution<double> value{-1, 1};
  std::unique_ptr<SparseLu> lu;
  TestMatrix() {
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
    for (std::size_t k = 0; k < entries.size(); ++k)
      values[builder.position(static_cast<int>(k))] = entries[k];
    lu = std::make_unique<SparseLu>(pattern);
    EXPECT_TRUE(lu->factor(values));
  }
};

template <int width>
void expect_solutions_in_lanes() {
  TestMatrix m;
  RowProgram program(m.n);
  const auto unknown = add_solution(program, m.lu->factors(), [&](int row) { program.add(row, 2.0); });
  for (int i = 0; i < m.n; ++i) {
    program.begin_result(0, i);
    program.add(unknown[i], 0.5);
  }
  program.finish();
  std::vector<double> work(program.work_size(width)), x(m.n * width);
  for (int i = 0; i < m.n * width; ++i) work[i] = m.value(m.random);
  const std::vector<double> b = work;
  double* const targets[] = {x.data()};
  program.run<width>(work.data(), targets);
  for (int lane = 0; lane < width; ++lane) {
    std::vector<double> one(m.n);
    for (int i = 0; i < m.n; ++i) one[i] = b[i * width + lane];
    m.lu->solve(one.data());
    for (int i = 0; i < m.n; ++i) EXPECT_NEAR(x[i * width + lane], one[i], 1e-13);
  }
}

// A model without states has neither histories nor, where no parameter reaches them, anything else to start
// from: no input, no room for work, and results that are zero.
TEST(RowProgram, rows_with_nothing_in_them_are_zero_and_read_nothing) {
  RowProgram program(0);
  const std::int32_t row = program.begin_row();
  program.begin_result(0, 1);
  program.begin_result(0, 0);
  program.add(row, 3.0);
  program.finish();
  EXPECT_EQ(program.work_size(lanes), 0u);
  std::vector<double> x(2 * lanes, 7.0);
  double* const targets[] = {x.data()};
  program.run<lanes>(nullptr, targets);
  EXPECT_EQ(x, std::vector<double>(2 * lanes, 0.0));
  // Nor is an input that is not finite any part of them.
  RowProgram with_input(1);
  with_input.begin_result(0, 0);
  with_input.finish();
  std::vector<double> work{INFINITY}, y{7.0};
  double* const target[] = {y.data()};
  with_input.run<1>(work.data(), target);
  EXPECT_EQ(y[0], 0.0);
}

TEST(RowProgram, solves_in_lanes_as_one_solution_at_a_time_does) {
  expect_solutions_in_lanes<lanes>();
  expect_solutions_in_lanes<few_lanes>();
}

TEST(RowProgram, solves_with_the_transposed_matrix) {
  TestMatrix m;
  RowProgram program(m.n);
  const auto of_row =
      add_transposed_solution(program, m.lu->factors(), [&](int column) { program.add(column, 1.0); });
  for (int i = 0; i < m.n; ++i) {
    program.begin_result(0, i);
    program.add(of_row[i], 1.0);
  }
  program.finish();
  std::vector<double> work(program.work_size(1)), x(m.n), one(m.n);
  for (int i = 0; i < m.n; ++i) work[i] = one[i] = m.value(m.random);
  double* const targets[] = {x.data()};
  program.run<1>(work.data(), targets);
  m.lu->solve_transposed(one.data());
  for (int i = 0; i < m.n; ++i) EXPECT_NEAR(x[i], one[i], 1e-13);
}

// y = 2 a, z = y + b, w = z + y is used by nothing; the result 3 z + y needs neither row.
TEST(RowProgram, rows_in_series_become_one) {
  RowProgram program(2);
  const int y = program.begin_row();
  program.add(0, 2.0);
  const int z = program.begin_row();
  program.add(y, 1.0);
  program.add(1, 1.0);
  program.begin_row();
  program.add(z, 1.0);
  program.add(y, 1.0);
  program.begin_result(0, 1);
  program.add(z, 3.0);
  program.add(y, 1.0);
  program.begin_result(0, 0);  // nothing at all: zero
  program.finish();
  EXPECT_EQ(program.entries(), 2u);
  EXPECT_EQ(program.work_size(1), 2u);
  std::vector<double> work{5, 7}, x{9, 9};
  double* const targets[] = {x.data()};
  program.run<1>(work.data(), targets);
  EXPECT_EQ(x, (std::vector<double>{0, 3 * 17 + 10}));
}

}  // namespace row_program_test
}  // namespace tellegen
