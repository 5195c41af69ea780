#include "tellegen/program/step_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tellegen/program/test_cache.h"
#include "tellegen/program/test_formulas.h"

namespace tellegen {
namespace step_loop_test {

constexpr int sections = 6;

// d_next = d + 0.01*(sin(t) - d - y), where Newton finds y from y^2 = k + d^2. Small, but it has every part.
struct Loop : testing::Test {
  Pool pool;
  TestCache cache;
  Expr k = pool.symbol("k"), t = pool.symbol("t"), d = pool.symbol("d"), y = pool.symbol("y");

  StepProgram make() {
    const std::vector<ProgramInput> inputs{{k, 0}, {t, 1}, {d, 1}, {y, 2}};
    Assignments list(pool);
    const Expr right = list.define(k + d * d);
    const Expr next = list.define(0.5 * (y + right / y));
    const Expr value = list.define(d + 0.01 * (pool.call("sin", {t}) - d - next));
    const std::vector<ProgramRoot> roots{
        {next, 2}, {pool.call("abs", {next - y}) / 1e-12, 2}, {value, 3}, {next, 4}, {value * value + t, 4}};
    StepProgram step;
    step.program = make_program(pool, inputs, list.list(), roots, sections);
    const auto& r = step.program.roots;
    step.time = 1;
    step.error = r[1];
    step.iterate_copies = {{3, r[0]}};
    step.step_copies = {{2, r[2]}};
    step.outputs = {r[3], r[4]};
    return step;
  }

  StepLoop ready(double start = 1.0) {
    const StepProgram step = make();
    StepLoop loop(step);
    double* r = loop.registers();
    r[0] = 2.0;
    r[2] = 0.3;
    r[step.iterate_copies[0].source] = start;
    loop.prepare();
    return loop;
  }

  // By hand, in the same order.
  static std::vector<double> expected(int steps, int stride, double h) {
    double d = 0.3;
    std::vector<double> rows;
    for (int n = 1; n <= steps; ++n) {
      const double y = std::sqrt(2.0 + d * d), now = d + 0.01 * (std::sin(h * n) - d - y);
      if (n % stride == 0) rows.insert(rows.end(), {y, now * now + h * n});
      d = now;
    }
    return rows;
  }
};

TEST_F(Loop, runs_steps_and_writes_a_row_every_stride) {
  for (bool compiled : {false, true}) {
    StepLoop loop = ready();
    if (compiled) loop.compile();
    ASSERT_EQ(loop.compiled(), compiled);
    std::vector<double> rows(20);
    StepLoopControl control{.step = 0.1, .steps = 30, .stride = 3, .rows = rows.data()};
    ASSERT_TRUE(loop.run(control));
    EXPECT_EQ(control.index, 30);
    EXPECT_EQ(control.rows, rows.data() + 20);
    const auto wanted = expected(30, 3, 0.1);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], wanted[i], 1e-12);
    EXPECT_GE(control.iterations, 60);
    EXPECT_GE(control.worst, 4);
  }
}

TEST_F(Loop, compiled_and_interpreted_runs_agree_to_the_last_bit) {
  StepLoop interpreted = ready(), compiled = ready();
  compiled.compile();
  ASSERT_TRUE(compiled.compiled());
  std::vector<double> a(400), b(400);
  StepLoopControl ca{.step = 0.1, .steps = 200, .rows = a.data()},
      cb{.step = 0.1, .steps = 200, .rows = b.data()};
  ASSERT_TRUE(interpreted.run(ca));
  ASSERT_TRUE(compiled.run(cb));
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
  EXPECT_EQ(ca.iterations, cb.iterations);
  EXPECT_EQ(ca.worst, cb.worst);
}

TEST_F(Loop, many_short_runs_are_one_long_run) {
  for (bool compile : {false, true}) {
    StepLoop whole = ready(), parts = ready();
    if (compile) whole.compile(), parts.compile();
    std::vector<double> a(40), b(40);
    StepLoopControl ca{.step = 0.1, .steps = 80, .stride = 4, .rows = a.data()};
    ASSERT_TRUE(whole.run(ca));
    StepLoopControl cb{.step = 0.1, .stride = 4, .rows = b.data()};
    for (int steps : {1, 2, 3, 5, 7, 11, 13, 38}) {
      cb.steps = steps;
      ASSERT_TRUE(parts.run(cb));
    }
    EXPECT_EQ(a, b);
    EXPECT_EQ(ca.iterations, cb.iterations);
  }
}

TEST_F(Loop, a_fixed_number_of_iterations_is_done_whatever_the_error) {
  for (bool compile : {false, true}) {
    StepLoop loop = ready();
    if (compile) loop.compile();
    std::vector<double> rows(20);
    StepLoopControl control{.step = 0.1, .steps = 10, .fixed_iterations = 2, .rows = rows.data()};
    ASSERT_TRUE(loop.run(control));
    EXPECT_EQ(control.iterations, 20);
    EXPECT_EQ(control.worst, 2);
  }
}

TEST_F(Loop, an_iteration_that_does_not_converge_stops_at_the_last_good_step) {
  for (bool compile : {false, true}) {
    StepLoop loop = ready(1e30);  // too many halvings
    if (compile) loop.compile();
    std::vector<double> rows(20);
    StepLoopControl control{.step = 0.1, .steps = 10, .max_iterations = 20, .rows = rows.data()};
    EXPECT_FALSE(loop.run(control));
    EXPECT_EQ(control.index, 0);
    EXPECT_EQ(control.rows, rows.data());
  }
}

TEST_F(Loop, without_a_compiler_it_interprets) {
  setenv("TELLEGEN_COMPILER", "none", 1);
  StepLoop loop = ready();
  loop.compile();
  EXPECT_FALSE(loop.compiled());
  std::vector<double> rows(2);
  StepLoopControl control{.step = 0.1, .steps = 1, .rows = rows.data()};
  EXPECT_TRUE(loop.run(control));
  EXPECT_NEAR(rows[0], std::sqrt(2.09), 1e-12);
}

TEST_F(Loop, random_formulas_agree_to_the_last_bit) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<Expr> symbols{k, t, d};
    Assignments list(pool);
    for (int i = 0; i < 25; ++i) symbols.push_back(list.define(random_formula(pool, random, symbols, 4)));
    std::vector<ProgramRoot> roots;
    for (int i = 0; i < 25; ++i) roots.push_back({symbols[3 + i], i % 2 ? 4 : 3});
    StepProgram step;
    step.program =
        make_program(pool, std::vector<ProgramInput>{{k, 0}, {t, 1}, {d, 1}}, list.list(), roots, sections);
    step.time = 1;
    step.outputs = step.program.roots;
    StepLoop a(step), b(step);
    b.compile();
    ASSERT_TRUE(b.compiled());
    std::vector<double> x(25 * 20), y(25 * 20);
    StepLoopControl ca{.step = 0.1, .steps = 20, .rows = x.data()},
        cb{.step = 0.1, .steps = 20, .rows = y.data()};
    for (StepLoop* loop : {&a, &b}) {
      loop->registers()[0] = 0.7;
      loop->registers()[2] = -0.4;
      loop->prepare();
    }
    ASSERT_TRUE(a.run(ca) && b.run(cb));
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))
          << "trial " << trial << ", value " << i;
  }
}

}  // namespace step_loop_test
}  // namespace tellegen
