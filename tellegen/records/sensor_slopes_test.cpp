#include "tellegen/records/sensor_slopes.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tellegen/model/parameters.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace sensor_slopes_test {

SimulationOptions integration_of(const std::string& method) {
  SimulationOptions options;
  options.method = method;
  options.form = options.start = "";
  options.compile = false;
  return options;
}

const std::vector<std::string> resistances_and_capacities{"R1", "R2", "R3", "C1", "C2"};

TEST(SensorSlopes, are_the_differences_of_runs) {
  Model model = twin_model_file("rc-thermal/network.toml");
  const auto wrt = parameters_of(model, resistances_and_capacities);
  const Record record = rows_of(sensors_of(model, {"S1", "S3"}), 0.05, 41);
  const SensorSlopes at = sensor_slopes(model, record, wrt, integration_of(""));
  ASSERT_EQ(at.failure, "");
  ASSERT_EQ(at.slopes.size(), 41u * 2 * 5);
  for (std::size_t p = 0; p < wrt.size(); ++p) {
    const double number = model.parameters[wrt[p]].number, h = 1e-4 * number;
    Model moved = model;
    set_parameters(moved, std::array{wrt[p]}, std::array{number + h});
    const SensorSlopes high = sensor_slopes(moved, record, {}, integration_of("exact"));
    set_parameters(moved, std::array{wrt[p]}, std::array{number - h});
    const SensorSlopes low = sensor_slopes(moved, record, {}, integration_of("exact"));
    for (std::int64_t row = 0; row < 41; ++row)
      for (std::size_t s = 0; s < 2; ++s) {
        const double difference = (high.values[row * 2 + s] - low.values[row * 2 + s]) / (2 * h);
        EXPECT_NEAR(at.slope(row, s, p) * number, difference * number, 2e-3) << row << " " << s << " " << p;
      }
  }
}

// The default falsifies no reading by what the record could tell, however far apart its rows are.
TEST(SensorSlopes, steps_follow_the_record) {
  const Model model = twin_model_file("rc-thermal/network.toml");
  for (const auto& [step, rows] : {std::pair(1e-3, 501), std::pair(0.1, 51), std::pair(5.0, 21)}) {
    const Record record = rows_of(sensors_of(model, {"S1", "S2", "S3"}), step, rows);
    const SensorSlopes exact = sensor_slopes(model, record, {}, integration_of("exact"));
    SensorRun run(model, record, parameters_of(model, {"C1", "C2"}), integration_of(""));
    const SensorSlopes got = run.at(std::array{0.1, 0.2});
    ASSERT_EQ(got.failure, "");
    for (std::size_t k = 0; k < got.values.size(); ++k)
      ASSERT_NEAR(got.values[k], exact.values[k], 0.01 * 0.5 / std::sqrt(rows)) << step << " " << k;
  }
}

// Rows 0.1 ms to seconds apart, as a battery cycler writes them; a held input that jumps at one of them.
TEST(SensorSlopes, irregular_rows_are_run_at_their_own_times) {
  Model model = twin_model_file("rc-thermal/network.toml");
  const auto wrt = parameters_of(model, {"R1", "C1"});
  Record regular = rows_of(sensors_of(model, {"S1", "S3"}), 1e-4, 20001), irregular = regular;
  std::vector<std::int64_t> ticks{0, 130, 131, 135, 1500, 1501, 9000, 9400, 20000};
  irregular.clock.clear();
  for (std::int64_t tick : ticks) irregular.clock.push_back(regular.time(tick));
  irregular.steps = static_cast<std::int64_t>(ticks.size());
  irregular.step = 0.04;
  const SensorSlopes exact = sensor_slopes(model, regular, wrt, integration_of("exact"));
  const SensorSlopes got = sensor_slopes(model, irregular, wrt, integration_of(""));
  ASSERT_EQ(got.failure, "");
  ASSERT_EQ(got.steps, irregular.steps);
  for (std::size_t k = 0; k < ticks.size(); ++k)
    for (std::size_t s = 0; s < 2; ++s) {
      const std::size_t at = static_cast<std::size_t>(ticks[k]) * 2 + s;
      EXPECT_NEAR(got.values[k * 2 + s], exact.values[at], 2e-3) << ticks[k];
      for (std::size_t p = 0; p < 2; ++p) {
        const double number = model.parameters[wrt[p]].number;
        EXPECT_NEAR(number * got.slope(static_cast<std::int64_t>(k), s, p),
                    number * exact.slope(ticks[k], s, p), 2e-3)
            << ticks[k];
      }
    }
}

TEST(SensorSlopes, a_record_that_begins_later_still_runs_from_zero) {
  const Model model = twin_model_file("rc-thermal/network.toml");
  Record whole = rows_of(sensors_of(model, {"S2"}), 0.01, 101), late = whole;
  late.start = 0.5;
  late.steps = 51;
  const SensorSlopes all = sensor_slopes(model, whole, {}, integration_of("exact"));
  const SensorSlopes end = sensor_slopes(model, late, {}, integration_of("exact"));
  ASSERT_EQ(end.values.size(), 51u);
  for (std::size_t k = 0; k < 51; ++k) EXPECT_NEAR(end.values[k], all.values[50 + k], 1e-11);
  late.start = 0.505;
  EXPECT_THROW(sensor_slopes(model, late, {}, integration_of("exact")), ModelError);
}

TEST(SensorSlopes, numbers_that_cannot_be_are_told) {
  const Model model = twin_model_file("rc-thermal/network.toml");
  SensorRun run(model, rows_of(sensors_of(model, {"S2"}), 0.1, 11), parameters_of(model, {"C1"}),
                integration_of(""));
  EXPECT_NE(run.at(std::array{-1.0}).failure, "");
  EXPECT_EQ(run.at(std::array{0.1}).failure, "");
}

// A parameter that the record gives over time: the same as an input of the model.
TEST(WithInputs, a_parameter_follows_its_column) {
  const Model model = twin_model_file("rc-thermal/network.toml");
  Record record = rows_of(sensors_of(model, {"S2", "S3"}), 1e-3, 1001);
  const Model sine = twin_model_file("rc-thermal/network-sine.toml");
  const SensorSlopes expected = sensor_slopes(sine, record, {}, integration_of("exact"));
  record.inputs = {"Q0"};
  for (std::int64_t row = 0; row < record.steps; ++row)
    record.given.push_back(10.0 * (1.0 + std::sin(10.0 * std::numbers::pi * record.time(row))));
  for (const char* method : {"exact", "bdf3"}) {
    const SensorSlopes got =
        sensor_slopes(model, record, parameters_of(model, {"C1"}), integration_of(method));
    ASSERT_EQ(got.failure, "");
    for (std::size_t k = 0; k < got.values.size(); ++k)
      ASSERT_NEAR(got.values[k], expected.values[k], 2e-3) << method << " " << k;
  }
}

// T_0 is T_w at the start: a water temperature that changes later leaves the start as it was.
TEST(WithInputs, starts_take_what_the_record_begins_with) {
  const Model model = shipped_model("inverter");
  Record record = rows_of(sensors_of(model, {"S_w"}), 0.05, 41);
  record.inputs = {"T_w"};
  for (std::int64_t row = 0; row < record.steps; ++row)
    record.given.push_back(320.0 + 2.0 * record.time(row));
  const SensorSlopes got = sensor_slopes(model, record, {}, integration_of("exact"));
  ASSERT_EQ(got.failure, "");
  EXPECT_NEAR(got.values.front(), 320.0, 1e-9);
  EXPECT_GT(got.values.back(), 325.0);
}

}  // namespace sensor_slopes_test
}  // namespace tellegen
