// The torque converter and the nickel metal hydride cell of models/, with the kinds they are made of, against
// reference solutions: explicit integration of order 8 between events with rtol 1e-12 (converter), step
// halving to 1e-12 V (cell).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tellegen/results/test_folder.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path models = TELLEGEN_SOURCE_DIR "/models";

using Overrides = std::vector<std::pair<std::string, std::string>>;

ReadOptions with(const Overrides& overrides) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  for (const auto& [name, value] : overrides) options.overrides.push_back({name, value});
  return options;
}

SimulationOptions adaptive(double stop, double sample, double tolerance) {
  SimulationOptions options = options_of("adaptive", stop, sample);
  options.tolerance = tolerance;
  return options;
}

// The largest |value - reference| / (|reference| + floor) of a column, over the rows of the reference.
double largest_error(const TestRun& run, const Trajectory& reference, const std::string& output,
                     const std::string& column, double floor) {
  const auto at = reference.find(column).value();
  double largest = 0.0;
  std::size_t row = 0;
  for (std::size_t r = 0; r < reference.rows(); ++r) {
    while (row + 1 < run.rows() && run.result.t[row] < reference.t[r] * (1 - 1e-9)) ++row;
    if (std::abs(run.result.t[row] - reference.t[r]) > 1e-9 * (1 + reference.t[r])) {
      ADD_FAILURE() << "no row at t = " << reference.t[r];
      return std::numeric_limits<double>::infinity();
    }
    const double expected = reference.at(r, at);
    largest = std::max(largest, std::abs(run.at(row, output) - expected) / (std::abs(expected) + floor));
  }
  return largest;
}

TEST(TorqueConverter, follows_the_reference_past_the_coupling_point) {
  if (!has_adaptive()) GTEST_SKIP();
  const Model model = shipped_model("torque-converter");
  const TestRun run(model, adaptive(11.4, 0.1, 1e-11),
                    {"pump.shaft.w", "turbine.shaft.w", "stator.shaft.w", "pump.line.q", "clutch.tau",
                     "lost.y", "P_flow", "P_shock"});
  const Trajectory reference = read_csv(models / "torque-converter" / "reference.csv");
  EXPECT_LT(largest_error(run, reference, "pump.shaft.w", "w_p", 0.0), 1e-8);
  EXPECT_LT(largest_error(run, reference, "turbine.shaft.w", "w_t", 1e-3), 1e-8);
  EXPECT_LT(largest_error(run, reference, "stator.shaft.w", "w_s", 1.0), 1e-7);
  EXPECT_LT(largest_error(run, reference, "pump.line.q", "Q", 0.0), 1e-8);
  EXPECT_LT(largest_error(run, reference, "clutch.tau", "tau_s", 1.0), 1e-7);
  EXPECT_LT(largest_error(run, reference, "lost.y", "E_loss", 1.0), 1e-8);
  EXPECT_LT(largest_error(run, reference, "P_flow", "P_flow", 0.0), 1e-7);
  EXPECT_LT(largest_error(run, reference, "P_shock", "P_shock", 0.0), 1e-7);
}

// How long the stator is held is the integral of clutch.locked. Designs and numbers as the reference has
// them.
TEST(TorqueConverter, three_designs_let_go_and_lock_up_when_they_should) {
  if (!has_adaptive()) GTEST_SKIP();
  struct Design {
    Overrides radii;
    double loss, coupling, lock_up;
  };
  const Design designs[] = {
      {{}, 557827.35732004801, 10.37969447173243, 11.41695787043238},
      {{{"R_p", "0.12 m"}, {"R_s", "0.08 m"}, {"R_t", "0.065 m"}, {"rho", "830 kg/m3"}},
       391267.98284414906,
       10.456027142350715,
       11.399914067525103},
      {{{"R_p", "0.13 m"}, {"R_s", "0.08 m"}, {"R_t", "0.088 m"}, {"rho", "880 kg/m3"}},
       259554.18632850956,
       9.9682559669102115,
       10.615547173462692},
  };
  std::string text = get(models / "torque-converter" / "model.toml");
  const std::string before = "[components]\n";
  text.insert(text.find(before) + before.size(),
              "held = { kind = \"signals.integrator\", u = \"clutch.locked\" }\n");
  for (const Design& design : designs) {
    const Model model = read_model_text(text, "model.toml", with(design.radii));
    const TestRun run(model, adaptive(design.lock_up, design.lock_up, 1e-11),
                      {"stator.shaft.w", "held.y", "lost.y"});
    EXPECT_NEAR(run.last("held.y"), design.coupling, 1e-8);
    EXPECT_NEAR(run.last("stator.shaft.w"), 20.0, 1e-8 * 30.0);  // by its acceleration at most
    EXPECT_NEAR(run.last("lost.y") / design.loss, 1.0, 1e-8);
  }
}

