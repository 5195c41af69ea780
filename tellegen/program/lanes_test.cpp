#include "tellegen/program/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tellegen/program/test_cache.h"
#include "tellegen/program/test_formulas.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace lanes_test {

bool same(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// What every machine of its kind has, and what this one has.
std::vector<LaneTarget> targets() {
  const LaneTarget own = lanes_of_this_machine();
  return {LaneTarget{}, own};
}

// [register][lane]; lane `l` begins with instances[l].
struct Lanes {
  Lanes(const Procedure& procedure, const std::vector<std::vector<double>>& instances,
        const LaneTarget& target)
      : width(target.lanes()), rows((procedure.program.registers + LaneCode::extra_rows) * width, 0.0) {
    std::vector<char> differ(procedure.program.registers, 0);
    for (std::int32_t r = 0; r < procedure.program.registers; ++r)
      for (std::size_t l = 0; l < width; ++l) {
        row(r)[l] = instances[l % instances.size()][r];
        differ[r] = differ[r] || !same(row(r)[l], row(r)[0]);
      }
    alive = row(procedure.program.registers);
    std::fill_n(alive, width, 1.0);
    not_finite = alive + width;
    code = LaneCode::make(procedure, 0, differ, 1e9, target);
  }
  double* row(std::int32_t r) { return rows.data() + r * width; }
  std::size_t width;
  std::vector<double> rows;
  double *alive, *not_finite;
  std::shared_ptr<const LaneCode> code;
};

TEST(Lanes, formulas_have_the_bits_of_the_interpreter) {
  const TestCache cache;
  std::mt19937 random(11);
  for (int trial = 0; trial < 1; ++trial) {
    Pool pool;
    std::vector<Expr> symbols;
    std::vector<ProgramInput> inputs;
    for (int k = 0; k < 6; ++k) {
      symbols.push_back(pool.symbol("s" + std::to_string(k)));
      inputs.push_back({symbols.back(), 0});
    }
    std::vector<ProgramRoot> roots;
    for (int k = 0; k < 8; ++k) roots.push_back({random_formula(pool, random, symbols, 3), 0});
    for (const Function& f : functions()) {
      std::vector<Expr> arguments;
      for (int k = 0; k < (f.arity < 0 ? 2 : f.arity); ++k) arguments.push_back(symbols[(k + 4) % 6]);
      roots.push_back({pool.call(f, arguments), 0});
    }
    Procedure procedure{.program = make_program(pool, inputs, {}, roots, 1)};
    procedure.entries = {{"all", {run_section(0)}}};
    procedure.exported = procedure.program.roots;
    std::vector<std::vector<double>> instances;
    for (int l = 0; l < 16; ++l) {
      instances.emplace_back(procedure.program.registers, 0.0);
      for (int k = 0; k < 6; ++k)  // the first two are the same in all lanes
        instances.back()[k] =
            k < 2 ? 0.25 + k : std::uniform_real_distribution<double>(-3.0, 100.0 * (l % 3))(random);
    }
    instances[5][3] = instances[5][4] = 0.0;
    for (const LaneTarget& target : targets()) {
      Lanes lanes(procedure, instances, target);
      ASSERT_TRUE(lanes.code);
      EXPECT_EQ(lanes.code->varying()[0], 0);
      lanes.code->call(lanes.rows.data(), nullptr);
      for (std::size_t l = 0; l < lanes.width; ++l) {
        std::vector<double> alone = instances[l];
        interpret(procedure.program, 0, alone.data());
        for (std::size_t k = 0; k < roots.size(); ++k) {
          const std::int32_t root = procedure.program.roots[k];
          EXPECT_TRUE(same(lanes.row(root)[l], alone[root]))
              << to_text(roots[k].value) << ": " << lanes.row(root)[l] << " " << alone[root];
        }
      }
    }
  }
}

// Square roots by Heron's rule, of x, 2x, 3x, ... (`left` of them), each until two iterates agree; fails
// where that takes more than `most` iterations. Every second root is a row of outputs.
struct Roots {
  std::int32_t left, x, number, y, before, most, phase, sum, scale;
  Procedure procedure;

  Roots() {
    SectionWriter write(procedure.program);
    for (std::int32_t* r : {&left, &x, &number, &y, &before, &most, &phase, &sum, &scale})
      *r = write.new_register();
    const auto none = write.call("le", left, write.number(0.0));
    Body turn{write.end(), leave_when(none)};
    write.assign(left, write.subtract(left, write.number(1.0)));
    write.assign(number, write.add(number, x));
    write.assign(y, number);
    const auto count = write.new_register();
    write.assign(count, write.number(0.0));
    write.assign(phase, write.subtract(write.number(1.0), phase));
    turn.push_back(write.end());
    write.assign(before, y);
    write.assign(y, write.multiply(write.number(0.5), write.add(y, write.divide(number, y))));
    write.assign(count, write.add(count, write.number(1.0)));
    const auto done = write.call("le", write.call("abs", write.subtract(y, before)),
                                 write.multiply(write.number(1e-15), y));
    const auto too_many = write.call("ge", count, most);
    turn.push_back(loop({write.end(), leave_when(done), fail_when(too_many, 7)}));
    write.assign(sum, write.add(sum, y));
    turn.push_back(write.end());
    const auto scaled = write.multiply(count, scale);
    turn.push_back(write.end());
    turn.push_back(when(phase, {emit({y, scaled, left})}));
    procedure.entries = {{"roots", {loop(turn)}}};
    procedure.exported = {sum};
  }
};

TEST(Lanes, iterations_of_any_length_leave_the_neighbours_as_they_are) {
  const TestCache cache;
  const Roots roots;
  std::vector<std::vector<double>> instances;
  for (int l = 0; l < 16; ++l) {
    instances.emplace_back(roots.procedure.program.registers, 0.0);
    instances.back()[roots.left] = 9.0;
    // One never converges, and rows of one are not finite.
    instances.back()[roots.x] = l == 3 ? -1.0 : std::pow(10.0, 3 * (l % 5) - 6);
    instances.back()[roots.scale] = l == 2 ? INFINITY : 2.0;
    instances.back()[roots.most] = 60.0;
  }
  const ProcedureCode alone(roots.procedure);
  for (const LaneTarget& target : targets()) {
    Lanes lanes(roots.procedure, instances, target);
    ASSERT_TRUE(lanes.code);
    EXPECT_EQ(lanes.code->varying()[roots.left], 0);
    EXPECT_EQ(lanes.code->varying()[roots.y], 1);
    std::vector<double> out(3 * lanes.width);
    lanes.code->call(lanes.rows.data(), out.data());
    for (std::size_t l = 0; l < lanes.width; ++l) {
      std::vector<double> registers = instances[l], rows(15);
      double* row = rows.data();
      const int status = alone.call(0, registers.data(), nullptr, &row);
      EXPECT_EQ(lanes.alive[l], status == 0 ? 1.0 : 0.0);
      EXPECT_EQ(status, l == 3 ? 7 : 0);
      if (status != 0) continue;
      for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(same(out[k * lanes.width + l], rows[12 + k]));
      EXPECT_EQ(lanes.not_finite[l] == 0.0, l != 2);
      EXPECT_TRUE(same(lanes.row(roots.sum)[l], registers[roots.sum])) << l;
    }
  }
}

TEST(Lanes, what_would_write_rows_at_different_times_cannot_go_side_by_side) {
  const Roots roots;
  std::vector<char> differ(roots.procedure.program.registers, 0);
  differ[roots.x] = 1;
  EXPECT_TRUE(plan_lanes(roots.procedure, 0, differ));
  differ[roots.phase] = 1;
  EXPECT_FALSE(plan_lanes(roots.procedure, 0, differ));
  differ[roots.phase] = 0, differ[roots.left] = 1;
  EXPECT_FALSE(plan_lanes(roots.procedure, 0, differ));
}

TEST(Lanes, without_a_compiler_there_are_none) {
  const TestCache cache;
  setenv("TELLEGEN_COMPILER", "none", 1);
  const Roots roots;
  EXPECT_FALSE(
      LaneCode::make(roots.procedure, 0, std::vector<char>(roots.procedure.program.registers, 0), 1e9));
}

}  // namespace lanes_test
}  // namespace tellegen
