#include "tellegen/program/machine_code.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tellegen/program/procedure.h"
#include "tellegen/program/test_formulas.h"
#include "tellegen/symbolic/functions.h"

namespace tellegen {
namespace machine_code_test {

// What is no number has no digits to compare.
void expect_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(a[k]), std::bit_cast<std::uint64_t>(b[k])) << "register " << k;
  }
}

// All sections, one after the other, from these first registers.
void expect_same(const Program& program, std::vector<double> registers) {
  const auto code = MachineCode::make(program);
  ASSERT_TRUE(code) << "this machine should have machine code";
  registers.resize(static_cast<std::size_t>(program.registers), 0.0);
  std::vector<double> interpreted = registers;
  for (int s = 0; s < program.sections(); ++s) {
    code->run(s, registers.data());
    interpret(program, s, interpreted.data());
  }
  expect_same_bits(registers, interpreted);
}

const std::vector<double> places{0.0,
                                 -0.0,
                                 0.3,
                                 -1.7,
                                 2.0,
                                 81.0,
                                 1e-310,
                                 -1e300,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};

TEST(MachineCode, random_formulas_have_the_bits_of_the_interpreter) {
  Pool pool;
  std::mt19937 random(7);
  std::vector<Expr> symbols;
  std::vector<ProgramInput> inputs;
  for (const char* name : {"a", "b", "c", "d"}) {
    symbols.push_back(pool.symbol(name));
    inputs.push_back({symbols.back(), static_cast<int>(inputs.size()) / 2});
  }
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<ProgramRoot> roots;
    for (int k = 0; k < 3; ++k) roots.push_back({random_formula(pool, random, symbols, 6), k});
    const Program program = make_program(pool, inputs, {}, roots, 3);
    for (int k = 0; k < 4; ++k)
      expect_same(program, {places[random() % places.size()], places[random() % places.size()], 0.37, -1.2});
  }
}

TEST(MachineCode, every_function_and_operation_at_every_place) {
  Program program;
  program.registers = static_cast<std::int32_t>(places.size());
  program.section_of.assign(places.size(), 0);
  SectionWriter write(program);
  std::vector<std::string_view> names;
  for (const Function& f : functions()) names.push_back(f.name);
  const auto count = static_cast<std::int32_t>(places.size());
  for (std::int32_t a = 0; a < count; ++a)
    for (std::int32_t b = 0; b < count; ++b) {
      for (const std::string_view name : names) write.call(name, a, b, (a + b) % count);
      const auto sum = write.add(a, b);
      write.subtract(sum, write.multiply(a, sum));  // the last result on either side
      write.divide(write.subtract(a, b), b);
      write.assign(write.new_register(), write.add(write.number(0.1), write.number(-3e7)));
    }
  write.end();
  EXPECT_GT(program.registers, 4096);  // beyond what an instruction can address directly
  expect_same(program, places);
}

TEST(MachineCode, a_section_without_instructions_does_nothing) {
  Program program;
  program.section_end = {0, 0};
  program.registers = 1;
  const auto code = MachineCode::make(program);
  double r = 4.0;
  code->run(1, &r);
  EXPECT_EQ(r, 4.0);
}

}  // namespace machine_code_test
}  // namespace tellegen
