#include "tellegen/program/reverse.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace reverse_test {

// A formula of a and b, run and gone through backwards.
struct Backwards {
  double value, by_a, by_b;

  Backwards(Pool& pool, Expr formula, double a, double b) {
    const std::vector<ProgramInput> inputs{{pool.symbol("a"), 0}, {pool.symbol("b"), 0}};
    const ProgramRoot root{formula, 0};
    Program program = make_program(pool, inputs, {}, std::span(&root, 1), 1);
    SectionWriter write(program);
    std::vector<char> active(program.registers, 0);
    active[0] = active[1] = 1;
    ReverseWriter reverse(program, write, active);
    reverse.add_weight(program.roots[0], write.number(1.0));
    reverse.section(0);
    write.end();
    std::vector<double> r(program.registers, 0.0);
    r[0] = a, r[1] = b;
    interpret(program, 0, r.data());
    interpret(program, 1, r.data());
    const auto weight = [&](std::int32_t reg) {
      return reverse.weight(reg) < 0 ? 0.0 : r[static_cast<std::size_t>(reverse.weight(reg))];
    };
    value = r[static_cast<std::size_t>(program.roots[0])];
    by_a = weight(0), by_b = weight(1);
  }
};

TEST(Reverse, is_the_derivative_of_every_operation) {
  Pool pool;
  const Expr a = pool.symbol("a"), b = pool.symbol("b");
  const auto cubic = make_table("curve", {0, 1, 2, 3}, {0, 1, 4, 2}, Interpolation::cubic);
  const auto grid =
      make_grid("grid", {{0, 1, 2}, {0, 1, 2}}, {0, 1, 4, 1, 3, 5, 2, 2, 7}, Interpolation::cubic);
  const std::vector<Expr> both{a, b};
  const Expr formulas[] = {a + b,
                           a - b * b,
                           a * b * (a - 3.0),
                           a / b - b / (a * a + 1.0),
                           pow(a, b) + pow(b, -3.0) + pow(a + b, 0.5),
                           pool.call("sin", {a * b}) + pool.call("cos", {a * b}) * b,
                           pool.call("cos", {a}) * a,
                           pool.call("exp", {a}) + pool.call("tanh", {b}) + pool.call("sqrt", {a}),
                           pool.call("atan2", {a, b}) + pool.call("log", {a}),
                           pool.call("max", {a, b * b}) + pool.call("min", {a * a, b}),
                           pool.call("if", {pool.call("lt", {a, b}), a * b, a + b}),
                           pool.call("abs", {a - 2.0 * b}),
                           pool.lookup(cubic, 0, a) * b,
                           pool.lookup(grid, 0, both)};
  for (const Expr formula : formulas)
    for (const auto& [x, y] : {std::pair(0.7, 1.3), std::pair(1.6, 0.4)}) {
      const ExprMap<double> at{{a, x}, {b, y}};
      const Backwards found(pool, formula, x, y);
      EXPECT_NEAR(found.value, evaluate(formula, at), 1e-14);
      EXPECT_NEAR(found.by_a, evaluate(derivative(formula, a), at), 1e-13);
      EXPECT_NEAR(found.by_b, evaluate(derivative(formula, b), at), 1e-13);
    }
}

// sqrt has no finite slope at 0, and none is asked for.
TEST(Reverse, what_a_choice_has_switched_off_does_not_leak) {
  Pool pool;
  const Expr a = pool.symbol("a"), b = pool.symbol("b"), zero = pool.number(0);
  const Expr formula = pool.call("if", {pool.call("gt", {a, zero}), pool.call("sqrt", {a}) * b / a, a}) * b;
  const Backwards off(pool, formula, 0.0, 2.0);
  EXPECT_EQ(off.by_a, 2.0);
  EXPECT_EQ(off.by_b, 0.0);
}

TEST(Reverse, the_iterate_of_a_solved_equation_has_the_slopes_of_its_solution) {
  // x^2 = a: one turn of Newton's iteration at the solution, x held.
  Pool pool;
  const Expr a = pool.symbol("a"), x = pool.symbol("b");
  const Expr next = x - (x * x - a) / (2.0 * x);
  const Backwards found(pool, next, 9.0, 3.0);
  EXPECT_DOUBLE_EQ(found.by_a, 1.0 / 6.0);
  EXPECT_EQ(found.by_b, 0.0);
}

}  // namespace reverse_test
}  // namespace tellegen
