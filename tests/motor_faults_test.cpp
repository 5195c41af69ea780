// Sensors that fail: a few records of `tellegen benchmark sensor-faults`, and the program on absurd data.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "benchmarks/sensor_faults.h"
#include "benchmarks/twin.h"
#include "tellegen/estimate/sensor_faults.h"
#include "tests/program.h"

namespace tellegen {
namespace {

const std::string file = TELLEGEN_SOURCE_DIR "/models/motor-faults/model.toml";

TEST(SensorFaults, the_winding_sensor_is_named_within_a_minute_and_the_rotor_stays_in_its_band) {
  const Model model = benchmark_model("motor-faults/model.toml");
  constexpr int records = 4;  // the benchmark has 200
  for (const FaultCase& fault : fault_cases()) {
    const FaultScore score = score_fault(model, fault, records, false);
    EXPECT_EQ(score.named, records) << fault.name;
    EXPECT_EQ(score.named_whole, records) << fault.name;
    EXPECT_EQ(score.kind_named, records) << fault.name;
    EXPECT_GT(score.covered, 0.9 * score.rows) << fault.name;
    EXPECT_LE(score.delay, 5.0) << fault.name;
  }
}

TEST(SensorFaults, clean_data_are_left_alone) {
  const CleanScore score = score_clean(benchmark_model("motor-faults/model.toml"), 8, false);
  EXPECT_EQ(score.alarms, 0);
  EXPECT_NEAR(score.covered / score.rows, 0.95, 0.02);
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

// Columns of a file, changed number by number; the header stays as it was.
using Change = std::function<void(std::map<std::string, double>&)>;
std::string with_columns(const std::string& csv, const Change& change) {
  std::istringstream lines(csv);
  std::string line, cell, result;
  std::vector<std::string> names;
  for (bool head = true; std::getline(lines, line); head = false) {
    std::istringstream cells(line);
    std::map<std::string, double> row;
    for (std::size_t k = 0; std::getline(cells, cell, ','); ++k)
      if (head)
        names.push_back(cell.substr(0, cell.find(' ')));
      else
        row[names.at(k)] = std::stod(cell);
    if (!head) {
      change(row);
      line.clear();
      for (const std::string& name : names) line += (line.empty() ? "" : ",") + fmt::format("{}", row[name]);
    }
    result += line + "\n";
  }
  return result;
}

struct Absurd {
  const char *name, *reason;
  Change change;
};

const std::vector<Absurd> absurd{
    {"fahrenheit", "likely reason: 'T_w' is in degF, and was read as degC",
     [](auto& row) { row["T_w"] = 1.8 * row["T_w"] + 32.0; }},
    {"kilowatts", "likely reason: 'P_w' is in kW, and was read as W", [](auto& row) { row["P_w"] *= 1e-3; }},
    {"exchanged", "likely reason: 'T_w' and 'T_h' are exchanged",
     [](auto& row) { std::swap(row["T_w"], row["T_h"]); }},
};

// Both commands on a record as it is, and as a logger set up wrongly would have written it.
void expect_reasons(const std::vector<std::string>& command, const std::string& csv) {
  const TestFolder folder;
  const std::string data = (folder / "data.csv").string();
  std::vector<std::string> arguments = command;
  arguments.insert(arguments.end(), {"--data", data, "--interpret"});
  put(data, csv);
  const Ran right = run_program(arguments);
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_EQ((right.out + right.err).find("likely reason"), std::string::npos) << right.out << right.err;
  for (const Absurd& mistake : absurd) {
    put(data, with_columns(csv, mistake.change));
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 1) << command[0] << ", " << mistake.name;
    EXPECT_NE(ran.err.find(mistake.reason), std::string::npos) << command[0] << ", " << mistake.name << "\n"
                                                               << ran.err;
    const auto others = ran.err.find("likely reason");
    EXPECT_EQ(others, ran.err.find(mistake.reason)) << "another one comes first\n" << ran.err;
  }
}

TEST(AbsurdRecords, end_estimate_with_one_and_the_likely_reason) {
  const TestFolder folder;
  const Model model = benchmark_model("motor-faults/model.toml");
  write_record(folder / "right.csv", model, motor_record(model, 77, 900).record);
  expect_reasons({"estimate", file}, get(folder / "right.csv"));
}

TEST(AbsurdRecords, end_calibrate_with_one_and_the_likely_reason) {
  const TestFolder folder;
  const std::string model = (folder / "model.toml").string();
  put(model, get(file) + R"toml(
[unknowns]
R_wh = { start = "0.2 K/W", between = ["0.02 K/W", "2 K/W"] }
R_ha = { start = "0.1 K/W", between = ["0.02 K/W", "2 K/W"] }
C_w  = { start = "300 J/K", between = ["50 J/K", "5 kJ/K"] }
)toml");
  const Ran made = run_program({"synthesize", model, "--seed", "5", "--stop", "900 s", "--sample", "3 s",
                                "--interpret", "--output", (folder / "right.csv").string()});
  ASSERT_EQ(made.code, 0) << made.err;
  expect_reasons({"calibrate", model}, get(folder / "right.csv"));
}

}  // namespace
}  // namespace tellegen
