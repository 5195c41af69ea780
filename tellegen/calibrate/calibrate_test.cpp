#include "tellegen/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/calibrate/levenberg.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace calibrate_test {

using Start = std::pair<std::string, double>;

CalibrationOptions interpreted() {
  CalibrationOptions options = calibration_options();
  options.integration.compile = false;
  return options;
}

// Unknowns with their starts; the model keeps its own numbers, which are the truth.
std::vector<int> unknowns_from(Model& model, const std::vector<Start>& starts) {
  std::vector<int> found;
  for (const auto& [name, start] : starts) {
    found.push_back(unknowns_named(model, {name}).front());
    model.unknowns[found.back()].start = start;
  }
  return found;
}

Record record_of(const Model& model, const std::vector<std::string>& sensors, double step, std::int64_t rows,
                 std::uint64_t seed) {
  Record record = rows_of(sensors_of(model, sensors), step, rows);
  read_with_noise(model, record, seed);
  return record;
}

// Every number within four of its standard deviations.
void expect_found(const StageResult& stage, const Model& truth) {
  for (const CalibratedParameter& p : stage.parameters) {
    const ModelParameter& parameter = truth.parameters[p.parameter];
    EXPECT_GT(p.deviation, 0.0) << parameter.name;
    EXPECT_NEAR(p.after, parameter.number, 4.0 * p.deviation) << parameter.name;
  }
}

// 1000 rows every 5 ms in place of 5000: the published bounds grow by the root of 5.
TEST(Calibrate, capacities_from_ten_and_fifty_times_as_much_reach_the_bound) {
  Model model = twin_model_file("rc-thermal/network.toml");
  const Record record = record_of(model, {"S2", "S3"}, 5e-3, 1001, 1);
  const auto unknowns = unknowns_from(model, {{"C1", 1.0}, {"C2", 10.0}});
  const CalibrationResult result = calibrate(model, record, {{unknowns, {}, {}, {}, {}}}, interpreted());
  const StageResult& stage = result.stages.front();
  EXPECT_EQ(stage.failure, "");
  expect_found(stage, model);
  EXPECT_NEAR(stage.parameters[0].deviation, 0.00023 * std::sqrt(5.0), 0.00002);
  EXPECT_NEAR(stage.parameters[1].deviation, 0.00058 * std::sqrt(5.0), 0.00005);
  EXPECT_NEAR(stage.chi_square, 1.0, 0.15);
  EXPECT_EQ(stage.misfit, "");
  EXPECT_EQ(stage.inflation, 1.0);
  EXPECT_EQ(stage.parameters[0].coordinate, ModelUnknown::Coordinate::inverse);
  EXPECT_DOUBLE_EQ(result.model.parameters[stage.parameters[0].parameter].number, stage.parameters[0].after);
  // The path goes down from the start to the end.
  const auto& path = stage.found().path;
  ASSERT_GT(path.size(), 3u);
  EXPECT_NEAR(path.front().numbers[1], 10.0, 1e-12);
  for (std::size_t k = 1; k < path.size(); ++k) EXPECT_LT(path[k].cost, path[k - 1].cost);
}

TEST(Calibrate, missing_readings_count_nothing) {
  Model model = twin_model_file("rc-thermal/network.toml");
  Record record = record_of(model, {"S1", "S2", "S3"}, 0.02, 251, 2);
  const auto unknowns = unknowns_from(model, {{"R1", 10.0}, {"R2", 10.0}, {"R3", 10.0}});
  const std::vector<CalibrationStage> stages{{unknowns, {}, {}, {}, {}}};
  const StageResult all = calibrate(model, record, stages, interpreted()).stages.front();
  EXPECT_EQ(all.failure, "");
  expect_found(all, model);
  for (std::size_t k = 0; k < record.readings.size(); ++k)
    if (k % 4 != 0) record.readings[k] = std::nan("");
  const StageResult some = calibrate(model, record, stages, interpreted()).stages.front();
  EXPECT_EQ(some.failure, "");
  EXPECT_EQ(some.readings, (251 * 3 + 3) / 4);
  expect_found(some, model);
  EXPECT_NEAR(some.parameters[0].deviation / all.parameters[0].deviation, 2.0, 0.1);
}