TEST(TorqueConverter, coasting_turns_the_flow_and_the_power_balance_closes) {
  if (!has_adaptive()) GTEST_SKIP();
  const Model model = read_model(models / "torque-converter" / "coasting.toml", with({}));
  const std::string rotational =
      "engine.tau*engine.w + shaft.tau*shaft.w + converter.clutch.tau*converter.clutch.w"
      " + converter.pump.shaft.tau*converter.pump.shaft.w + "
      "converter.turbine.shaft.tau*converter.turbine.shaft.w"
      " + converter.stator.shaft.tau*converter.stator.shaft.w";
  const std::string hydraulic =
      "converter.pump.line.dp*converter.pump.line.q + converter.turbine.line.dp*converter.turbine.line.q"
      " + converter.stator.line.dp*converter.stator.line.q";
  const TestRun run(
      model, adaptive(5.0, 0.01, 1e-11),
      {rotational, hydraulic, "missing", "stored", "Q", "locked", "P_flow", "P_shock", "tau_p*pump.w"});
  int changes = 0;
  double input = 0.0;
  for (std::size_t r = 0; r < run.rows(); ++r) input = std::max(input, std::abs(run.at(r, "tau_p*pump.w")));
  for (std::size_t r = 0; r < run.rows(); ++r) {
    EXPECT_NEAR(run.at(r, rotational), 0.0, 1e-9 * input);
    EXPECT_NEAR(run.at(r, hydraulic), 0.0, 1e-9 * input);
    EXPECT_NEAR(run.at(r, "missing"), run.at(0, "missing"), 1e-9 * run.at(r, "stored"));
    EXPECT_GE(run.at(r, "P_flow"), 0.0);
    EXPECT_GE(run.at(r, "P_shock"), 0.0);
    if (r > 0) changes += run.at(r, "locked") != run.at(r - 1, "locked");
  }
  EXPECT_EQ(changes, 3);  // lets go, locks, lets go
  EXPECT_GT(run.at(0, "Q"), 0.04);
  EXPECT_LT(run.last("Q"), -0.07);
}

// Both flow directions at once at the start: nothing is divided by the flow.
TEST(TorqueConverter, starts_from_rest) {
  if (!has_adaptive()) GTEST_SKIP();
  const std::string text = get(models / "torque-converter" / "model.toml");
  const Model still =
      read_model_text(text, "model.toml", with({{"Q0", "0 m3/s"}, {"w_p0", "0 rad/s"}, {"tau_t", "0 N m"}}));
  const TestRun run(still, adaptive(1.0, 0.01, 1e-10),
                    {"pump.shaft.w", "turbine.shaft.w", "pump.line.q", "lost.y", "P_flow + P_shock",
                     "pump.energy + turbine.energy + stator.energy"});
  EXPECT_GT(run.last("pump.line.q"), 0.02);
  EXPECT_GT(run.last("turbine.shaft.w"), 100.0);
  for (std::size_t r = 0; r < run.rows(); ++r) EXPECT_GE(run.at(r, "P_flow + P_shock"), 0.0);
}

// One inertia catches up with another, drives it, and is then braked.
TEST(Freewheel, locks_at_equal_speed_and_lets_go_without_torque) {
  const char* text =
      "drive = { kind = \"rotational.torque_source\", p = \"datum\", n = \"a\", tau = \"if(t < 4, 2, -1)\" "
      "}\n"
      "fast  = { kind = \"rotational.inertia\", p = \"a\", J = 1 }\n"
      "wheel = { kind = \"rotational.freewheel\", p = \"a\", n = \"b\" }\n"
      "heavy = { kind = \"rotational.inertia\", p = \"b\", J = 3, w0 = 4 }\n";
  for (const char* method : {"adaptive", "bdf2", "tr"}) {
    if (method == std::string("adaptive") && !has_adaptive()) continue;
    for (const char* form : {"tableau", "minimal"}) {
      SCOPED_TRACE(fmt::format("{} {}", method, form));
      SimulationOptions options = options_of(method, 5.0, 1e-3);
      options.sample = 0.5;
      options.form = form;
      options.tolerance = 1e-8;
      const TestRun run(text, options, {"a.w", "b.w", "wheel.tau", "wheel.locked"});
      const double near = method == std::string("adaptive") ? 1e-5 : 5e-3;
      const auto expect = [&](double t, double a, double b, double tau, double locked) {
        const auto row = static_cast<std::size_t>(std::lround(t / 0.5));
        EXPECT_NEAR(run.at(row, "a.w"), a, near) << t;
        EXPECT_NEAR(run.at(row, "b.w"), b, near) << t;
        EXPECT_NEAR(run.at(row, "wheel.tau"), tau, near) << t;
        EXPECT_EQ(run.at(row, "wheel.locked"), locked) << t;
      };
      expect(1.0, 2.0, 4.0, 0.0, 0.0);  // runs up at 2 rad/s2
      expect(3.0, 4.5, 4.5, 1.5, 1.0);  // locked at 2 s: both at 2/4 rad/s2, 3/4 of the torque goes on
      expect(4.5, 4.5, 5.0, 0.0, 0.0);  // braked: it lets go and the heavy one runs on
      expect(5.0, 4.0, 5.0, 0.0, 0.0);
    }
  }
}

