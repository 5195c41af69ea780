// A step of a model in fixed point: followed, lowered, scheduled.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tellegen/deploy/test_export.h"
#include "tellegen/deploy/verilog_export.h"

namespace tellegen {
namespace fixed_step_test {

struct FixedModel : TestExport {
  explicit FixedModel(const std::string& name, double stop = 0.0) : TestExport(name, stop) {
    step = straight_step(simulation->integrator().step_code());
    steps = sample_count(simulation->problem());
    if (step.refused.empty()) scenario = run_scenario(step, steps, {});
  }
  StraightStep step;
  std::int64_t steps = 0;
  StepScenario scenario;
};

TEST(StraightStep, gives_what_the_simulator_gives_to_the_last_bit) {
  const FixedModel m("motor-free-acceleration", 0.1);
  ASSERT_EQ(m.step.refused, "");
  ASSERT_EQ(m.scenario.refused, "");
  ASSERT_TRUE(m.step.outputs_before);
  const std::size_t width = m.step.outputs.size();
  std::vector<double> rows(static_cast<std::size_t>(m.steps) * width);
  ASSERT_EQ(m.simulation->integrator().advance(m.steps, rows.data()), m.steps);
  for (std::size_t k = 0; k < rows.size() - width; ++k)
    ASSERT_EQ(m.scenario.outputs[k + width], rows[k]) << k;
}

TEST(FixedStep, currents_torque_and_speed_of_a_whole_start_within_a_thousandth) {
  const FixedModel m("motor-free-acceleration");
  const StepFormulas formulas = make_formulas(m.step);
  std::map<int, double> worst;
  for (const int bits : {22, 27}) {
    const FixedStep fixed = make_fixed(formulas, m.step, m.scenario, {.bits = bits});
    const FixedPointRun run = run_fixed(fixed, m.step, m.scenario);
    EXPECT_EQ(run.overflows, 0);
    for (const FixedError& e : run.errors) worst[bits] = std::max(worst[bits], e.largest);
  }
  EXPECT_LT(worst[22], 1e-3);
  EXPECT_LT(worst[27], worst[22] / 16.0);  // five bits are worth 32
}

TEST(FixedStep, an_angle_wraps_and_keeps_its_precision) {
  const FixedModel m("motor-free-acceleration", 0.5);
  const FixedStep fixed = make_fixed(make_formulas(m.step), m.step, m.scenario, {.bits = 24});
  int angles = 0;
  for (const FixedStep::Word& state : fixed.states) {
    angles += state.angle;
    EXPECT_EQ(fixed.ops[state.op].point == fixed.bits, state.angle);
  }
  EXPECT_EQ(angles, 1);  // the rotor's, which turns 26 times
}

// Whatever the units, operands are there when they are read and no unit does two things at once.
TEST(HardwareSchedule, keeps_to_its_units_and_to_the_order_of_operations) {
  const FixedModel m("motor-free-acceleration", 0.05);
  const FixedStep fixed = make_fixed(make_formulas(m.step), m.step, m.scenario, {});
  for (const HardwareUnits units :
       {HardwareUnits{1, 1, 1, 1}, HardwareUnits{4, 4, 2, 1}, HardwareUnits{8, 8, 1, 1}}) {
    const HardwareSchedule s = schedule_step(fixed, units);
    std::map<std::tuple<int, UnitKind, int, int>, int> taken;
    std::map<std::pair<int, int>, int> written;  // register and cycle
    for (std::size_t k = 0; k < fixed.ops.size(); ++k) {
      const HardwareSchedule::Place& p = s.places[k];
      if (p.start < 0) continue;
      for_each_source(fixed.ops[k], [&](int source) { EXPECT_LT(s.places[source].write, p.start); });
      if (const UnitKind kind = unit_of(fixed.ops[k].kind); kind != UnitKind::wire) {
        EXPECT_EQ((taken[{p.start, kind, p.unit, fixed.ops[k].table}]++), 0);
      }
      if (p.reg >= 0) {
        EXPECT_EQ((written[{p.reg, p.write}]++), 0);
      }
    }
    EXPECT_LE(s.multipliers, units.multipliers);
    EXPECT_LE(s.adders, units.adders);
  }
}

TEST(HardwareSchedule, a_runge_kutta_step_of_an_induction_machine_in_few_cycles) {
  const FixedModel m("motor-free-acceleration", 0.05);
  const FixedStep fixed = make_fixed(make_formulas(m.step), m.step, m.scenario, {});
  EXPECT_LE(schedule_step(fixed, {8, 8, 1, 1}).cycles, 49);
  EXPECT_LE(schedule_step(fixed, {4, 4, 2, 1}).cycles, 68);
}

TEST(StepFormulas, name_what_has_no_form_in_fixed_point) {
  StraightStep step;
  SectionWriter write(step.program);
  const auto state = write.new_register();
  step.program.section_end = {0};
  step.states = {{state, write.call("mod", state, state), 1.0}};
  write.end();
  EXPECT_EQ(make_formulas(step).refused, "the function 'mod'");
}

TEST(VerilogExport, refuses_what_it_cannot_do) {
  const auto fault_of = [](const std::string& name) -> std::string {
    try {
      FixedModel m(name, 0.01);
      export_verilog(m.model, *m.simulation, {.name = "m"});
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(fault_of("generator-torque-step").find("T420"), std::string::npos);  // a source that jumps
  EXPECT_NE(fault_of("choke").find("T420"), std::string::npos);             // iterations until it converges
  EXPECT_NE(fault_of("stick-slip-drive").find("T422"), std::string::npos);  // sign()
}

}  // namespace fixed_step_test
}  // namespace tellegen
