#include "tellegen/program/program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/program/test_formulas.h"

namespace tellegen {
namespace program_test {

std::string c_of(const Program& program, int section) {
  std::string out;
  for (const Instruction& i : program.section(section))
    out += c_instruction(program, i, [](std::int32_t r) { return "r" + std::to_string(r); }) + "\n";
  return out;
}

struct Formulas : testing::Test {
  Pool pool;
  Expr a = pool.symbol("a"), b = pool.symbol("b"), t = pool.symbol("t"), x = pool.symbol("x");
  std::vector<ProgramInput> inputs{{a, 0}, {b, 0}, {t, 1}, {x, 2}};

  Program make(const std::vector<ProgramRoot>& roots, std::span<const Assignment> list = {},
               int sections = 5) {
    return make_program(pool, inputs, list, roots, sections);
  }
  std::vector<double> run(const Program& program, std::vector<double> values) {
    values.resize(program.registers, std::nan(""));
    for (int s = 0; s < program.sections(); ++s) interpret(program, s, values.data());
    return values;
  }
};

TEST_F(Formulas, interpreting_a_program_gives_the_value_of_the_expression) {
  std::mt19937 random(1);
  const std::vector<Expr> symbols{a, b, t, x};
  const double numbers[] = {0.7, -1.3, 0.25, 1.9};
  ExprMap<double> at;
  for (int k = 0; k < 4; ++k) at[symbols[k]] = numbers[k];
  for (int trial = 0; trial < 300; ++trial) {
    const Expr e = random_formula(pool, random, symbols, 5);
    const double expected = evaluate(e, at);
    if (!std::isfinite(expected) || std::abs(expected) > 1e12) continue;
    const Program program = make({{e, 0}});
    const auto r = run(program, {0.7, -1.3, 0.25, 1.9});
    EXPECT_NEAR(r[program.roots[0]], expected, 1e-9 * (1.0 + std::abs(expected))) << "trial " << trial;
  }
}

TEST_F(Formulas, what_an_earlier_section_can_compute_is_taken_out) {
  const Program program = make({{a * b * t * x + pool.call("exp", {a + t}), 0}});
  EXPECT_EQ(program.section(0).size(), 1u);  // a b
  EXPECT_EQ(c_of(program, 0), "r4 = r0 * r1;\n");
  EXPECT_EQ(program.section(1).size(), 3u);  // (a b) t, exp(a + t)
  EXPECT_EQ(program.section(2).size(), 2u);  // one product, one sum
  EXPECT_EQ(program.section_of[program.roots[0]], 2);
}

TEST_F(Formulas, a_value_that_only_an_output_needs_is_computed_at_outputs_only) {
  const Program program = make({{x * t, 2}, {pool.call("sin", {x}) + pool.call("cos", {t * a}), 4}});
  EXPECT_EQ(program.section_of[program.roots[1]], 4);
  EXPECT_EQ(c_of(program, 2).find("sin"), std::string::npos);
  EXPECT_EQ(c_of(program, 1).find("cos"), std::string::npos);
  EXPECT_NE(c_of(program, 4).find("cos"), std::string::npos);
  const auto r = run(program, {2.0, 0.0, 0.5, 3.0});
  EXPECT_DOUBLE_EQ(r[program.roots[1]], std::sin(3.0) + std::cos(1.0));
}

TEST_F(Formulas, what_no_root_needs_leaves_no_instruction) {
  Assignments list(pool);
  const Expr used = list.define(a * b), unused = list.define(pool.call("exp", {a}));
  list.define(unused + used);
  const Program program = make({{used * x, 0}}, list.list());
  EXPECT_EQ(c_of(program, 0) + c_of(program, 1) + c_of(program, 2), "r4 = r0 * r1;\nr5 = r3 * r4;\n");
}

TEST_F(Formulas, a_root_is_never_an_input_register) {
  const Program program = make({{x, 0}, {pool.number(3), 0}, {x, 3}});
  for (std::int32_t root : program.roots) EXPECT_GE(root, 4);
  const auto r = run(program, {0, 0, 0, 7.0});
  EXPECT_EQ(r[program.roots[0]], 7.0);
  EXPECT_EQ(r[program.roots[1]], 3.0);
  EXPECT_EQ(r[program.roots[2]], 7.0);
}

TEST_F(Formulas, a_common_part_is_computed_once) {
  const Expr common = pool.call("exp", {x});
  const Program program = make({{common * a, 0}, {common * b, 0}, {common, 0}});
  const std::string c = c_of(program, 2);
  EXPECT_EQ(c.find("exp"), c.rfind("exp"));
}

TEST_F(Formulas, small_powers_are_products_and_roots_are_square_roots) {
  const Program program = make({{pow(x, 5.0), 0}, {pow(a, 0.5), 0}, {pow(b, -2.0), 0}, {pow(x, 2.5), 0}});
  const std::string all = c_of(program, 0) + c_of(program, 2);
  EXPECT_NE(all.find("sqrt(r0)"), std::string::npos);
  EXPECT_EQ(all.find("pow("), all.rfind("pow("));  // only x^2.5
  const auto r = run(program, {2.0, 4.0, 0.0, 3.0});
  EXPECT_EQ(r[program.roots[0]], 243.0);
  EXPECT_EQ(r[program.roots[1]], std::sqrt(2.0));
  EXPECT_EQ(r[program.roots[2]], 1.0 / 16.0);
  EXPECT_EQ(r[program.roots[3]], std::pow(3.0, 2.5));
}

// Sums are split by section; a sum of many signs and sections keeps its value.
TEST_F(Formulas, splitting_by_section_keeps_the_value) {
  std::mt19937 random(7);
  std::vector<Expr> symbols;
  inputs.clear();
  ExprMap<double> at;
  std::vector<double> values;
  for (int k = 0; k < 12; ++k) {
    symbols.push_back(pool.symbol("s" + std::to_string(k)));
    inputs.push_back({symbols.back(), k % 3});
    values.push_back(0.3 * k - 1.7);
    at[symbols.back()] = values.back();
  }
  for (int trial = 0; trial < 100; ++trial) {
    Assignments list(pool);
    std::vector<Expr> defined = symbols;
    for (int k = 0; k < 8; ++k) defined.push_back(list.define(random_formula(pool, random, defined, 2)));
    ExprMap<double> known = at;
    for (const Assignment& s : list.list()) known[s.symbol] = evaluate(s.value, known);
    std::vector<ProgramRoot> roots;
    for (int k = 0; k < 8; ++k) roots.push_back({defined[12 + k], static_cast<int>(random() % 5)});
    const Program program = make(roots, list.list());
    const auto r = run(program, values);
    for (std::size_t k = 0; k < roots.size(); ++k) {
      const double expected = evaluate(roots[k].value, known);
      if (std::isfinite(expected)) {
        EXPECT_NEAR(r[program.roots[k]], expected, 1e-9 * (1.0 + std::abs(expected))) << trial;
      }
    }
  }
}

TEST_F(Formulas, definitions_of_numbers_and_symbols_are_themselves) {
  Assignments list(pool);
  EXPECT_EQ(list.define(x), x);
  EXPECT_EQ(list.define(pool.number(2)), pool.number(2));
  EXPECT_TRUE(list.list().empty());
}

}  // namespace program_test
}  // namespace tellegen
