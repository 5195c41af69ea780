// Machines in networks: forms that agree, starts that are steady, steps that are too long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace {

std::string text_of(const std::string& model) {
  std::ostringstream text;
  text << std::ifstream(TELLEGEN_SOURCE_DIR "/models/" + model + "/model.toml").rdbuf();
  return text.str();
}

Model changed(const std::string& model, const std::string& from, const std::string& to) {
  std::string text = text_of(model);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  ReadOptions read;
  read.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, TELLEGEN_SOURCE_DIR "/models/" + model + "/model.toml", read);
}

// vbr_initial_states.json of the reference: what a solver of the stationary equations found.
TEST(Machines, a_generator_s_steady_state_is_that_of_the_reference) {
  const TestRun a(shipped_model("generator-torque-step"), options_of("rk4", 5e-4, 5e-4),
                  {"i_a", "i_b", "gen.kq1", "gen.fd", "gen.kd", "gen.theta", "T_e"});
  EXPECT_NEAR(a.at(0, "i_a"), 53.22799497205987, 1e-5);
  EXPECT_NEAR(a.at(0, "i_b"), 18648.363391803945, 1e-4);
  EXPECT_NEAR(a.at(0, "gen.kq1"), 0.0, 1e-8);
  EXPECT_NEAR(a.at(0, "gen.fd"), 77.37864485502429, 1e-8);
  EXPECT_NEAR(a.at(0, "gen.kd"), 65.10869759776826, 1e-8);
  EXPECT_NEAR(a.at(0, "gen.theta"), -0.0024683672305074924, 1e-10);
  const TestRun c(shipped_model("generator-fault"), options_of("rk4", 5e-4, 5e-4),
                  {"i_a", "gen.kq2", "gen.fd", "gen.kd", "gen.theta", "T_e", "flux"});
  EXPECT_NEAR(c.at(0, "i_a"), -11257.111417233838, 1e-4);
  EXPECT_NEAR(c.at(0, "gen.kq2"), -8.911098489979032, 1e-7);
  EXPECT_NEAR(c.at(0, "gen.fd"), 66.92827826369208, 1e-7);
  EXPECT_NEAR(c.at(0, "gen.theta"), 0.28794508607613506, 1e-9);
  EXPECT_NEAR(c.at(0, "flux"), 47.2069836, 1e-6);
  EXPECT_NEAR(c.at(0, "T_e"), -0.85 * 27.6e6, 1.0);
}

// An induction motor at its load: current and torque stay what they are.
TEST(Machines, a_motor_that_begins_steady_stays_so) {
  const Model model = changed(
      "motor-free-acceleration", "[outputs]",
      "w_supply = \"w_b\"\n[components.load]\nkind = \"rotational.torque_source\"\np = \"shaft\"\nn = "
      "\"datum\"\ntau = 8\n[initial]\nsteady = [\"motor\", \"rotor.w\"]\n\"motor.theta\" = 0\n[outputs]");
  const TestRun run(model, options_of("rk4", 0.05, 5e-4), {"T_e", "w_r"});
  EXPECT_NEAR(run.at(0, "T_e"), 8.0, 1e-9);
  EXPECT_LT(run.largest_error("T_e", [](double) { return 8.0; }), 1e-3);
  EXPECT_GT(run.at(0, "w_r"), 350);
}

TEST(Machines, the_forms_of_a_machine_agree_to_their_integration_error) {
  const struct {
    const char* model;
    const char* vbr;
    std::vector<const char*> others;
    double peak;
  } cases[] = {
      {"motor-free-acceleration",
       "machines.induction_vbr",
       {"machines.induction_qd0", "machines.induction_phase"},
       102.31},
      {"generator-torque-step",
       "machines.synchronous_vbr",
       {"machines.synchronous_qd0", "machines.synchronous_phase"},
       29188},
      {"generator-fault",
       "machines.synchronous_vbr_saturated",
       {"machines.synchronous_qd0_saturated"},
       129140},
      {"motor-sag", "machines.induction_vbr_saturated", {"machines.induction_qd0_saturated"}, 764.29},
  };
  for (const auto& one : cases) {
    const SimulationOptions options = options_of("rk4", 0.05, 1e-4);
    const TestRun vbr(shipped_model(one.model), options, {"i_a", "T_e"});
    for (const char* other : one.others) {
      const TestRun run(changed(one.model, one.vbr, other), options, {"i_a", "T_e"});
      for (std::size_t row = 0; row < run.rows(); ++row)
        ASSERT_NEAR(run.at(row, "i_a"), vbr.at(row, "i_a"), 1e-5 * one.peak)
            << other << " at " << run.result.t[row];
    }
  }
}

TEST(Machines, halving_the_step_of_a_saturated_machine_divides_its_error_by_sixteen) {
  std::vector<TestRun> runs;
  for (const double h : {5e-4, 2.5e-4, 1.25e-4}) {
    SimulationOptions options = options_of("rk4", 0.1, h);
    options.sample = 5e-4;
    runs.emplace_back(shipped_model("motor-sag"), options, std::vector<std::string>{"i_a"});
  }
  double apart[2] = {};
  for (std::size_t row = 0; row < runs[0].rows(); ++row)
    for (int k = 0; k < 2; ++k)
      apart[k] = std::max(apart[k], std::abs(runs[k].at(row, "i_a") - runs[k + 1].at(row, "i_a")));
  EXPECT_GT(std::log2(apart[0] / apart[1]), 3.8);
}