// Resistances from the end of the record, then capacities from all of it.
// Rows from a tenth of a millisecond to a tenth of a second apart: every one counts, at its own time.
TEST(Calibrate, irregular_rows_reach_the_bound) {
  Model model = twin_model_file("rc-thermal/network.toml");
  Record record = rows_of(sensors_of(model, {"S2", "S3"}), 0.01, 601);
  double t = 0.0;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    record.clock.push_back(t);
    t += row % 3 == 0 ? 1e-4 : 0.0125 + 0.0125 * std::sin(static_cast<double>(row));
  }
  read_with_noise(model, record, 5);
  const auto unknowns = unknowns_from(model, {{"C1", 1.0}, {"C2", 10.0}});
  const StageResult stage =
      calibrate(model, record, {{unknowns, {}, {}, {}, {}}}, interpreted()).stages.front();
  EXPECT_EQ(stage.failure, "");
  EXPECT_EQ(stage.misfit, "");
  EXPECT_EQ(stage.readings, 2 * 601);
  expect_found(stage, model);
}

TEST(Calibrate, stages_keep_what_the_ones_before_found) {
  Model model = shipped_model("inverter");
  const Record record = record_of(model, {"S1", "S_hs", "S_w"}, 0.01, 501, 3);
  const auto r = unknowns_from(model, {{"R_dbc", 11.68e-3}, {"R_hs", 5.457e-3}, {"R_w", 10.91e-3}});
  const auto c = unknowns_from(model, {{"C_dbc", 1.32}, {"C_hs", 14.97}, {"C_w", 29.94}});
  const CalibrationResult result =
      calibrate(model, record, {{r, {}, 4.0, 5.0, {}}, {c, {}, {}, {}, {}}}, interpreted());
  ASSERT_EQ(result.stages.size(), 2u);
  for (const StageResult& stage : result.stages) {
    EXPECT_EQ(stage.failure, "");
    expect_found(stage, model);
  }
  EXPECT_EQ(result.stages[0].readings, 3 * 101);
  EXPECT_EQ(result.stages[1].readings, 3 * 501);
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(result.model.parameters[result.stages[0].parameters[k].parameter].number,
              result.stages[0].parameters[k].after);
}

// Steady temperatures tell R_dbc and R_sp only as R_dbc + 3 R_sp, R_die not at all.
TEST(Calibrate, what_the_readings_leave_open_is_named) {
  Model model = shipped_model("inverter");
  const Record record = record_of(model, {"S1", "S_hs", "S_w"}, 0.05, 101, 4);
  const auto unknowns =
      unknowns_from(model, {{"R_dbc", 0.02}, {"R_sp", 5e-3}, {"R_hs", 0.01}, {"R_die", 0.01}});
  const StageResult stage =
      calibrate(model, record, {{unknowns, {}, {}, {}, {}}}, interpreted()).stages.front();
  EXPECT_NE(stage.failure.find("do not determine"), std::string::npos) << stage.failure;
  ASSERT_EQ(stage.open.size(), 2u);
  EXPECT_NE(stage.open[0].find("R_die: no reading depends on it"), std::string::npos) << stage.open[0];
  EXPECT_NE(stage.open[1].find("R_dbc"), std::string::npos) << stage.open[1];
  EXPECT_NE(stage.open[1].find("R_sp"), std::string::npos) << stage.open[1];
  EXPECT_EQ(stage.open[1].find("R_hs"), std::string::npos) << stage.open[1];
  EXPECT_TRUE(std::isnan(stage.parameters[0].deviation));
  EXPECT_FALSE(std::isnan(stage.parameters[2].deviation));
  const double sum = stage.parameters[0].after + 3.0 * stage.parameters[1].after;
  EXPECT_NEAR(sum, 41.783e-3, 1e-3);
}

