// Biases of sensors as unknowns, readings that are stuck, mistakes in columns.
#include "tellegen/estimate/sensor_faults.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/estimate/suspicion.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace sensor_faults_test {

// A body that warms and cools through a known resistance; two sensors at it.
Model two_sensors(const std::string& more) {
  return read_model_text(R"toml(
[components]
heat = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "20*(1 + sin(t/50))" }
mass = { kind = "thermal.capacitor", p = "body_", n = "datum", C = "100 J/K", T0 = "300 K" }
join = { kind = "thermal.resistor", p = "body", n = "body_", R = "1 mK/W" }
film = { kind = "thermal.resistor", p = "body_", n = "air", R = "1 K/W" }
room = { kind = "thermal.fixed_temperature", p = "air", T = "300 K" }
[sensors]
A = { measures = "body_.T", noise = "0.1 K" }
B = { measures = "body_.T", noise = "0.1 K", bias = { deviation = "5 K" } }
)toml" + more,
                         "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

const std::string drifting = "[estimate.states]\n\"*.T\" = { deviation = \"5 K\", noise = \"50 mK\" }\n";

TEST(SensorBias, is_a_parameter_that_is_zero_and_an_unknown) {
  const Model model = two_sensors("");
  ASSERT_EQ(model.unknowns.size(), 1u);
  const ModelParameter& p = model.parameters[model.unknowns[0].parameter];
  EXPECT_EQ(p.name, "B.bias");
  EXPECT_EQ(p.number, 0.0);
  EXPECT_EQ(p.unit, "K");
  EXPECT_EQ(*model.unknowns[0].deviation, 5.0);
}

TEST(SensorBias, is_found_beside_a_sensor_without_one) {
  const Model model = two_sensors(drifting);
  Record record = rows_of(sensors_of(model, {"A", "B"}), 1.0, 400);
  read_with_noise(model, record, 3);
  for (std::size_t k = 1; k < record.readings.size(); k += 2) record.readings[k] += 2.0;
  EstimateOptions options;
  options.compile = false;
  const Estimate e = judged_estimate(model, record, options);
  EXPECT_TRUE(complaints(e).empty()) << complaints(e).front();
  for (std::size_t q = 0; q < e.quantities.size(); ++q)
    if (e.quantities[q].name == "B.bias") {
      const std::size_t at = (e.t.size() - 1) * e.quantities.size() + q;
      EXPECT_NEAR(e.mean[at], 2.0, 4.0 * e.deviation[at]);
      EXPECT_LT(e.deviation[at], 0.03);  // 0.1 K sqrt(2/400) = 0.007 K and a little
    }
}

TEST(RemoveStuck, readings_go_from_the_moment_they_froze) {
  const Model model = two_sensors(drifting);
  Record record = rows_of(sensors_of(model, {"A", "B"}), 1.0, 400);
  read_with_noise(model, record, 4);
  for (std::size_t row = 201; row <= 250; ++row) record.readings[2 * row] = record.readings[2 * 200];
  const auto faults = remove_stuck(model, record);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].name, "A");
  EXPECT_EQ(faults[0].onset, 201.0);
  EXPECT_EQ(faults[0].end, 250.0);
  EXPECT_FALSE(std::isnan(record.readings[2 * 200]));
  EXPECT_TRUE(std::isnan(record.readings[2 * 201]));
  EXPECT_FALSE(std::isnan(record.readings[2 * 251]));
}

TEST(RemoveStuck, few_digits_are_not_stuck) {
  const Model model = two_sensors(drifting);
  Record record = rows_of(sensors_of(model, {"A", "B"}), 1.0, 4000);
  read_with_noise(model, record, 5);
  for (double& v : record.readings) v = 0.2 * std::round(v / 0.2);  // twice the noise
  EXPECT_TRUE(remove_stuck(model, record).empty());
}

// The readings of A go where the input is: a row without one must not leave a hole there.
TEST(Suspicions, an_input_is_whole_when_exchanged_with_a_sensor_that_misses_readings) {
  const Model model = two_sensors("[inputs]\namb = { value = \"300 K\", unit = \"K\" }\n");
  const double none = std::nan("");
  Record record = rows_of(sensors_of(model, {"A"}), 1.0, 5);
  record.inputs = {"amb"};
  record.readings = {none, 310.0, none, 314.0, none};
  record.given = {301.0, 302.0, 303.0, 304.0, 305.0};
  for (const RecordMistake& mistake : possible_mistakes(model, record)) {
    if (mistake.text != "'A' and 'amb' are exchanged") continue;
    mistake.undo(record);
    EXPECT_EQ(record.given, (std::vector<double>{310.0, 310.0, 312.0, 314.0, 314.0}));
    EXPECT_EQ(record.readings[1], 302.0);
    EXPECT_TRUE(std::isnan(record.readings[2]));
    return;
  }
  FAIL() << "not among the mistakes";
}

TEST(FilterThatCorrectsNothing, says_so_and_suspects_no_sensor) {
  Model model = two_sensors("");
  Record record = rows_of(sensors_of(model, {"A"}), 1.0, 400);
  read_with_noise(model, record, 3);
  for (double& reading : record.readings) reading += 5.0;  // as with a wrong parameter
  model.estimation.unknowns.clear();
  EstimateOptions options;
  options.compile = false;
  const Estimate e = judged_estimate(model, record, options);
  EXPECT_TRUE(e.faults.empty());
  ASSERT_FALSE(complaints(e).empty());
  EXPECT_NE(complaints(e).front().find("the filter corrects nothing"), std::string::npos);
}

TEST(Suspicions, name_the_mistake_that_is_undone) {
  const Model model = two_sensors("");
  Record record = rows_of(sensors_of(model, {"A", "B"}), 1.0, 3);
  record.readings = {300.0, 300.0, 301.0, 301.0, 302.0, 302.0};
  const Record right = record;
  for (std::size_t k = 0; k < 6; k += 2) record.readings[k] -= 273.15;  // degC read as K
  const auto quality = [&](const Record& r) {
    double sum = 0.0;
    for (std::size_t k = 0; k < 6; ++k) sum += std::pow(r.readings[k] - right.readings[k], 2);
    return sum / 6.0;
  };
  const auto found = suspicions(model, record, quality(record), quality);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "'A' is in degC, and was read as K");
}

}  // namespace sensor_faults_test
}  // namespace tellegen
