#include "tellegen/program/repeats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tellegen {
namespace repeats_test {

constexpr int links = 400;

// a[k] = f(a[k-1], x[k]) along the links, and then b = g(b, a[k], x[k]) along them or back.
Program two_recursions(Pool& pool, bool back) {
  std::vector<ProgramInput> inputs;
  Assignments list(pool);
  std::vector<Expr> x, a;
  for (int k = 0; k < links; ++k) {
    x.push_back(pool.symbol(fmt::format("x{}", k)));
    inputs.push_back({x.back(), 0});
  }
  Expr last = x[0];
  for (int k = 1; k < links; ++k) {
    const Expr square = list.define(last * last);
    a.push_back(last = list.define(x[k] / (square + 1.0) + last * x[k]));
  }
  Expr other = x[0];
  for (int k = 1; k < links; ++k) {
    const int at = back ? links - k : k;
    other = list.define(other * x[at] - a[at - 1] * a[at - 1]);
  }
  const std::vector<ProgramRoot> roots{{last, 0}, {other, 0}};
  return make_program(pool, inputs, list.list(), roots, 1);
}

// Times around each loop that the printed code has.
std::vector<std::size_t> loops_of(const Program& program) {
  const Procedure procedure{.program = program, .entries = {{"run", {run_section(0)}}}};
  std::vector<std::size_t> counts;
  const Repeats repeats = find_repeats(procedure);
  for (const Repeat& r : repeats.of_section[0]) counts.push_back(r.count);
  return counts;
}

std::vector<double> values_of(const Program& program) {
  std::vector<double> r(static_cast<std::size_t>(program.registers), 0.0), values;
  for (int k = 0; k < links; ++k) r[static_cast<std::size_t>(k)] = 0.3 + 0.001 * k;
  interpret(program, 0, r.data());
  for (std::int32_t root : program.roots) values.push_back(r[static_cast<std::size_t>(root)]);
  return values;
}

TEST(Repeats, two_recursions_that_run_the_same_way_become_one_loop_with_the_same_values) {
  Pool pool;
  const Program apart = two_recursions(pool, false);
  Program together = apart;
  advance_together(together);
  EXPECT_EQ(loops_of(apart).size(), 2u);
  ASSERT_EQ(loops_of(together).size(), 1u);
  EXPECT_GT(loops_of(together)[0], static_cast<std::size_t>(links - 10));
  EXPECT_EQ(values_of(together), values_of(apart));
}

TEST(Repeats, a_recursion_that_begins_where_the_other_ends_follows_it) {
  Pool pool;
  const Program apart = two_recursions(pool, true);
  Program together = apart;
  advance_together(together);
  EXPECT_EQ(loops_of(together), loops_of(apart));
  EXPECT_EQ(values_of(together), values_of(apart));
}

}  // namespace repeats_test
}  // namespace tellegen
