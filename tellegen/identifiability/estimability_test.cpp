// Bounds and words of [PROBLEMS] the thermal benchmark: Rodriguez et al., IEEE Access 9 (2021); bounds
// computed independently from the closed-form network equations.
#include "tellegen/identifiability/estimability.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/test_text.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace estimability_test {

using How = Knowledge::How;
using Names = std::vector<std::string>;

Model rc_model() {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(TELLEGEN_SOURCE_DIR "/models/rc-thermal/network.toml", options);
}

// Sensors of the inverter: at the copper of phase u, above and below in the heatsink.
const std::vector<int> bench{0, 3, 4};

std::vector<int> parameters_called(const Model& model, const Names& names) {
  std::vector<int> found;
  for (const std::string& name : names)
    for (std::size_t k = 0; k < model.parameters.size(); ++k)
      if (model.parameters[k].name == name) found.push_back(static_cast<int>(k));
  EXPECT_EQ(found.size(), names.size());
  return found;
}

std::vector<int> unknowns_called(Model& model, const Names& names) {
  std::vector<int> found;
  for (int p : parameters_called(model, names)) {
    ModelUnknown unknown;
    unknown.parameter = p;
    found.push_back(static_cast<int>(model.unknowns.size()));
    model.unknowns.push_back(unknown);
  }
  return found;
}

const Names all_of_inverter{"R_die", "R_dbc", "R_sp", "R_hs", "R_w", "C_dbc", "C_hs", "C_w"};

TEST(Estimability, bounds_of_the_rc_benchmark_are_the_published_ones) {
  const Model model = rc_model();
  const Knowledge r = parameter_knowledge(model, planned_record({0, 1, 2}, 0.0, 5.0, 1e-3),
                                          parameters_called(model, {"R1", "R2", "R3"}), 1.0);
  ASSERT_TRUE(r.all_known());
  EXPECT_NEAR(r.deviation[0], 0.00096, 5e-6);
  EXPECT_NEAR(r.deviation[1], 0.00108, 5e-6);
  EXPECT_NEAR(r.deviation[2], 0.00093, 5e-6);
  const Knowledge c = parameter_knowledge(model, planned_record({1, 2}, 0.0, 5.0, 1e-3),
                                          parameters_called(model, {"C1", "C2"}), 1.0);
  EXPECT_NEAR(c.deviation[0], 0.00023, 5e-6);
  EXPECT_NEAR(c.deviation[1], 0.00058, 5e-6);
}

TEST(Estimability, bounds_of_the_inverter_steady_and_transient) {
  const Model model = shipped_model("inverter");
  const auto relative = [](const Knowledge& k, std::size_t at) {
    return 100.0 * k.deviation[at] / k.quantities[at].value;
  };
  const Knowledge steady = parameter_knowledge(model, planned_record(bench, 4.0, 5.0, 1e-3),
                                               parameters_called(model, {"R_dbc", "R_hs", "R_w"}), 1.0);
  EXPECT_NEAR(relative(steady, 0) / 0.176307, 1.0, 3e-4);
  EXPECT_NEAR(relative(steady, 1) / 0.140140, 1.0, 3e-4);
  EXPECT_NEAR(relative(steady, 2) / 0.690237, 1.0, 3e-4);
  const Knowledge all =
      parameter_knowledge(model, planned_record(bench, 0.0, 5.0, 1e-3),
                          parameters_called(model, {"R_dbc", "R_hs", "R_w", "C_dbc", "C_hs", "C_w"}), 1.0);
  ASSERT_TRUE(all.all_known());
  EXPECT_NEAR(relative(all, 0) / 0.082533, 1.0, 3e-4);
  EXPECT_NEAR(relative(all, 1) / 0.072408, 1.0, 3e-4);
  EXPECT_NEAR(relative(all, 2) / 0.374827, 1.0, 3e-4);
  EXPECT_NEAR(relative(all, 3) / 0.649753, 1.0, 3e-4);
  EXPECT_NEAR(relative(all, 4) / 0.412307, 1.0, 3e-4);
  EXPECT_NEAR(relative(all, 5) / 4.597314, 1.0, 3e-4);
}