// The profile's integrals are variables that stand before rates; a wheel that turns with the fluid feels
// them.
TEST(VaneProfile, gives_an_impeller_its_constants) {
  const std::string vanes =
      "vanes = { kind = \"hydraulic.vane_profile\", radius = [[0, 0.06], [1, 0.12]], angle = { points = [[0, "
      "30], [1, "
      "30]], unit = \"deg\" }, length = 0.09, A = 0.01 }\n";
  const std::string rest =
      "head  = { kind = \"hydraulic.pressure_source\", p = \"a\", n = \"datum\", dp = \"1 bar\" }\n"
      "drive = { kind = \"rotational.torque_source\", p = \"datum\", n = \"r\", tau = 5 }\n"
      "wheel = { kind = \"hydraulic.impeller\", r = \"r\", inlet = \"a\", outlet = \"datum\", A = 0.01, R_in "
      "= 0.06, "
      "R_out = 0.12, alpha = \"30 deg\", beta = \"30 deg\", J_m = 0.02, q0 = 0.01, ";
  const auto run = [&](const std::string& text) {
    SimulationOptions options = options_of("bdf2", 0.2, 1e-3);
    options.tolerance = 1e-9;
    return TestRun(text, options, {"wheel.shaft.w", "wheel.line.q"});
  };
  const TestRun named = run(vanes + rest + "S = \"vanes.S\", L_f = \"vanes.L_f\", J_f = \"vanes.J_f\" }\n");
  const TestRun by_default = run(rest + "l = 0.09 }\n");  // linear radius, constant angle: the same profile
  EXPECT_GT(std::abs(named.last("wheel.shaft.w")), 1.0);
  EXPECT_NEAR(named.last("wheel.shaft.w"), by_default.last("wheel.shaft.w"), 1e-6);
  EXPECT_NEAR(named.last("wheel.line.q"), by_default.last("wheel.line.q"), 1e-9);
}

class NickelMetalHydride : public testing::TestWithParam<int> {};

TEST_P(NickelMetalHydride, discharges_along_the_reference) {
  const int current = GetParam();
  const fs::path file =
      models / "nimh-cell" / (current == 2 ? "reference.csv" : fmt::format("reference-{}A.csv", current));
  const Trajectory reference = read_csv(file);
  const Model model =
      read_model(models / "nimh-cell" / "model.toml", with({{"I", fmt::format("{} A", current)}}));
  const double stop = reference.t.back();
  if (has_adaptive()) {
    const TestRun run(model, adaptive(stop, stop / 200, 1e-10), {"plus.v - neg.v"});
    EXPECT_LT(largest_error(run, reference, "plus.v - neg.v", "v_cell", 1.0), 1e-9);
  }
  SimulationOptions fixed = options_of("bdf3", stop, 2.0);
  fixed.sample = stop / 200;
  const TestRun run(model, fixed, {"plus.v - neg.v"});
  EXPECT_LT(largest_error(run, reference, "plus.v - neg.v", "v_cell", 1.0), 1e-8);
}

INSTANTIATE_TEST_SUITE_P(Currents, NickelMetalHydride, testing::Values(2, 4, 6, 8));

// Each leg lasts nine tenths of the positive electrode's capacity of 23204.722 C.
TEST(NickelMetalHydrideEnergy, of_discharge_and_charge_is_that_of_the_reference) {
  if (!has_adaptive()) GTEST_SKIP();
  const double capacity = 96485.33212 * 325 * 0.068 * 0.037 / 3.4;
  const std::tuple<double, double, double> energies[] = {{0.5, 27704.51370729247, 27446.613931224249},
                                                         {2.0, 27308.608299726031, 27842.519427121595},
                                                         {8.0, 25814.335589849154, 29336.792154746927}};
  for (const auto& [current, out, in] : energies)
    for (const double sign : {1.0, -1.0}) {
      const Model model =
          read_model(models / "nimh-cell" / "model.toml", with({{"I", fmt::format("{} A", sign * current)}}));
      const double stop = 0.9 * capacity / current;
      const TestRun run(model, adaptive(stop, stop, 1e-11), {"given.y", "nickel.capacity"});
      EXPECT_NEAR(run.last("nickel.capacity"), capacity, 1e-6);
      EXPECT_NEAR(run.last("given.y") / (sign > 0 ? out : -in), 1.0, 2e-9) << sign * current;
    }
}

}  // namespace
}  // namespace tellegen
