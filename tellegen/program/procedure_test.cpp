#include "tellegen/program/procedure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tellegen/program/test_cache.h"

namespace tellegen {
namespace procedure_test {

// Square roots by Heron's rule of the numbers of a stream: `left` of them, each until two iterates agree.
// Negative numbers give 0, and a number that is not finite fails.
struct Roots {
  std::int32_t left, x, y, before;
  Procedure procedure;

  Roots() {
    SectionWriter write(procedure.program);
    left = write.new_register();
    x = write.new_register();
    y = write.new_register();
    before = write.new_register();
    const auto none = write.call("le", left, write.number(0.0));
    Body turn{write.end(), leave_when(none), take({x})};
    write.assign(left, write.subtract(left, write.number(1.0)));
    const auto strange = write.call("ne", write.subtract(x, x), write.number(0.0));
    const auto positive = write.call("gt", x, write.number(0.0));
    write.assign(y, x);
    turn.insert(turn.end(), {write.end(), fail_when(strange, 7)});
    write.assign(before, y);
    write.assign(y, write.multiply(write.number(0.5), write.add(y, write.divide(x, y))));
    const auto settled = write.call("eq", y, before);
    const auto down = write.call("ge", y, before);
    const Statement heron = write.end();
    // Heron's iterates fall, and at the end may go back and forth by one bit.
    const auto first = write.call("eq", before, x);
    const auto done =
        write.call("or", settled, write.call("and", down, write.call("eq", first, write.number(0.0))));
    Body iterate{heron, write.end(), leave_when(done)};
    write.assign(y, write.number(0.0));
    turn.push_back(when(positive, {loop(iterate)}, {write.end()}));
    turn.push_back(emit({y}));
    procedure.entries = {{"roots", {loop(turn)}}};
  }
};

TEST(Procedure, compiled_and_interpreted_agree_to_the_bit_and_move_the_streams_on) {
  const TestCache cache;
  const Roots roots;
  const std::vector<double> numbers{2.0, 9.0, -4.0, 0.0, 1e-12, 1e300};
  std::vector<double> results[2];
  for (bool compiled : {false, true}) {
    ProcedureCode code(roots.procedure);
    if (compiled) code.compile();
    ASSERT_EQ(code.compiled(), compiled);
    std::vector<double> registers(roots.procedure.program.registers, 0.0), out(numbers.size());
    registers[roots.left] = 6.0;
    const double* from = numbers.data();
    double* to = out.data();
    EXPECT_EQ(code.call(0, registers.data(), &from, &to), 0);
    EXPECT_EQ(from, numbers.data() + 6);
    EXPECT_EQ(to, out.data() + 6);
    EXPECT_EQ(registers[roots.left], 0.0);
    for (std::size_t k = 0; k < numbers.size(); ++k)
      EXPECT_NEAR(out[k], std::sqrt(std::max(numbers[k], 0.0)), 1e-15 * std::max(out[k], 1.0)) << numbers[k];
    results[compiled] = out;
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), 8 * numbers.size()), 0);
}

TEST(Procedure, a_failure_ends_it_with_its_status_and_what_was_done_stays) {
  const TestCache cache;
  const Roots roots;
  for (bool compiled : {false, true}) {
    ProcedureCode code(roots.procedure);
    if (compiled) code.compile();
    const double numbers[] = {4.0, INFINITY, 16.0};
    std::vector<double> registers(roots.procedure.program.registers, 0.0), out(3, -1.0);
    registers[roots.left] = 3.0;
    const double* from = numbers;
    double* to = out.data();
    EXPECT_EQ(code.call(0, registers.data(), &from, &to), 7);
    EXPECT_EQ(out, (std::vector<double>{2.0, -1.0, -1.0}));
    EXPECT_EQ(registers[roots.left], 1.0);
    EXPECT_EQ(from, numbers + 2);
  }
}

// What is read before it is written lives from call to call; nobody says so.
TEST(Procedure, living_registers_follow_from_the_statements) {
  const Roots roots;
  const std::vector<char> living = living_registers(roots.procedure);
  EXPECT_TRUE(living[roots.left]);
  EXPECT_FALSE(living[roots.x]);
  EXPECT_FALSE(living[roots.y]);
  EXPECT_FALSE(living[roots.before]);
}

TEST(Procedure, a_register_written_in_one_branch_only_keeps_its_value) {
  const TestCache cache;
  Procedure procedure;
  SectionWriter write(procedure.program);
  const auto which = write.new_register(), value = write.new_register();
  std::vector<Body> bodies;
  for (double number : {10.0, 20.0}) {
    write.assign(value, write.number(number));
    bodies.push_back({write.end()});
  }
  bodies.push_back({});
  procedure.entries = {{"choice", {choose(which, bodies)}}};
  procedure.exported = {value};
  for (bool compiled : {false, true}) {
    ProcedureCode code(procedure);
    if (compiled) code.compile();
    std::vector<double> registers(procedure.program.registers, 0.0);
    for (const auto& [chosen, expected] : {std::pair{1.0, 20.0}, {2.0, 20.0}, {0.0, 10.0}, {2.0, 10.0}}) {
      registers[which] = chosen;
      EXPECT_EQ(code.call(0, registers.data()), 0);
      EXPECT_EQ(registers[value], expected) << "after " << chosen;
    }
  }
}

TEST(Procedure, programs_put_behind_one_another_share_what_they_are_given) {
  const TestCache cache;
  Pool pool;
  const Expr a = pool.symbol("a"), b = pool.symbol("b");
  const auto curve = make_table("curve", {0.0, 1.0, 2.0}, {0.0, 1.0, 4.0}, Interpolation::linear);
  const auto made = [&](std::vector<ProgramInput> inputs, Expr value) {
    const std::vector<ProgramRoot> roots{{value, 0}};
    return make_program(pool, inputs, {}, roots, 1);
  };
  Procedure procedure{.program = made({{a, 0}, {b, 0}}, pool.lookup(curve, 0, a) + b)};
  const auto first = procedure.program.roots[0];
  const auto second =
      append(procedure.program, made({{b, 0}, {a, 0}}, pool.lookup(curve, 0, b) * pool.call("exp", {a})),
             {0, first})[0];
  procedure.entries = {{"both", {run_section(0), run_section(1)}}};
  procedure.exported = {first, second};
  for (bool compiled : {false, true}) {
    ProcedureCode code(procedure);
    if (compiled) code.compile();
    std::vector<double> registers(procedure.program.registers, 0.0);
    registers[0] = 1.5, registers[1] = 0.25;
    code.call(0, registers.data());
    EXPECT_EQ(registers[first], 2.75);
    EXPECT_EQ(registers[second], 2.5 * std::exp(2.75));
  }
}

}  // namespace procedure_test
}  // namespace tellegen
