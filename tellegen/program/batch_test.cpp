#include "tellegen/program/batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/program/test_cache.h"
#include "tellegen/program/test_formulas.h"

namespace tellegen {
namespace batch_test {

// Section 0: g = 1/R. Section 1: s = g*u + lookup(m). Section 2: i = g*(x[p] - x[n]) + s.
struct Kernels : testing::Test {
  Pool pool;
  TestCache cache;
  Expr u = pool.symbol("u"), R = pool.symbol("R"), p = pool.symbol("p"), n = pool.symbol("n");
  std::shared_ptr<const Table> table = make_table("t", {0.0, 10.0}, {0.0, 5.0}, Interpolation::linear);
  static constexpr int members = 7;

  Batch make() {
    Assignments list(pool);
    const Expr g = list.define(pow(R, -1.0));
    const Expr s = list.define(g * u + pool.lookup(table, 0, u));
    const std::vector<ProgramRoot> roots{{g, 0}, {g * (p - n) + s, 2}};
    Program program =
        make_program(pool, std::vector<ProgramInput>{{u, 1}, {R, 0}, {p, 2}, {n, 2}}, list.list(), roots, 3);
    const auto exports = program.roots;
    return Batch(std::move(program),
                 {InputSource::uniform, InputSource::member, InputSource::gather, InputSource::gather},
                 exports, members);
  }

  void fill(Batch& batch) {
    batch.allocate();
    batch.uniform(0) = 4.0;
    for (int m = 0; m < members; ++m) {
      batch.array(1)[m] = 1.0 + m;
      batch.index(2)[m] = m;
      batch.index(3)[m] = (m + 3) % members;
    }
  }
  std::vector<double> x{0.5, 1.5, -2.0, 8.0, 3.0, 0.0, 1.0};

  double expected(int m) const { return (x[m] - x[(m + 3) % members] + 4.0) / (1.0 + m) + 2.0; }
};

TEST_F(Kernels, run_over_all_members) {
  for (bool compiled : {false, true}) {
    Batch batch = make();
    fill(batch);
    if (compiled) {
      const auto code = compile_c(batch.c_source("k"));
      ASSERT_TRUE(code);
      batch.use(code, "k");
    }
    for (int s = 0; s < 3; ++s) batch.run(s, x.data());
    for (int m = 0; m < members; ++m) {
      EXPECT_DOUBLE_EQ(batch.array(batch.program().roots[0])[m], 1.0 / (1.0 + m));
      EXPECT_NEAR(batch.array(batch.program().roots[1])[m], expected(m), 1e-14);
    }
  }
}

TEST_F(Kernels, one_member_alone_gives_what_the_run_gives) {
  Batch batch = make();
  fill(batch);
  for (int s = 0; s < 3; ++s) batch.run(s, x.data());
  std::vector<double> registers(batch.program().registers);
  const auto root = batch.program().roots[1];
  for (int m = 0; m < members; ++m) {
    batch.run_member(2, m, x.data(), registers.data());
    EXPECT_EQ(registers[root], batch.array(root)[m]);
  }
}

TEST_F(Kernels, an_array_may_be_placed_elsewhere_and_moved) {
  Batch batch = make();
  const auto root = batch.program().roots[1];
  std::vector<double> first(members), second(members);
  batch.array(root) = first.data();
  fill(batch);
  EXPECT_EQ(batch.array(root), first.data());
  for (int s = 0; s < 3; ++s) batch.run(s, x.data());
  batch.array(root) = second.data();
  x[0] += 1.0;
  batch.run(2, x.data());
  EXPECT_NEAR(second[0] - first[0], 1.0, 1e-14);
  EXPECT_EQ(second[1], first[1]);
}

TEST_F(Kernels, two_programs_with_tables_share_a_file) {
  Batch one = make(), two = make();
  fill(one), fill(two);
  two.uniform(0) = 6.0;
  const auto code = compile_c(one.c_source("g0") + two.c_source("g1"));
  ASSERT_TRUE(code);
  one.use(code, "g0");
  two.use(code, "g1");
  for (int s = 0; s < 3; ++s) one.run(s, x.data()), two.run(s, x.data());
  const auto root = one.program().roots[1];
  EXPECT_NEAR(one.array(root)[2], expected(2), 1e-14);
  EXPECT_NEAR(two.array(root)[2], expected(2) + 2.0 / 3.0 + 1.0, 1e-14);
}

TEST_F(Kernels, a_moved_batch_keeps_its_arrays) {
  Batch batch = make();
  fill(batch);
  Batch moved = std::move(batch);
  for (int s = 0; s < 3; ++s) moved.run(s, x.data());
  EXPECT_NEAR(moved.array(moved.program().roots[1])[4], expected(4), 1e-14);
}

TEST_F(Kernels, compiled_and_interpreted_agree_to_the_last_bit) {
  std::mt19937 random(5);
  std::vector<Expr> symbols{u, R, p, n};
  Assignments list(pool);
  std::vector<ProgramRoot> roots;
  for (int k = 0; k < 30; ++k) {
    symbols.push_back(list.define(random_formula(pool, random, symbols, 4)));
    roots.push_back({symbols.back(), static_cast<int>(random() % 3)});
  }
  const std::vector<ProgramInput> inputs{{u, 1}, {R, 0}, {p, 2}, {n, 2}};
  const std::vector<InputSource> sources{InputSource::uniform, InputSource::member, InputSource::gather,
                                         InputSource::gather};
  const auto build = [&] {
    Program program = make_program(pool, inputs, list.list(), roots, 3);
    const auto exports = program.roots;
    Batch batch(std::move(program), sources, exports, members);
    fill(batch);
    return batch;
  };
  Batch a = build(), b = build();
  const auto code = compile_c(b.c_source("k"));
  ASSERT_TRUE(code);
  b.use(code, "k");
  for (int s = 0; s < 3; ++s) a.run(s, x.data()), b.run(s, x.data());
  for (std::int32_t root : a.program().roots)
    for (int m = 0; m < members; ++m) {
      const double v = a.array(root)[m], w = b.array(root)[m];
      EXPECT_TRUE(v == w || (std::isnan(v) && std::isnan(w))) << v << " and " << w;
    }
}

}  // namespace batch_test
}  // namespace tellegen
