// Models that once gave wrong answers without a word (tests/regressions/), each with its right answer.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/program/test_cache.h"
#include "tellegen/sensitivity/study.h"
#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace {

Model regression(const std::string& name) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(std::string(TELLEGEN_SOURCE_DIR "/tests/regressions/") + name + ".toml", options);
}

SimulationOptions as_said(const Model& model, const std::string& method, bool compile) {
  SimulationOptions options = as_the_model_says();
  options.method = method;
  options.compile = compile;
  return complete_options(model, options);
}

struct Case {
  const char* model;
  std::vector<const char*> methods;
  const char* output;
  double expected, tolerance;
};

// exp(-5): what is left of a step after five time constants.
const double e5 = std::exp(-5.0);
// The answer to sin(2 t) of R = 1, C = 0.2 at t = 1, from its closed form.
const double sine_answer = (std::sin(2.0) - 0.4 * std::cos(2.0) + 0.4 * std::exp(-5.0)) / (1.0 + 0.16);

const std::vector<Case> cases = {
    // 1 until 0.5 s, then 3, into R = 1, C = 0.1.
    {"comparator-in-source", {"bdf2", "bdf3", "tr", "rk4", "adaptive"}, "b.v", 3 - (3 - (1 - e5)) * e5, 2e-5},
    // A divider of 1 and 2 ohm until 0.5 s, of 1 and 0.5 ohm then, on C = 0.2 (closed form).
    {"comparator-in-resistance",
     {"bdf2", "bdf3", "tr", "rk4", "adaptive"},
     "b.v",
     1.0 / 3 + (2.0 / 3 * (1 - std::exp(-3.75)) - 1.0 / 3) * std::exp(-7.5),
     2e-5},
    {"sine-source-and-output", {"exact"}, "b.v", sine_answer, 1e-12},
    {"sine-source-and-output", {"bdf2", "bdf3", "tr", "rk4"}, "b.v", sine_answer, 1e-3},
    {"sine-product", {"bdf3"}, "b.v*sin(2*t)", sine_answer* std::sin(2.0), 2e-4},
    {"sine-minimal", {"bdf2", "bdf3", "tr"}, "b.v", sine_answer, 1e-6},
    {"capacitor-across-sine", {"tr", "bdf2"}, "b.v", std::sin(2.2), 1e-12},
    {"capacitor-across-sine", {"tr"}, "c.i", 11 * std::cos(2.2), 0.02},
    // 1.439218 V at the jump (RK4), and exp(-t/(R C)) from there on.
    {"jump-off-the-grid",
     {"bdf2", "bdf3", "tr", "rk4", "adaptive"},
     "b.v",
     1.4392183785 * std::exp(-0.6663 / 0.2),
     1e-4},
    // What is inside is what flowed in: filled at 20 l/min from 0 bar, less the line's compliance and the
    // shell's.
    {"gas-accumulator", {"bdf1", "bdf2", "bdf3", "tr", "rk4", "adaptive"}, "a.p", 75.2345e5, 1000},
};

TEST(Regressions, a_run_has_the_right_answer_whatever_else_is_asked_for) {
  const TestCache cache;
  for (const Case& c : cases)
    for (const char* method : c.methods) {
      const Model model = regression(c.model);
      const TestRun alone(model, as_said(model, method, false), {c.output});
      EXPECT_NEAR(alone.last(c.output), c.expected, c.tolerance) << c.model << ", " << method;
      // Inputs, sines and all variables as well: not a bit changes, interpreted or compiled.
      for (const bool compile : {false, true}) {
        if (compile && method == std::string("adaptive")) continue;
        std::vector<std::string> more{c.output, "sin(2*t)", "cos(11*t)*t"};
        const TestRun with_more(model, as_said(model, method, compile), more);
        ASSERT_EQ(alone.rows(), with_more.rows());
        for (std::size_t r = 0; r < alone.rows(); ++r)
          ASSERT_EQ(alone.at(r, c.output), with_more.at(r, c.output))
              << c.model << ", " << method << ", row " << r;
      }
    }
}

TEST(Regressions, a_thermostat_switches_by_every_method) {
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "rk4", "adaptive"}) {
    const Model model = regression("thermostat");
    const TestRun run(model, as_said(model, method, false), {"h.T"});
    double highest = 0.0;
    for (std::size_t r = 0; r < run.rows(); ++r) highest = std::max(highest, run.at(r, "h.T"));
    EXPECT_NEAR(highest, 320.0, 0.1) << method;
  }
}