TEST(Machines, compiled_and_interpreted_steps_are_equal) {
  for (const char* model : {"generator-torque-step", "motor-sag", "motor-free-acceleration"}) {
    SimulationOptions options = options_of("rk4", 0.02, 5e-4);
    const TestRun interpreted(shipped_model(model), options, {"i_a", "T_e"});
    options.compile = true;
    const TestRun compiled(shipped_model(model), options, {"i_a", "T_e"});
    EXPECT_EQ(interpreted.result.values, compiled.result.values) << model;
  }
}

// Six diodes behind the winding's inductance: what the shaft gives is what load and copper take, whatever
// diode.
TEST(Machines, a_generator_feeds_a_rectifier) {
  double voltage[2];
  for (const bool ideal : {true, false}) {
    std::string text = R"toml(
prime = { kind = "rotational.speed_source", p = "shaft", n = "datum", w = 150 }
gen   = { kind = "machines.pmsm_vbr", a = "a", b = "b", c = "c", n = "star", r = "shaft", frame = "datum", poles = 8, r_s = 0.2, L_d = "1.5 mH", L_q = "2.5 mH", flux = 0.12 }
link  = { kind = "electrical.capacitor", p = "plus", n = "datum", C = "1 mF" }
load  = { kind = "electrical.resistor", p = "plus", n = "datum", R = 20 }
)toml";
    for (const char phase : {'a', 'b', 'c'}) {
      const char* kind = ideal ? "ideal_diode" : "diode";
      text +=
          fmt::format("up_{0} = {{ kind = \"electrical.{1}\", p = \"{0}\", n = \"plus\" }}\n", phase, kind);
      text +=
          fmt::format("low_{0} = {{ kind = \"electrical.{1}\", p = \"datum\", n = \"{0}\" }}\n", phase, kind);
      text += fmt::format(
          "leak_{0} = {{ kind = \"electrical.resistor\", p = \"{0}\", n = \"datum\", R = \"1 Mohm\" }}\n",
          phase);
    }
    const TestRun run(text, options_of("bdf2", 0.1, 1e-5),
                      {"plus.v", "gen.T_e", "gen.loss", "load.v*load.i"});
    const std::size_t width = 4, rows = run.result.t.size();
    double mean[4] = {};
    for (std::size_t row = rows / 2; row < rows; ++row)
      for (std::size_t k = 0; k < width; ++k)
        mean[k] += run.result.values[row * width + k] / static_cast<double>(rows - rows / 2);
    voltage[ideal] = mean[0];
    EXPECT_NEAR(-150 * mean[1], mean[2] + mean[3] + (ideal ? 0.0 : 2 * 0.8 * mean[0] / 20), 0.01 * mean[3]);
  }
  EXPECT_NEAR(voltage[0] + 2 * 0.8, voltage[1], 0.5);  // two drops
}

// The jump lies on a step: the step before must not see it, the one after must.
TEST(Rk4, takes_a_jump_in_time_from_the_right_side) {
  const TestRun run(R"toml(
j = { kind = "electrical.current_source", p = "datum", n = "a", I = "if(t < 0.3, 1, 3)" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1 }
)toml",
                    options_of("rk4", 0.6, 0.1), {"a.v"});
  EXPECT_LT(run.largest_error("a.v", [](double t) { return t < 0.3 ? t : 0.3 + 3 * (t - 0.3); }), 1e-12);
}

TEST(Rk4, says_that_a_step_is_too_long_and_which_is_not) {
  const TestRun run(R"toml(
v = { kind = "electrical.voltage_source", p = "s", n = "datum", V = 1 }
r = { kind = "electrical.resistor", p = "s", n = "a", R = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 1, v0 = 0 }
)toml",
                    options_of("rk4", 9.0, 3.0), {"a.v"});
  // rk4 is stable on the real axis up to 2.7853.
  EXPECT_NE(run.result.statistics.warning.find("largest stable step there is 2.79 s"), std::string::npos)
      << run.result.statistics.warning;
}

TEST(Machines, a_drive_reaches_its_speed_and_carries_its_load) {
  SimulationOptions options = options_of("bdf2", 0.25, 2e-6);
  options.sample = 1e-3;
  options.compile = true;
  options.event_bisections = 4;
  const TestRun run(shipped_model("pmsm-drive"), options, {"speed", "torque", "i_d"});
  EXPECT_NEAR(run.at(99, "speed"), 100, 2);
  EXPECT_NEAR(run.at(159, "speed"), 200, 4);
  EXPECT_NEAR(run.last("speed"), 200, 4);
  EXPECT_NEAR(run.last("torque"), 5.2, 1.5);
}

}  // namespace
}  // namespace tellegen
