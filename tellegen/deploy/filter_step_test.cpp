// Estimators as steps for hardware: the covariance in factors, and the same in fixed point.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/deploy/filter_step.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/model/reading.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace filter_step_test {

// A record of the model itself, in which every seventh reading is missing, and what a twin makes of it.
struct FollowedRecord {
  FollowedRecord(const std::string& file, const std::string& estimator, std::vector<std::string> sensors,
                 std::int64_t rows, double gate = 0.0)
      : model(twin_model_file(file)), record(rows_of(sensors_of(model, sensors), 1e-3, rows)) {
    if (gate > 0.0) model.estimation.gate = gate;
    record.inputs = model.estimation.inputs;
    for (std::int64_t k = 0; k < rows; ++k)
      for (std::size_t i = 0; i < record.inputs.size(); ++i) record.given.push_back(343.15);
    Record noisy = record;
    noisy.inputs.clear(), noisy.given.clear();
    read_with_noise(model, noisy, 3);
    record.readings = noisy.readings;
    for (std::size_t k = 5; k < record.readings.size(); k += 7)
      record.readings[k] = std::numeric_limits<double>::quiet_NaN();
    if (gate > 0.0)  // two that cannot be
      for (const std::size_t k : {30, 91}) record.readings[k] += 40.0;
    options = {.name = "m",
               .estimator = estimator,
               .step = 1e-3,
               .sensors = record.sensors,
               .inputs = record.inputs};
    FollowOptions follow;
    follow.sensors = record.sensors;
    follow.inputs = record.inputs;
    follow.step = 1e-3;
    follow.estimator = estimator;
    follow.compile = false;
    twin = std::make_unique<Twin>(model, follow);
    const std::size_t width = sensors.size(), inputs = record.inputs.size();
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto n = static_cast<std::size_t>(row);
      twin->push(record.time(row), std::span(record.readings).subspan(n * width, width),
                 std::span(record.given).subspan(n * inputs, inputs));
      const Twin::Quantities& q = twin->quantities();
      mean.emplace_back(q.mean), deviation.emplace_back(q.deviation);
    }
  }
  // Names of all estimates and of their deviations.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const EstimatedQuantity& q : twin->described()) result.push_back(q.name);
    const std::size_t count = result.size();
    for (std::size_t k = 0; k < count; ++k) result.push_back(result[k] + "_sd");
    return result;
  }
  Model model;
  Record record;
  FilterExportOptions options;
  std::unique_ptr<Twin> twin;
  std::vector<Vector> mean, deviation;
};

void expect_the_same_as_the_twin(const FollowedRecord& f, double tolerance) {
  const FilterStep row = filter_step(f.model, f.options, f.record, f.names());
  ASSERT_EQ(row.step.refused, "");
  ASSERT_EQ(row.scenario.refused, "");
  const std::size_t count = f.twin->described().size();
  ASSERT_EQ(row.scenario.output_width, 2 * count);
  for (std::size_t n = 0; n < f.mean.size(); ++n)
    for (std::size_t k = 0; k < count; ++k) {
      const auto i = static_cast<long>(k);
      const double* out = row.scenario.outputs.data() + n * 2 * count;
      ASSERT_NEAR(out[k], f.mean[n][i], tolerance * (1.0 + std::abs(f.mean[n][i])))
          << f.twin->described()[k].name << ", row " << n;
      ASSERT_NEAR(out[count + k], f.deviation[n][i], tolerance * (1.0 + f.deviation[n][i]))
          << f.twin->described()[k].name << ", row " << n;
    }
}

TEST(FilterStep, covariance_in_factors_gives_the_estimates_of_the_twin) {
  for (const char* estimator : {"kf", "steady"})
    expect_the_same_as_the_twin({"inverter/model.toml", estimator, {"S1", "S2", "S3"}, 300}, 1e-9);
}

TEST(FilterStep, a_nonlinear_model_is_halved_as_often_as_in_the_record) {
  for (const char* estimator : {"ekf", "pkf"})
    expect_the_same_as_the_twin({"rc-thermal/network.toml", estimator, {"S1", "S2", "S3"}, 300}, 1e-7);
}

TEST(FilterStep, the_gate_refuses_what_the_twin_refuses) {
  const FollowedRecord f("inverter/model.toml", "kf", {"S1", "S2", "S3"}, 200, 0.999);
  expect_the_same_as_the_twin(f, 1e-9);
}