TEST(Estimability, what_three_sensors_of_the_inverter_do_not_tell_is_said_in_words) {
  const Model model = shipped_model("inverter");
  const EstimabilityReport report =
      what_can_be_known(model, planned_record(bench, 0.0, 5.0, 1e-2),
                        {.parameters = parameters_called(model, all_of_inverter)});
  EXPECT_FALSE(report.all_known);
  EXPECT_EQ(report.sentences(), (Names{"R_dbc and R_sp only as R_dbc + 3 R_sp", "R_die not at all"}));
  EXPECT_NE(report.text().find("R_dbc and R_sp only as R_dbc + 3 R_sp\nR_die not at all\n"),
            std::string::npos)
      << report.text();
}

TEST(Estimability, in_steady_state_capacities_are_hardly_known_and_sums_still_are) {
  const Model model = shipped_model("inverter");
  const Knowledge k = parameter_knowledge(model, planned_record(bench, 4.0, 5.0, 1e-2),
                                          parameters_called(model, all_of_inverter), 1.0);
  EXPECT_EQ(k.how, (std::vector{How::not_at_all, How::together, How::together, How::known, How::known,
                                How::hardly, How::hardly, How::hardly}));
  ASSERT_EQ(k.entangled.size(), 1u);
  EXPECT_EQ(k.entangled[0].known.at(0).text, "R_dbc + 3 R_sp");
}

TEST(Estimability, states_that_enter_alike_are_told_only_as_their_sum_and_fade) {
  const Model model = shipped_model("inverter");
  const StateKnowledge k = state_knowledge(model, planned_record(bench, 0.0, 1.0, 1e-2), {}, 1.0);
  EXPECT_EQ(k.knowledge.sentences(), Names{"c_dbc2.dT and c_dbc3.dT only as c_dbc2.dT + c_dbc3.dT"});
  ASSERT_EQ(k.left.size(), 1u);
  // The difference of the two decays with C_dbc R_dbc = 38.7 ms.
  EXPECT_NEAR(k.left[0], std::exp(-1.0 / (1.27 * 30.47e-3)), 1e-9);
  EXPECT_TRUE(k.rest_fades());
  EXPECT_TRUE(k.unknowns_known());
}

TEST(Estimability, with_the_start_unknown_the_bounds_are_wider) {
  Model model = rc_model();
  const Record record = planned_record({1, 2}, 0.0, 5.0, 1e-2);
  const Knowledge known = parameter_knowledge(model, record, parameters_called(model, {"C1", "C2"}), 1.0);
  const auto unknowns = unknowns_called(model, {"C1", "C2"});
  const StateKnowledge k = state_knowledge(model, record, unknowns, 1.0);
  ASSERT_TRUE(k.knowledge.all_known());
  int found = 0;
  for (std::size_t i = 0; i < k.knowledge.quantities.size(); ++i)
    for (std::size_t j = 0; j < 2; ++j)
      if (k.knowledge.quantities[i].name == known.quantities[j].name) {
        ++found;
        EXPECT_GT(k.knowledge.deviation[i], known.deviation[j]);
        EXPECT_LT(k.knowledge.deviation[i], 5 * known.deviation[j]);
      }
  EXPECT_EQ(found, 2);
}

TEST(Estimability, an_unknown_that_no_sensor_feels_stops_an_estimation) {
  Model model = rc_model();
  const auto unknowns = unknowns_called(model, {"Q0", "R1"});
  // Without a sensor at node 1 nothing depends on R1.
  const EstimabilityReport two = what_can_be_known(model, planned_record({1, 2}, 0.0, 1.0, 1e-2),
                                                   {.states = true, .unknowns = unknowns});
  EXPECT_FALSE(two.all_known);
  EXPECT_EQ(two.sentences(), Names{"R1 not at all"});
  const EstimabilityReport three = what_can_be_known(model, planned_record({0, 1, 2}, 0.0, 1.0, 1e-2),
                                                     {.states = true, .unknowns = unknowns});
  EXPECT_TRUE(three.all_known) << three.text();
}