TEST(Calibrate, bounds_hold_and_are_told) {
  Model model = twin_model_file("rc-thermal/network.toml");
  const Record record = record_of(model, {"S2", "S3"}, 0.02, 251, 5);
  const auto unknowns = unknowns_from(model, {{"R2", 2.5}, {"R3", 2.5}});
  model.unknowns[unknowns[0]].lower = 2.2;
  model.unknowns[unknowns[0]].upper = 4.0;
  const StageResult stage =
      calibrate(model, record, {{unknowns, {}, {}, {}, {}}}, interpreted()).stages.front();
  EXPECT_TRUE(stage.parameters[0].at_bound);
  EXPECT_NEAR(stage.parameters[0].after, 2.2, 1e-12);
  EXPECT_FALSE(stage.parameters[1].at_bound);
  EXPECT_FALSE(stage.warnings.empty());
}

TEST(Calibrate, robust_bears_outliers) {
  Model model = twin_model_file("rc-thermal/network.toml");
  Record record = record_of(model, {"S1", "S2", "S3"}, 0.02, 251, 6);
  for (std::size_t k = 0; k < record.readings.size(); k += 17) record.readings[k] += 20.0;
  const auto unknowns = unknowns_from(model, {{"R2", 3.0}, {"R3", 2.0}});
  const std::vector<CalibrationStage> stages{{unknowns, {}, {}, {}, {}}};
  CalibrationOptions options = interpreted();
  options.restart = false;
  const StageResult plain = calibrate(model, record, stages, options).stages.front();
  options.robust = 1.5;
  const StageResult robust = calibrate(model, record, stages, options).stages.front();
  EXPECT_LT(std::abs(robust.parameters[1].after - 3.0), 0.2 * std::abs(plain.parameters[1].after - 3.0));
  EXPECT_NE(plain.misfit, "");
}

TEST(Calibrate, starts_agree_and_follow_their_seed) {
  Model model = twin_model_file("rc-thermal/network.toml");
  const Record record = record_of(model, {"S2", "S3"}, 0.02, 251, 7);
  const auto unknowns = unknowns_from(model, {{"C1", 0.3}, {"C2", 0.3}});
  CalibrationOptions options = interpreted();
  options.starts = 3;
  const StageResult stage = calibrate(model, record, {{unknowns, {}, {}, {}, {}}}, options).stages.front();
  EXPECT_EQ(stage.failure, "");
  ASSERT_EQ(stage.starts.size(), 3u);
  EXPECT_NE(stage.starts[1].path.front().numbers, stage.starts[2].path.front().numbers);
  for (const CalibrationStart& start : stage.starts) EXPECT_TRUE(start.agrees) << start.stopped;
}

TEST(Calibrate, a_start_with_a_deviation_counts_where_asked) {
  Model model = shipped_model("inverter");
  const Record record = record_of(model, {"S1", "S_hs", "S_w"}, 0.05, 101, 8);
  const auto unknowns = unknowns_from(model, {{"R_dbc", 0.03}, {"R_sp", 3.771e-3}});
  model.unknowns[unknowns[1]].deviation = 1e-4;
  CalibrationOptions options = interpreted();
  options.prior = true;
  const StageResult stage = calibrate(model, record, {{unknowns, {}, {}, {}, {}}}, options).stages.front();
  EXPECT_EQ(stage.failure, "");
  EXPECT_NEAR(stage.parameters[1].deviation, 1e-4, 1e-6);
  expect_found(stage, model);
}

