// Design-space exploration: the area model against synthesis, searches against enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/deploy/exploration.h"
#include "tellegen/deploy/test_export.h"

namespace tellegen {
namespace exploration_test {

struct ExploredModel : TestExport {
  explicit ExploredModel(double stop = 0.0) : TestExport("motor-free-acceleration", stop) {}
  HardwareProblem problem() { return hardware_problem(model, *simulation, {}); }
};

DesignRanges small_ranges() {
  return {.multipliers = {1, 2, 3, 4},
          .adders = {1, 2, 3, 4},
          .dividers = {1, 2},
          .latency = {1, 2},
          .bits = {16, 18, 20, 22},
          .coarser = {0, 3}};
}

DesignLimits small_limits() {
  DesignLimits limits = no_limits();
  limits.error = 1e-3, limits.luts = 6500, limits.dsps = 12;
  return limits;
}

// What yosys 0.23 makes of these by synth_ecp5 -nowidelut; a carry cell counts as two LUTs.
TEST(AreaModel, is_near_what_synthesis_makes) {
  struct Synthesised {
    HardwareUnits units;
    int bits, luts, flipflops, dsps, ram_blocks;
  };
  const HardwareProblem problem = ExploredModel().problem();
  for (const Synthesised& s :
       {Synthesised{{1, 1, 1, 1}, 18, 4384, 744, 1, 1}, Synthesised{{4, 4, 1, 1}, 27, 10020, 1087, 16, 2},
        Synthesised{{8, 8, 1, 1}, 16, 6781, 631, 8, 0}}) {
    const FixedStep fixed = make_fixed(problem.formulas, problem.step, problem.scenario, {.bits = s.bits});
    const HardwareArea area = estimated_area(count_area(fixed, schedule_step(fixed, s.units), s.units));
    EXPECT_NEAR(area.luts, s.luts, 0.15 * s.luts);
    EXPECT_NEAR(area.flipflops, s.flipflops, 5);
    EXPECT_EQ(area.dsps, s.dsps);
    EXPECT_EQ(area.ram_blocks, s.ram_blocks);
  }
}

// The same of processors: yosys 0.23 on exports with --core microcode.
TEST(AreaModel, of_a_processor_is_near_what_synthesis_makes) {
  const HardwareProblem problem = ExploredModel().problem();
  struct Synthesised {
    int bits, luts, flipflops, dsps, ram_blocks;
  };
  for (const Synthesised& s : {Synthesised{27, 881, 459, 4, 6}, Synthesised{20, 630, 361, 4, 5}}) {
    const FixedStep fixed = make_fixed(problem.formulas, problem.step, problem.scenario, {.bits = s.bits});
    const HardwareArea area = estimated_area(
        count_micro(fixed, micro_program(fixed, std::vector<std::int64_t>(fixed.states.size(), 0))));
    EXPECT_NEAR(area.luts, s.luts, 0.15 * s.luts);
    EXPECT_NEAR(area.flipflops, s.flipflops, 0.05 * s.flipflops);
    EXPECT_EQ(area.dsps, s.dsps);
    EXPECT_NEAR(area.ram_blocks, s.ram_blocks, 1);
  }
}

TEST(Exploration, searches_find_the_enumerated_optimum) {
  const HardwareProblem problem = ExploredModel(0.1).problem();
  DesignSpace space(problem, small_ranges());
  EXPECT_EQ(space.size(), 4 * 4 * 2 * 4 * 2);  // there is nothing to divide
  const DesignLimits limits = small_limits();
  const DesignGoal best = goal_of(space.value(enumerate(space, limits).best), limits);
  ASSERT_EQ(best.excess, 0.0);
  EXPECT_GT(best, goal_of(space.value(enumerate(space, no_limits()).best), no_limits()));  // limits bind
  int gradient = 0, genetic = 0;
  constexpr int seeds = 20;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const SearchOptions options{.seed = seed, .starts = 10, .population = 30, .generations = 30};
    gradient += goal_of(space.value(gradient_descent(space, limits, options).best), limits) == best;
    genetic += goal_of(space.value(genetic_search(space, limits, options).best), limits) == best;
  }
  EXPECT_GE(gradient, 0.95 * seeds);
  EXPECT_GE(genetic, 0.95 * seeds);
}

TEST(Exploration, the_front_is_what_nothing_else_beats) {
  const HardwareProblem problem = ExploredModel(0.1).problem();
  DesignSpace space(problem, small_ranges());
  const DesignLimits limits = small_limits();
  enumerate(space, limits);
  const std::vector<DesignValue> front = design_front(space, limits, FrontOf::time_luts_and_error);
  ASSERT_GE(front.size(), 5);
  const auto beats = [](const DesignValue& x, const DesignValue& y) {
    return x.time() <= y.time() && x.area.luts <= y.area.luts && x.error <= y.error &&
           (x.time() < y.time() || x.area.luts < y.area.luts || x.error < y.error);
  };
  for (const DesignValue& f : front) {
    EXPECT_EQ(goal_of(f, limits).excess, 0.0);
    for (const DesignValue& other : front) EXPECT_FALSE(beats(other, f));
  }
  for (const auto& [genes, v] : space.values()) {
    const bool reached = std::any_of(front.begin(), front.end(), [&](const DesignValue& f) {
      return f.time() <= v.time() && f.area.luts <= v.area.luts && f.error <= v.error;
    });
    EXPECT_TRUE(reached || goal_of(v, limits).excess > 0.0);
  }
  EXPECT_EQ(spread(front, 4).size(), 4);
  EXPECT_EQ(spread(front, 4)[0].time(), front[0].time());
}

TEST(Exploration, a_design_is_exported_with_the_cycles_and_the_error_it_was_chosen_for) {
  ExploredModel m(0.1);
  const HardwareProblem problem = m.problem();
  DesignSpace space(problem, small_ranges());
  const DesignValue v = space.value(enumerate(space, small_limits()).best);
  ExploredModel again(0.1);
  const VerilogExport exported = export_verilog(again.model, *again.simulation,
                                                {.name = "m",
                                                 .vector = 1,
                                                 .bits = v.point.bits,
                                                 .table_bits = v.point.table_bits,
                                                 .units = v.point.units});
  EXPECT_EQ(exported.design.schedule.cycles, v.cycles);
  double error = 0.0;
  for (const FixedError& e : exported.design.run.errors) error = std::max(error, e.largest);
  EXPECT_EQ(error, v.error);
  const HardwareDesign& d = exported.design;
  EXPECT_EQ(estimated_area(count_area(d.fixed, d.schedule, d.units)).luts, v.area.luts);
}

}  // namespace exploration_test
}  // namespace tellegen
