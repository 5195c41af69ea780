// Sensors that fail: a few records of `tellegen benchmark sensor-faults`, and the program on absurd data.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "benchmarks/sensor_faults.h"
#include "benchmarks/twin.h"
#include "tellegen/estimate/sensor_faults.h"
#include "tests/program.h"

namespace tellegen {
namespace {

const std::string file = TELLEGEN_SOURCE_DIR "/models/motor-faults/model.toml";

TEST(SensorFaults, the_winding_sensor_is_named_within_a_minute_and_the_rotor_stays_in_its_band) {
  const Model model = benchmark_model("motor-faults/model.toml");
  for (const FaultCase& fault : fault_cases()) {
    const FaultScore score = score_fault(model, fault, 2, false);
    EXPECT_EQ(score.named, 2) << fault.name;
    EXPECT_EQ(score.named_whole, 2) << fault.name;
    // The rotor's error changes over many minutes: two records of 95 % on average.
    EXPECT_GT(score.covered, 0.8 * score.rows) << fault.name;
    EXPECT_LE(score.delay, 5.0) << fault.name;
  }
}

TEST(SensorFaults, clean_data_are_left_alone) {
  const CleanScore score = score_clean(benchmark_model("motor-faults/model.toml"), 2, false);
  EXPECT_EQ(score.alarms, 0);
  EXPECT_GT(score.covered, 0.85 * score.rows);
}

// Columns as a logger would have them by mistake.
class AbsurdData : public testing::Test {
 protected:
  AbsurdData() : model_(benchmark_model("motor-faults/model.toml")) {
    record_ = motor_record(model_, 77, 900).record;
  }
  std::string judged() {
    EstimateOptions options;
    options.compile = false;
    std::string all;
    for (const std::string& line : complaints(judged_estimate(model_, record_, options))) all += line + "\n";
    return all;
  }
  Model model_;
  Record record_;
};

TEST_F(AbsurdData, is_not_seen_where_there_is_none) { EXPECT_EQ(judged(), ""); }

TEST_F(AbsurdData, degrees_fahrenheit_read_as_celsius) {
  for (std::size_t k = 0; k < record_.readings.size(); k += 2)
    record_.readings[k] = (record_.readings[k] - 273.15) * 1.8 + 32.0 + 273.15;
  EXPECT_NE(judged().find("'T_w' is in degF, and was read as degC"), std::string::npos) << judged();
}

TEST_F(AbsurdData, kilowatts_read_as_watts) {
  for (std::size_t k = 0; k < record_.given.size(); k += 3) record_.given[k] *= 1e-3;
  EXPECT_NE(judged().find("'P_w' is in kW, and was read as W"), std::string::npos) << judged();
}

TEST_F(AbsurdData, sensors_exchanged) {
  for (std::size_t k = 0; k < record_.readings.size(); k += 2)
    std::swap(record_.readings[k], record_.readings[k + 1]);
  EXPECT_NE(judged().find("'T_w' and 'T_h' are exchanged"), std::string::npos) << judged();
}

// As a user meets it: exit code 1, the fault before the results, and 0 with --anyway.
TEST_F(AbsurdData, a_faulty_sensor_ends_the_command_with_one) {
  spoil(record_, {"offset", SensorFault::Kind::offset, 5.0}, 500);
  const auto data = std::filesystem::temp_directory_path() / "tellegen_sensor_faults.csv";
  write_record(data, model_, record_);
  const Ran ran = run_program({"estimate", file, "--data", data.string(), "--interpret"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_LT(ran.out.find("sensor 'T_w' has an offset of +"), ran.out.find("estimated")) << ran.out;
  EXPECT_NE(ran.err.find("a sensor is faulty"), std::string::npos) << ran.err;
  EXPECT_EQ(run_program({"estimate", file, "--data", data.string(), "--interpret", "--anyway"}).code, 0);
  std::filesystem::remove(data);
}

}  // namespace
}  // namespace tellegen
