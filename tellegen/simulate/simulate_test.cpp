#include "tellegen/simulate/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace simulate_test {

// L i' = V - R i - k w, J w' = k i - d w from rest: two poles, one step response each.
struct DcMotor {
  double V = 12, R = 0.5, L = 1e-3, k = 0.05, J = 2e-4, d = 1e-4;
  std::complex<double> s1, s2;
  double w_end, i_end;
  DcMotor() {
    const double b = R / L + d / J, c = (R * d + k * k) / (L * J);
    const std::complex<double> root = std::sqrt(std::complex<double>(b * b / 4 - c));
    s1 = -b / 2 + root, s2 = -b / 2 - root;
    w_end = k * V / (k * k + R * d), i_end = d * w_end / k;
  }
  // x(0) = 0, x'(0) = slope, x(infinity) = end
  double response(double end, double slope, double t) const {
    const std::complex<double> a = (slope + s2 * end) / (s1 - s2), b = -end - a;
    return (end + a * std::exp(s1 * t) + b * std::exp(s2 * t)).real();
  }
  double speed(double t) const { return response(w_end, 0.0, t); }
  double current(double t) const { return response(i_end, V / L, t); }
};

TEST(Simulation, a_dc_motor_runs_up_as_in_closed_form) {
  const DcMotor motor;
  const Model model = shipped_model("dc-motor");
  const struct {
    const char *method, *form;
    double step, tolerance;
  } cases[] = {{"bdf2", "tableau", 2e-5, 1e-4},
               {"bdf3", "tableau", 2e-5, 2e-5},
               {"tr", "minimal", 2e-5, 1e-5},
               {"rk4", "auto", 1e-4, 1e-4},
               {"exact", "auto", 1e-3, 1e-12}};
  for (const auto& c : cases) {
    SimulationOptions options = options_of(c.method, 0.2, c.step);
    options.sample = 1e-3;
    options.form = c.form;
    const TestRun run(model, options, {"shaft.w", "motor.armature.i", "motor.shaft.tau"});
    EXPECT_LT(run.largest_error("shaft.w", [&](double t) { return motor.speed(t); }), c.tolerance * 240)
        << c.method;
    EXPECT_LT(run.largest_error("motor.armature.i", [&](double t) { return motor.current(t); }),
              c.tolerance * 24)
        << c.method;
    EXPECT_LT(run.largest_error("motor.shaft.tau", [&](double t) { return -motor.k * motor.current(t); }),
              c.tolerance)
        << c.method;
  }
}

TEST(Simulation, results_are_in_the_units_the_model_declares) {
  const Model model = shipped_model("dc-motor");
  const SimulationOptions options = complete_options(model, options_of("exact", 0.5, 1e-3));
  const SimulationResult result = Simulation(model, options, {}).run();
  ASSERT_EQ(result.names, (std::vector<std::string>{"speed", "current", "torque"}));
  EXPECT_EQ(result.units, (std::vector<std::string>{"rpm", "A", "N m"}));
  const DcMotor motor;
  EXPECT_NEAR(result.values[result.values.size() - 3], motor.speed(0.5) * 30 / M_PI, 1e-8);
  const Model thermal = shipped_model("rc-thermal");
  const SimulationResult warm = Simulation(thermal, options_of("tr", 1.0, 0.1), {}).run();
  ASSERT_EQ(warm.units[1], "degC");
  EXPECT_NEAR(warm.values[1], 309.0 - 273.15, 1e-9);
  EXPECT_NEAR(warm.values.back(), 409.0 - 273.15, 1e-9);
}

TEST(Simulation, the_step_is_shortened_to_fit_the_sample_interval) {
  SimulationOptions options = options_of("tr", 1.0, 0.03);
  options.sample = 0.1;
  const TestRun run(shipped_model("rc-thermal"), options, {"n2.T"});
  EXPECT_NEAR(run.result.step, 0.025, 1e-15);
  EXPECT_EQ(run.rows(), 11u);
  EXPECT_EQ(run.result.statistics.steps, 40);
  for (std::size_t k = 0; k < 11; ++k) EXPECT_NEAR(run.result.t[k], 0.1 * static_cast<double>(k), 1e-14);
  EXPECT_NEAR(run.last("n2.T"), 399.0, 1e-9);
}

TEST(Simulation, a_step_that_fits_is_left_alone) {
  SimulationOptions options = options_of("tr", 1.0, 0.1 / 3);
  options.sample = 0.1;
  EXPECT_EQ(TestRun(shipped_model("rc-thermal"), options, {"n2.T"}).result.statistics.steps, 30);
}

TEST(Simulation, the_first_row_is_the_start_and_the_last_is_the_stop) {
  const TestRun run(shipped_model("rc-thermal"), options_of("bdf2", 0.3, 0.1), {"n2.T", "t"});
  ASSERT_EQ(run.rows(), 4u);
  EXPECT_NEAR(run.at(0, "n2.T"), 299.0, 1e-12);
  EXPECT_NEAR(run.at(3, "t"), 0.3, 1e-15);
}

TEST(Simulation, outputs_may_be_any_expression) {
  const TestRun run(shipped_model("rc-thermal"), options_of("tr", 1.0, 0.5), {"2*n1.T - c1.dT + Q0*t"});
  EXPECT_NEAR(run.last("2*n1.T - c1.dT + Q0*t"), 2 * 409 - 399 + 10, 1e-9);
}