TEST(FilterStep, a_missing_reading_changes_nothing_in_fixed_point) {
  FollowedRecord f("inverter/model.toml", "kf", {"S1", "S2", "S3"}, 200);
  const FilterStep row = filter_step(f.model, f.options, f.record, {"T1", "T1_sd"});
  const FixedStep fixed = make_fixed(make_formulas(row.step), row.step, row.scenario, {.bits = 27});
  FixedMachine one(fixed, row.step), other(fixed, row.step);
  std::vector<std::int64_t> given(fixed.given.size());
  for (std::int64_t n = 0; n < 200; ++n) {
    const double* values = row.scenario.given.data() + static_cast<std::size_t>(n) * row.scenario.given_width;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const FixedOp& op = fixed.ops[fixed.given[k].op];
      given[k] = to_raw(values[op.leaf], fixed.given[k], op, fixed.bits);
    }
    one.step(given.data());
    // What stands in the word of a reading that is not there does not matter.
    for (std::size_t s = 0; s < 3; ++s)
      for (std::size_t k = 0; k < given.size(); ++k)
        if (row.step.given[fixed.ops[fixed.given[k].op].leaf] == row.step.external[2 * s] &&
            std::isnan(f.record.reading(n, s)))
          given[k] = 12345;
    other.step(given.data());
    for (std::size_t k = 0; k < fixed.states.size(); ++k) ASSERT_EQ(one.state(k), other.state(k)) << n;
  }
}

TEST(FilterStep, variances_in_fixed_point_are_never_negative) {
  FollowedRecord f("inverter/model.toml", "kf", {"S1", "S2", "S3"}, 1000);
  const FilterStep row = filter_step(f.model, f.options, f.record, {"T1", "Q_u_sd"});
  const FixedStep fixed = make_fixed(make_formulas(row.step), row.step, row.scenario, {.bits = 20});
  FixedMachine machine(fixed, row.step);
  std::vector<std::int64_t> given(fixed.given.size());
  std::vector<std::size_t> variances;  // states that begin at squares of deviations
  for (std::size_t k = 0; k < fixed.states.size(); ++k)
    for (const double square : {1.0, 4e4})
      if (row.step.states[k].start == square) variances.push_back(k);
  ASSERT_GE(variances.size(), 8u);
  for (std::int64_t n = 0; n < 1000; ++n) {
    const double* values = row.scenario.given.data() + static_cast<std::size_t>(n) * row.scenario.given_width;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const FixedOp& op = fixed.ops[fixed.given[k].op];
      given[k] = to_raw(values[op.leaf], fixed.given[k], op, fixed.bits);
    }
    machine.step(given.data());
    for (const std::size_t k : variances) ASSERT_GE(machine.state(k), 0) << n;
  }
}

// Case 2 of the inverter, its losses unknown to the filter: junctions that no sensor reads.
TEST(FilterStep, junctions_of_the_inverter_within_a_hundredth_of_the_error_of_double) {
  const Model truth = twin_model_file("inverter/case2.toml");
  const Model model = twin_model_file("inverter/model.toml");
  constexpr std::int64_t rows = 2000;
  const std::vector<std::string> junctions{"T1", "T3", "T5"};
  Record record = rows_of(sensors_of(truth, {"S1", "S2", "S3"}), 1e-3, rows);
  read_with_noise(truth, record, 5);
  record.sensors = sensors_of(model, {"S1", "S2", "S3"});
  record.inputs = {"T_w"};
  record.given.assign(rows, 343.15);
  const EquationSystem system = build_system(truth);
  SimulationOptions options = as_the_model_says();
  options.stop = 1e-3 * static_cast<double>(rows - 1);
  options.compile = false;
  std::vector<OutputColumn> outputs;
  for (const std::string& name : junctions) outputs.push_back({name, "K", parse_value(truth, name, {})});
  const SimulationResult run = Simulation(system, complete_options(truth, options), outputs).run();
  const FilterStep row = filter_step(
      model,
      {.name = "m", .estimator = "kf", .step = 1e-3, .sensors = record.sensors, .inputs = record.inputs},
      record, junctions);
  const FixedStep fixed = make_fixed(make_formulas(row.step), row.step, row.scenario, {.bits = 27});
  FixedMachine machine(fixed, row.step);
  std::vector<std::int64_t> given(fixed.given.size());
  std::vector<double> in_double(3, 0.0), in_fixed(3, 0.0);
  for (std::size_t n = 0; n < static_cast<std::size_t>(rows); ++n) {
    for (std::size_t k = 0; k < given.size(); ++k) {
      const FixedOp& op = fixed.ops[fixed.given[k].op];
      given[k] = to_raw(row.scenario.given[n * row.scenario.given_width + static_cast<std::size_t>(op.leaf)],
                        fixed.given[k], op, fixed.bits);
    }
    machine.step(given.data());
    for (std::size_t k = 0; k < 3; ++k) {
      const double actual = run.values[3 * n + k];
      in_double[k] += std::pow(row.scenario.outputs[3 * n + k] - actual, 2);
      in_fixed[k] += std::pow(machine.output(k) - actual, 2);
    }
  }
  EXPECT_EQ(machine.overflows(), 0);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_LT(std::sqrt(in_double[k] / rows), 0.5) << junctions[k];  // less than a sensor's noise
    EXPECT_NEAR(std::sqrt(in_fixed[k] / in_double[k]), 1.0, 0.01) << junctions[k];
  }
}

TEST(FilterStep, names_what_is_no_estimate) {
  FollowedRecord f("inverter/model.toml", "kf", {"S1"}, 2);
  EXPECT_THROW(filter_step(f.model, f.options, f.record, {"T77"}), ModelError);
}

}  // namespace filter_step_test
}  // namespace tellegen