TEST(Calibrate, wrong_requests_are_told) {
  Model model = twin_model_file("rc-thermal/network.toml");
  const Record record = record_of(model, {"S2"}, 0.05, 11, 9);
  const auto code_of = [&](const Model& of, std::vector<CalibrationStage> stages) -> std::string {
    try {
      calibrate(of, record, std::move(stages), interpreted());
    } catch (const ModelError& error) {
      return error.faults().front().code;
    }
    return "";
  };
  EXPECT_EQ(code_of(model, {{{}, {}, {}, {}, {}}}), "T601");
  const auto unknowns = unknowns_from(model, {{"R2", 2.5}});
  EXPECT_EQ(code_of(model, {{unknowns, {}, 7.0, 8.0, {}}}), "T603");
  EXPECT_EQ(code_of(model, {{unknowns, sensors_of(model, {"S3"}), {}, {}, {}}}), "T603");
  EXPECT_EQ(code_of(model, {{unknowns_from(model, {{"R2", 2.5}, {"R3", 1.0}}), {}, 0.5, {}, {}}}), "T604");
  Model walking = model;
  walking.unknowns[unknowns[0]].varies = ModelUnknown::Varies::walk;
  EXPECT_EQ(code_of(walking, {{unknowns, {}, {}, {}, {}}}), "");  // as a constant, where it is named
  Model silent = model;
  silent.outputs[record.sensors[0]].noise = {};
  EXPECT_EQ(code_of(silent, {{unknowns, {}, {}, {}, {}}}), "T598");
}

// Rosenbrock's valley, as two squares.
TEST(LevenbergMarquardt, goes_around_a_bend_and_stops_at_bounds) {
  SquaresProblem problem;
  problem.at = [](const Eigen::VectorXd& x) {
    Eigen::Vector2d r(1e3 * (x[1] - x[0] * x[0]), 1e2 * (1.0 - x[0]));
    Eigen::Matrix2d j;
    j << -2e3 * x[0], 1e3, -1e2, 0.0;
    return SquaresPoint{0.5 * r.squaredNorm(), j.transpose() * r, j.transpose() * j, ""};
  };
  problem.lower = Eigen::Vector2d::Constant(-10.0);
  problem.upper = Eigen::Vector2d::Constant(10.0);
  problem.longest = Eigen::Vector2d::Constant(INFINITY);
  problem.size = Eigen::Vector2d::Ones();
  problem.positive = {0, 0};
  const SquaresSearch free = levenberg_marquardt(problem, Eigen::Vector2d(-1.2, 1.0), 100);
  EXPECT_TRUE(free.converged) << free.stopped;
  EXPECT_NEAR(free.x[0], 1.0, 1e-5);
  EXPECT_NEAR(free.x[1], 1.0, 1e-5);
  problem.upper[0] = 0.5;
  const SquaresSearch held = levenberg_marquardt(problem, Eigen::Vector2d(-1.2, 1.0), 100);
  EXPECT_TRUE(held.converged) << held.stopped;
  EXPECT_TRUE(held.at_bound[0]);
  EXPECT_NEAR(held.x[1], 0.25, 1e-5);
  problem.lower = Eigen::Vector2d(0.5, -10.0);  // both end at a bound: nothing is left to move
  problem.upper = Eigen::Vector2d(10.0, 0.1);
  const SquaresSearch corner = levenberg_marquardt(problem, Eigen::Vector2d(0.5, 0.1), 100);
  EXPECT_TRUE(corner.converged) << corner.stopped;
  EXPECT_TRUE(corner.at_bound[0] && corner.at_bound[1]);
}

// A resistance in series with R1 and C1, pulses of current held between rows. The readings are the closed
// form: v1 goes to R1*I with exp(-step/(R1*C1)) in each row, and the current of a row is in the reading of
// the same row.
constexpr const char* pulsed = R"toml(
name = "pulsed"
[parameters]
R0 = "1.8 mohm"
R1 = "1.2 mohm"
C1 = "9 kF"
[inputs]
I = { value = 0, unit = "A", interpolation = "hold" }
[components]
src = { kind = "electrical.current_source", p = "datum", n = "a", I = "I" }
r0  = { kind = "electrical.resistor", p = "a", n = "b", R = "R0" }
r1  = { kind = "electrical.resistor", p = "b", n = "datum", R = "R1" }
c1  = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C1", v0 = "0 V" }
[sensors]
V = { measures = "a.v", noise = "1 mV" }
[simulation]
stop = "400 s"
step = "1 s"
)toml";