TEST(Simulation, without_outputs_of_its_own_a_model_reports_every_variable) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
)toml");
  const SimulationResult result = Simulation(model, options_of("bdf1", 1.0, 1.0), {}).run();
  EXPECT_EQ(result.names, (std::vector<std::string>{"a.v", "e.i", "r.i"}));
  EXPECT_EQ(result.values, (std::vector<double>{5, -0.5, 0.5, 5, -0.5, 0.5}));
}

TEST(Simulation, a_model_without_storage_is_a_sequence_of_operating_points) {
  for (const char* method : {"bdf1", "bdf3", "tr", "exact", "rk4"})
    for (const char* form : {"tableau", "minimal"}) {
      SimulationOptions options = options_of(method, 1.0, 0.25);
      options.form = form;
      const TestRun run(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5*t" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 40 }
)toml",
                        options, {"b.v"});
      EXPECT_LT(run.largest_error("b.v", [](double t) { return 4 * t; }), 1e-14) << method << ", " << form;
    }
}

TEST(Simulation, progress_ends_at_one_and_changes_nothing) {
  const Model model = shipped_model("rlc");
  const SimulationOptions options = options_of("bdf3", 1.0, 2.5e-3);
  const SimulationResult silent = Simulation(model, options, {}).run();
  double last = 0.0;
  const SimulationResult shown = Simulation(model, options, {}).run([&](double f) {
    EXPECT_GT(f, last);
    last = f;
  });
  EXPECT_EQ(last, 1.0);
  ASSERT_EQ(silent.values.size(), shown.values.size());
  for (std::size_t k = 0; k < silent.values.size(); ++k)
    EXPECT_NEAR(silent.values[k], shown.values[k], 1e-12 * (1 + std::abs(silent.values[k])));
}

TEST(Simulation, in_minimal_form_gives_the_same_as_in_tableau_form) {
  for (const char* name : {"ladder-2", "rectifier", "dc-motor"}) {
    const Model model = shipped_model(name);
    SimulationOptions options = options_of("bdf2", 0.1, name[0] == 'r' ? 1e-4 : 1e-3);
    options.tolerance = 1e-9;
    const SimulationResult tableau = Simulation(model, options, {}).run();
    options.form = "minimal";
    const SimulationResult minimal = Simulation(model, options, {}).run();
    EXPECT_NE(minimal.statistics.executor.find("minimal"), std::string::npos);
    ASSERT_EQ(tableau.values.size(), minimal.values.size()) << minimal.failure;
    // The rectifier's load hangs on 1e-14 S where all diodes block: rounding shows in its potential.
    const double tolerance = name[0] == 'r' ? 1e-5 : 1e-10;
    for (std::size_t k = 0; k < tableau.values.size(); ++k)
      EXPECT_NEAR(tableau.values[k], minimal.values[k], tolerance * (1 + std::abs(tableau.values[k])))
          << name;
  }
}

TEST(Simulation, wrong_options_are_all_reported_at_once) {
  const Model model = shipped_model("rc-thermal");
  SimulationOptions options = options_of("bfd3", -1.0, 0.0);
  options.form = "minmal";
  options.tolerance = -1;
  try {
    complete_options(model, options);
    FAIL();
  } catch (const ModelError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("did you mean 'bdf3'"), std::string::npos) << text;
    EXPECT_NE(text.find("did you mean 'minimal'"), std::string::npos) << text;
    EXPECT_NE(text.find("stop must be a positive time"), std::string::npos) << text;
    EXPECT_NE(text.find("tolerance"), std::string::npos) << text;
  }
}

TEST(Simulation, what_is_not_given_comes_from_the_model) {
  const Model model = shipped_model("rectifier");
  SimulationOptions given;
  given.method.clear();
  given.step = 5e-4;
  const SimulationOptions options = complete_options(model, given);
  EXPECT_EQ(options.stop, 1.0);
  EXPECT_EQ(options.step, 5e-4);
  EXPECT_EQ(options.sample, 1e-3);
  EXPECT_EQ(options.method, "bdf3");
}

TEST(Simulation, a_floating_part_is_a_fault_of_topology_not_of_numbers) {
  EXPECT_EQ(fault_codes_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "b", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
s = { kind = "electrical.resistor", p = "x", n = "datum", R = 10 }
)toml",
                           options_of("bdf1", 1.0, 0.1)),
            "T201");
}

TEST(Simulation, the_brief_names_steps_and_executor) {
  const TestRun run(shipped_model("rlc"), options_of("tr", 0.1, 0.01), {"n3.v"});
  EXPECT_NE(run.result.brief().find("10 steps of 0.01 s"), std::string::npos) << run.result.brief();
  EXPECT_NE(run.result.brief().find("whole step, interpreted"), std::string::npos) << run.result.brief();
}

TEST(Simulation, without_a_compiler_everything_is_interpreted) {
  setenv("TELLEGEN_COMPILER", "none", 1);
  SimulationOptions options = options_of("bdf2", 0.1, 0.01);
  options.compile = true;
  const TestRun run(shipped_model("rlc"), options, {"n3.v"});
  unsetenv("TELLEGEN_COMPILER");
  EXPECT_NE(run.result.statistics.executor.find("interpreted"), std::string::npos);
}

// 1e13 rows of two columns would be 160 TB.
TEST(Simulation, rows_that_do_not_fit_into_memory_are_T310) {
  EXPECT_EQ(fault_codes_of(R"toml(
v = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 1 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 1 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1 }
)toml",
                           options_of("adaptive", 1e4, 1e-9)),
            "T310");
}

}  // namespace simulate_test
}  // namespace tellegen
