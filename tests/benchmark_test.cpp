// The circuit benchmarks' errors, without their times: at the paper's steps Tellegen makes the errors that a
// converged implementation makes (computed_circuits.csv, from PROBLEMS.md section 9).
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "benchmarks/cell_sensitivities.h"
#include "benchmarks/circuit.h"
#include "benchmarks/converter.h"
#include "benchmarks/default_run.h"
#include "benchmarks/exported_models.h"
#include "benchmarks/ladder_model.h"
#include "benchmarks/machine_extraction.h"
#include "benchmarks/mechanisms.h"
#include "benchmarks/readers.h"
#include "benchmarks/relaxation.h"
#include "benchmarks/stack.h"
#include "tellegen/model/read.h"
#include "tellegen/simulate/adaptive.h"

namespace tellegen {
namespace {

void expect_within_two_percent(const Both& errors, const Both& expected, const std::string& what) {
  if (!std::isnan(expected.first)) {
    EXPECT_NEAR(errors.first / expected.first, 1, 0.02) << what;
  }
  EXPECT_NEAR(errors.second / expected.second, 1, 0.02) << what;
}

// The start that the computed errors belong to.
SimulationOptions options_of(const Circuit& circuit, const ComputedRow& row) {
  SimulationOptions options = circuit_options(circuit, method_name(row.method), row.h);
  if (row.start == "zero") options.start = "constant";
  if (row.problem == "thermal" && row.start == "trapezoidal") options.start_steps = row.method.back() - '0';
  return options;
}

void expect_computed_errors(const std::string& name) {
  const Circuit circuit = load_circuit(name);
  int compared = 0;
  for (const ComputedRow& row : computed_rows(name)) {
    if (name == "thermal" && row.method == "BDF1" && row.h < 0.01) continue;  // two million steps
    const CircuitRun run = run_circuit(circuit, options_of(circuit, row));
    EXPECT_EQ(run.failure, "");
    expect_within_two_percent(run.errors, row.errors,
                              name + " " + row.method + " " + row.start + " " + std::to_string(row.h));
    ++compared;
  }
  EXPECT_GE(compared, 6) << "computed_circuits.csv has lost its rows";
}

// Some of what `tellegen benchmark export --only models` runs: small models, few steps, this machine.
TEST(benchmark, a_sample_of_models_and_methods_as_c_gives_every_bit) {
  Report report;
  const ExportedModelsCount count = run_exported_models(
      {.models = {"rlc", "ladder-2", "dc-motor", "choke", "rc-thermal", "simple-pendulum", "bench-motor"},
       .steps = 200,
       .sample = 8,
       .seed = 18},
      report);
  EXPECT_FALSE(report.failed());
  EXPECT_EQ(count.differ, 0);
  EXPECT_EQ(count.agree + count.refused, 8);
  EXPECT_GE(count.agree, 5);
}

TEST(benchmark, rlc_makes_the_computed_errors) { expect_computed_errors("rlc"); }
TEST(benchmark, ladder_of_two_makes_the_computed_errors) { expect_computed_errors("ladder_2"); }
TEST(benchmark, rectifier_makes_the_computed_errors) { expect_computed_errors("rectifier"); }
TEST(benchmark, motor_makes_the_computed_errors) { expect_computed_errors("thermal"); }

// Only BDF3: the second-order error that a constant history leaves happens to oppose BDF2's own on the RLC.
TEST(benchmark, bdf3_gains_from_its_trapezoidal_start) {
  for (const char* name : {"rlc", "ladder_2"}) {
    const Circuit circuit = load_circuit(name);
    SimulationOptions options = circuit_options(circuit, "bdf3", 2.5e-4);
    const Both trapezoidal = run_circuit(circuit, options).errors;
    options.start = "constant";
    const Both constant = run_circuit(circuit, options).errors;
    EXPECT_LT(trapezoidal.first, constant.first / 20) << name;
    EXPECT_LT(trapezoidal.second, constant.second / 3) << name;
  }
}

TEST(benchmark, first_branch_of_a_hundred_loops_makes_the_computed_errors) {
  const Circuit circuit = generate_ladder(100);
  for (const ComputedRow& row : computed_rows("ladder_first_branch")) {
    const CircuitRun run = run_circuit(circuit, options_of(circuit, row));
    EXPECT_EQ(run.failure, "");
    expect_within_two_percent(run.errors, row.errors, row.method + " " + std::to_string(row.h));
  }
}

TEST(benchmark, factorising_in_every_step_changes_nothing) {
  const Circuit circuit = generate_ladder(100);
  SimulationOptions options = circuit_options(circuit, "bdf3", 2.5e-3);
  const CircuitRun reused = run_circuit(circuit, options);
  options.refactor = true;
  const CircuitRun refactored = run_circuit(circuit, options);
  EXPECT_LT(rms_difference(reused.first, refactored.first), 1e-10);
  EXPECT_LT(rms_difference(reused.second, refactored.second), 1e-10);
}

TEST(benchmark, generated_ladder_of_two_is_the_worked_model) {
  const Circuit worked = load_circuit("ladder_2"), generated = generate_ladder(2);
  const CircuitRun a = run_circuit(worked, circuit_options(worked, "bdf3", 2.5e-3));
  const CircuitRun b = run_circuit(generated, circuit_options(generated, "bdf3", 2.5e-3));
  EXPECT_LT(rms_difference(a.first, b.first), 1e-13);
  EXPECT_LT(rms_difference(a.second, b.second), 1e-13);
}

TEST(benchmark, every_published_row_has_its_thresholds_and_a_reference) {
  for (const char* name : {"rlc", "ladder_2", "rectifier", "thermal"}) {
    EXPECT_EQ(published_rows(name).size(), 10u) << name;
    EXPECT_GT(thresholds_of(name).samples, 0) << name;
  }
}

void expect_found(const std::optional<Reading>& reading) {
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->found, reading->expected);
  EXPECT_GT(reading->peak_megabytes, 0.0);
}

TEST(benchmark, large_inputs_are_read_whole) {
  expect_found(read_large_model(10'000));
  expect_found(read_large_table(1'000'000));
  expect_found(read_large_trajectory(1'000'000));
  expect_found(read_large_record(1'000'000));
}

// The answers, not the times: with ngspice where it is installed.
TEST(benchmark, the_converter_agrees_with_ngspice) {
  ConverterOptions options;
  options.quick = true;
  EXPECT_TRUE(run_converter(options));
}

TEST(benchmark, default_settings_agree_with_ngspice) {
  DefaultRunOptions options;
  options.quick = true;
  EXPECT_TRUE(run_default_benchmark(options));
}

// One phase of the inverter on coarse meshes, one and two cells across a die: all heat arrives, the film is
// what it is, and halving the cells comes at least twice as near to what cells of 1.2 mm say.
TEST(benchmark, a_coarse_stack_comes_nearer_to_a_fine_one) {
  const StackSteady coarse = stack_steady(6.0), middle = stack_steady(3.0);
  EXPECT_EQ(coarse.cells, 1210);
  for (const StackSteady& s : {coarse, middle}) {
    EXPECT_NEAR(s.to_water, 416.0, 1e-5);
    EXPECT_NEAR(s.R_w * 3 * 1.165e5 * 44e-3 * 38e-3, 1.0, 1e-6);
    EXPECT_GT(s.R_hs, s.R_hs_face);
  }
  const auto rise = [](const StackSteady& s) { return s.T1 - 343.15; };
  const auto below = [](const StackSteady& s) { return s.R_dbc + 3 * s.R_sp; };
  EXPECT_LT(std::abs(rise(middle) - 43.30), std::abs(rise(coarse) - 43.30) / 2);
  EXPECT_LT(std::abs(below(middle) - 43.29e-3), std::abs(below(coarse) - 43.29e-3) / 2);
}

// Both sets solve the same equations: the same steps and answers, with fewer operations by the graph.
TEST(benchmark, equations_of_the_sensitivity_graph_and_direct_ones_integrate_alike) {
  if (!has_adaptive()) GTEST_SKIP();
  const CellComparison c = compare_cell_sets({8.0, 1e-8, 1});
  ASSERT_EQ(c.failure, "");
  ASSERT_EQ(c.rows.size(), 4u);
  for (const CellRow& row : c.rows) {
    EXPECT_EQ(row.run.failure, "") << row.set;
    EXPECT_LT(row.voltage_apart, 1e-6) << row.set;
    EXPECT_LT(row.slope_apart, 1e-6) << row.set;
    EXPECT_GT(row.run.steps, 100) << row.set;
  }
  for (std::size_t k = 0; k < 4; k += 2) {
    EXPECT_NEAR(double(c.rows[k].run.steps), double(c.rows[k + 1].run.steps), 20);
    EXPECT_GT(c.rows[k].cost.multiplications, c.rows[k + 1].cost.multiplications);
  }
}

// Beside Simbody and DART where the build found them, and alone elsewhere.
TEST(benchmark, mechanisms_answer_as_the_programs_beside_them) {
  MechanismsOptions options;
  options.quick = true;
  options.chain = {1, 3, 12};
  options.longest = 12;
  EXPECT_TRUE(run_mechanisms(options));
}

// Few samples: the sizes, both formulations, and bounds below what they bound.
TEST(benchmark, the_published_relaxation_is_solved_and_bounds_what_it_may) {
  RelaxationBenchmarkOptions options;
  options.samples = 40;
  EXPECT_TRUE(run_relaxation_benchmark(options));
}

// Fewer angles and windows: inductances, transient, whose torque is right, least squares and the published
// route.
TEST(benchmark, a_machine_from_its_cross_section_becomes_a_qd0_model) {
  MachineExtractionOptions options;
  options.quick = true;
  EXPECT_TRUE(run_machine_extraction(options));
}

TEST(benchmark, a_mechanism_reads_back_as_it_was_written) {
  for (const MechanismCase& c : mechanism_cases()) {
    std::istringstream in(to_text(c));
    EXPECT_EQ(to_text(read_case(in)), to_text(c)) << c.name;
  }
}

}  // namespace
}  // namespace tellegen