Model pulsed_model() {
  return read_model_text(pulsed, "pulsed.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

Record pulsed_record(const Model& model, double start = 0.0) {
  Record record = rows_of(sensors_of(model, {"V"}), 1.0, 401);
  read_with_noise(model, record, 11);  // of no current: noise alone
  record.inputs = {"I"};
  double v1 = 0.0;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const double current = row % 100 < 30 && row >= 50 ? (row % 200 < 100 ? -100.0 : 60.0) : 0.0;
    record.given.push_back(current);
    record.readings[static_cast<std::size_t>(row)] += 1.8e-3 * current + v1;
    v1 = 1.2e-3 * current + (v1 - 1.2e-3 * current) * std::exp(-1.0 / (1.2e-3 * 9e3));
  }
  record.start = start;
  return record;
}

TEST(Calibrate, a_held_input_keeps_what_a_row_gives_until_the_next) {
  Model model = pulsed_model();
  const Record record = pulsed_record(model);
  const auto unknowns = unknowns_from(model, {{"R0", 1e-3}, {"R1", 0.5e-3}, {"C1", 20e3}});
  const std::vector<CalibrationStage> stages{{unknowns, {}, {}, {}, {}}};
  for (const char* method : {"", "rk4", "adaptive"}) {
    CalibrationOptions options = interpreted();
    options.integration.method = method;
    const StageResult held = calibrate(model, record, stages, options).stages.front();
    EXPECT_EQ(held.failure, "") << method;
    EXPECT_EQ(held.misfit, "") << method;
    expect_found(held, model);
  }
  // Taken as straight lines from row to row, v1 is half a step ahead, which R1 and R0 make up for exactly: R1
  // grows by exp(step/(2 R1 C1)), R0 shrinks by as much. No residual tells, so the setting must be honoured.
  Model straight = model;
  straight.inputs[0].interpolation = Interpolation::linear;
  const StageResult other = calibrate(straight, record, stages, interpreted()).stages.front();
  EXPECT_EQ(other.misfit, "");
  const double more = 1.2e-3 * (std::exp(0.5 / 10.8) - 1.0);
  EXPECT_NEAR(other.parameters[0].after, 1.8e-3 - more, 4.0 * other.parameters[0].deviation);
  EXPECT_NEAR(other.parameters[1].after, 1.2e-3 + more, 4.0 * other.parameters[1].deviation);
  EXPECT_GT(more, 10.0 * other.parameters[0].deviation);
}

TEST(Calibrate, a_record_of_any_time_begins_with_its_first_row) {
  Model model = pulsed_model();
  const auto unknowns = unknowns_from(model, {{"R0", 1e-3}, {"R1", 0.5e-3}, {"C1", 20e3}});
  const StageResult from_zero =
      calibrate(model, pulsed_record(model), {{unknowns, {}, {}, 300.0, {}}}, interpreted()).stages.front();
  const double epoch = 1.7e9;
  const StageResult later =
      calibrate(model, pulsed_record(model, epoch), {{unknowns, {}, {}, epoch + 300.0, {}}}, interpreted())
          .stages.front();
  EXPECT_EQ(later.failure, "");
  EXPECT_EQ(later.readings, from_zero.readings);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_DOUBLE_EQ(later.parameters[k].after, from_zero.parameters[k].after);
}

TEST(Calibrate, a_chi_square_that_chance_does_not_explain_is_a_misfit) {
  Model model = twin_model_file("rc-thermal/network.toml");
  Record record = record_of(model, {"S2", "S3"}, 0.02, 251, 12);
  const auto unknowns = unknowns_from(model, {{"C1", 0.3}, {"C2", 0.3}});
  const std::vector<CalibrationStage> stages{{unknowns, {}, {}, {}, {}}};
  const StageResult right = calibrate(model, record, stages, interpreted()).stages.front();
  EXPECT_EQ(right.misfit, "");
  EXPECT_TRUE(right.interval.contains(right.chi_square));
  EXPECT_NEAR(right.interval.high, 1.0 + 3.29 * std::sqrt(2.0 / 500.0), 0.02);  // normal approximation
  Model quiet = model;
  for (int s : record.sensors) quiet.outputs[s].noise = 0.5 * *quiet.outputs[s].noise;
  const StageResult larger = calibrate(quiet, record, stages, interpreted()).stages.front();
  EXPECT_NE(larger.misfit.find("larger than the noise"), std::string::npos) << larger.misfit;
  // Half the noise, a quarter of the variance: four times chi-square, and the deviations are what they were.
  EXPECT_NEAR(larger.inflation, 2.0, 0.15);
  EXPECT_NEAR(larger.parameters[0].deviation / right.parameters[0].deviation, 1.0, 0.1);
  Model loud = model;
  for (int s : record.sensors) loud.outputs[s].noise = 3.0 * *loud.outputs[s].noise;
  const StageResult smaller = calibrate(loud, record, stages, interpreted()).stages.front();
  EXPECT_NE(smaller.misfit.find("smaller than the noise"), std::string::npos) << smaller.misfit;
  EXPECT_EQ(smaller.inflation, 1.0);
  // One sensor alone, its share of all readings small.
  Model one = model;
  one.outputs[record.sensors[1]].noise = 0.8 * *one.outputs[record.sensors[1]].noise;
  EXPECT_NE(calibrate(one, record, stages, interpreted()).stages.front().misfit.find("'S3'"),
            std::string::npos);
}

// A line and a map from flat starts. No reading reaches the last point of the line; it goes straight on.
TEST(Calibrate, values_of_tables_that_are_smooth) {
  const Model truth =
      read_model_text(R"toml(
[tables]
R = { points = [[0, 1], [1, 1.5], [2, 2.2], [3, 3.1], [7, 6.7]], parameters = true }
G = { axes = [[0, 2, 4], [0, 1.5, 3]], values = [[1, 1.2, 1.1], [1.3, 1.6, 1.4], [1.1, 1.5, 1.6]], parameters = true }
[components]
i = { kind = "electrical.current_source", p = "datum", n = "a", I = "1 + 0.5*sin(5*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R(b.v)" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1.5 }
g = { kind = "electrical.resistor", p = "b", n = "datum", R = "3*G(t, b.v)" }
[sensors]
v = { measures = "a.v", noise = "5 mV" }
w = { measures = "b.v", noise = "5 mV" }
[unknowns]
R = { deviation = 1, smoothness = 0.3 }
G = { deviation = 1, smoothness = 0.5 }
[simulation]
stop = "5 s"
step = "10 ms"
)toml",
                      "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
  const Record record = record_of(truth, {"v", "w"}, 10e-3, 501, 3);
  Model flat = truth;
  ASSERT_EQ(flat.unknowns.size(), 14u);
  for (ModelUnknown& unknown : flat.unknowns) unknown.start = 2.0;
  const CalibrationResult result = calibrate(flat, record, {}, interpreted());
  const StageResult& stage = result.stages.front();
  EXPECT_EQ(stage.failure, "");
  EXPECT_EQ(stage.misfit, "");
  const auto found = [&](const char* name) {
    const int parameter = parameters_of(truth, {name}).front();
    return *std::find_if(stage.parameters.begin(), stage.parameters.end(),
                         [&](const CalibratedParameter& p) { return p.parameter == parameter; });
  };
  for (const CalibratedParameter& p : stage.parameters)
    EXPECT_NEAR(p.after, truth.parameters[p.parameter].number, 4.0 * p.deviation)
        << truth.parameters[p.parameter].name;
  EXPECT_LT(found("R[2]").deviation, 0.01);
  EXPECT_GT(found("R[5]").deviation, 0.5);

  // Without smoothness nothing is known of that point.
  for (ParameterTable& table : flat.parameter_tables) table.smoothness.reset();
  const CalibrationResult open = calibrate(flat, record, {}, interpreted());
  EXPECT_NE(open.stages.front().failure, "");
}

}  // namespace calibrate_test
}  // namespace tellegen