TEST(Estimability, missing_readings_do_not_count) {
  const Model model = rc_model();
  Record record = planned_record({0, 1, 2}, 0.0, 5.0, 1e-2);
  record.readings.assign(static_cast<std::size_t>(record.steps) * 3, 300.0);
  for (std::int64_t row = 0; row < record.steps; ++row)
    record.readings[static_cast<std::size_t>(row) * 3] = NAN;
  const Knowledge k = parameter_knowledge(model, record, parameters_called(model, {"R1", "R3"}), 1.0);
  EXPECT_EQ(k.how, (std::vector{How::not_at_all, How::known}));
}

TEST(Estimability, a_sensor_without_noise_is_refused) {
  Model model = rc_model();
  model.outputs[0].noise.reset();
  try {
    parameter_knowledge(model, planned_record({0}, 0.0, 1.0, 1e-2), parameters_called(model, {"R1"}), 1.0);
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults().at(0).code, "T598");
  }
}

// Bursts of 5 ms in a record whose usual interval is 2 s: they say what they say at their own times, as on a
// grid of 5 ms where nothing else was read.
TEST(Estimability, irregular_readings_count_at_their_own_times) {
  const Model model = rc_model();
  const auto wanted = parameters_called(model, {"C1", "C2", "R3"});
  Record grid = planned_record({0, 2}, 0.0, 40.0, 5e-3);
  grid.readings.assign(static_cast<std::size_t>(grid.steps) * 2, std::nan(""));
  Record own = grid;
  own.readings.clear();
  own.step = 2.0;
  for (std::int64_t row = 0; row < grid.steps; ++row) {
    if (row % 400 != 0 && row > 40) continue;
    for (std::size_t s : {0u, 1u}) grid.readings[static_cast<std::size_t>(row) * 2 + s] = 300.0;
    own.clock.push_back(grid.time(row));
    own.readings.insert(own.readings.end(), {300.0, 300.0});
  }
  own.steps = static_cast<std::int64_t>(own.clock.size());
  const Knowledge on_grid = parameter_knowledge(model, grid, wanted, 1.0),
                  at_own = parameter_knowledge(model, own, wanted, 1.0);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    EXPECT_NEAR(at_own.deviation[k], on_grid.deviation[k], 0.01 * on_grid.deviation[k]) << k;
}

TEST(Estimability, long_records_are_looked_at_less_often_with_the_same_weight) {
  const ReadingTimes times = reading_times(planned_record({0}, 0.0, 100.0, 1e-3));
  EXPECT_LE(times.steps, 20'001);
  double sum = 0.0;
  for (double w : times.weights) sum += w;
  EXPECT_EQ(sum, 100'001.0);
}

// A body that nothing cools stays where it is, and so does the bias of the only sensor at it.
TEST(SensorBias, beside_a_free_state_cannot_be_known) {
  const Model model =
      read_model_text(R"(
[components]
body = { kind = "thermal.capacitor", p = "a", n = "datum", C = "100 J/K", T0 = "300 K" }
film = { kind = "thermal.resistor", p = "a", n = "b", R = "1 K/W" }
more = { kind = "thermal.capacitor", p = "b", n = "datum", C = "50 J/K", T0 = "310 K" }
[sensors]
A = { measures = "a.T", noise = "0.1 K", bias = {} }
[estimate.states]
"*.T" = { deviation = "5 K" }
)",
                      "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
  const Record record = rows_of(sensors_of(model, {"A"}), 1.0, 100);
  const EstimabilityReport report = what_can_be_known(model, record, {.states = true, .unknowns = {0}});
  EXPECT_FALSE(report.all_known);
  EXPECT_NE(report.text().find("A.bias"), std::string::npos);
}

}  // namespace estimability_test
}  // namespace tellegen