TEST(Regressions, the_minimal_form_of_a_comparator_and_a_diode_runs_as_the_tableau_does) {
  const Model model = regression("minimal-comparator-diode");
  SimulationOptions options = as_said(model, "bdf2", false);
  const TestRun tableau(model, options, {"b.v"});
  options.form = "minimal";
  const TestRun minimal(model, options, {"b.v"});
  for (std::size_t r = 0; r < tableau.rows(); ++r)
    EXPECT_NEAR(minimal.at(r, "b.v"), tableau.at(r, "b.v"), 1e-6);
}

StudyResult study(const std::string& name, const std::string& method, const std::vector<std::string>& of,
                  const std::string& wrt, StudyOptions::Method derivatives = StudyOptions::Method::forward) {
  StudyOptions options;
  options.simulation.method = method;
  options.simulation.compile = false;
  options.method = derivatives;
  Study study(regression(name), of, {wrt}, options);
  return study.evaluate(study.nominal());
}

TEST(Regressions, an_integral_of_what_sampling_makes_jump_is_exact_for_straight_pieces) {
  for (const char* method : {"bdf2", "bdf3", "tr", "adaptive"}) {
    const StudyResult result = study("integral-of-held", method, {"I"}, "k");
    EXPECT_NEAR(result.values[0], 0.275, 1e-9) << method;  // sum of 0.1^2 (k + 1/2) over odd k below 10
    EXPECT_NEAR(result.gradient[0], 0.275, 1e-9) << method;
  }
}

// Closed forms; moving_events_test has the same with other methods and parameters.
TEST(Regressions, derivatives_across_conditions_and_at_ends_that_move) {
  if (has_adaptive()) {
    // 0.9 V is passed at T = -2 R C ln(1 - 0.9/V), and V - v falls with R C from there on.
    const double T = -0.15 * std::log(0.7), T_by_V = -0.15 * 0.1 / 0.7;
    const double end = 1 - std::exp(-(0.2 - T) / 0.075) * (1 + 2.1 / 0.075 * T_by_V);
    EXPECT_NEAR(study("derivative-across-if", "adaptive", {"e"}, "V").gradient[0], end, 1e-5);
    EXPECT_NEAR(study("derivative-across-pwm", "adaptive", {"e"}, "k").gradient[0], 1.0, 1e-6);
  }
  for (const auto way : {StudyOptions::Method::forward, StudyOptions::Method::adjoint})
    for (const char* by : {"V", "R"}) {
      EXPECT_NEAR(study("maximum-at-stop-condition", "bdf2", {"m"}, by, way).gradient[0], 0.0, 1e-5) << by;
      EXPECT_NEAR(study("maximum-at-moving-stop", "bdf2", {"m"}, by, way).gradient[0],
                  by == std::string("V") ? 1 - std::exp(-1.0) : 0.0, 5e-4)
          << by;
    }
}

// 180.06 J by adaptive at tolerance 1e-9, and by the closed form of each interval summed up.
TEST(Regressions, the_energy_into_a_load_behind_a_sampled_source_balances) {
  for (const char* method : {"bdf2", "bdf3", "tr"}) {
    const StudyResult result = study("energy-of-held-sine", method, {"E_in", "gap"}, "f");
    EXPECT_NEAR(result.values[0], 180.06, 0.5) << method;
    EXPECT_LT(std::abs(result.values[1]), 0.01 * result.values[0]) << method;
  }
}

// 8.07557e-07 by adaptive; edges of the modulator fall on the step grid.
TEST(Regressions, an_edge_on_the_step_grid_takes_no_step_of_rounding_size) {
  for (const char* method : {"bdf2", "bdf3", "tr"}) {
    const StudyResult forward = study("edge-on-the-grid", method, {"E"}, "L"),
                      adjoint = study("edge-on-the-grid", method, {"E"}, "L", StudyOptions::Method::adjoint),
                      differences = study("edge-on-the-grid", method, {"E"}, "L",
                                          StudyOptions::Method::finite_difference);
    EXPECT_NEAR(forward.values[0], 8.07557e-07, 1e-9) << method;
    EXPECT_NEAR(forward.gradient[0] / differences.gradient[0], 1.0, 1e-5) << method;
    EXPECT_NEAR(adjoint.gradient[0] / forward.gradient[0], 1.0, 1e-9) << method;
  }
}

}  // namespace
}  // namespace tellegen
