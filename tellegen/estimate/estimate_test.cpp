// An estimator led along a record: readings that are missing, late or wrong, and a model that is.
#include "tellegen/estimate/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/estimate/coordinate.h"
#include "tellegen/model/parameters.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/noise.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace estimate_test {

using Coordinate = ModelUnknown::Coordinate;

Model rc_twin(const std::vector<std::string>& unknowns) {
  Model model = twin_model_file("rc-thermal/network.toml");
  model.estimation.unknowns = unknowns_named(model, unknowns);
  for (int k : model.estimation.unknowns)
    if (model.parameters[model.unknowns[k].parameter].name == "Q0") {
      model.unknowns[k].varies = ModelUnknown::Varies::walk;
      model.unknowns[k].walk = 1.0;
    }
  for (ModelEstimation::State& s : model.estimation.states) s.rate_noise = std::sqrt(1.0 / 1e-3);
  return model;
}

// Two sensors every 10 ms for 5 s, by the model's own numbers.
Record bench(const Model& model, std::uint64_t seed, std::int64_t rows = 501, double step = 0.01) {
  Record record = rows_of(sensors_of(model, {"S2", "S3"}), step, rows);
  read_with_noise(model, record, seed);
  return record;
}

Estimate run(const Model& model, const Record& record, const std::string& estimator = "ekf") {
  EstimateOptions options;
  options.estimator = estimator;
  options.compile = false;
  return estimate(model, record, options);
}

std::size_t quantity(const Estimate& e, const std::string& name) {
  std::size_t q = 0;
  while (q < e.quantities.size() && e.quantities[q].name != name) ++q;
  EXPECT_LT(q, e.quantities.size()) << name;
  return q;
}

double mean_at(const Estimate& e, const std::string& name, std::size_t row) {
  return e.mean[row * e.quantities.size() + quantity(e, name)];
}

double deviation_at(const Estimate& e, const std::string& name, std::size_t row) {
  return e.deviation[row * e.quantities.size() + quantity(e, name)];
}

// The first 2 s do not count: the source is still being found.
double source_error(const Estimate& e) {
  double sum = 0.0;
  for (std::size_t row = 200; row < e.t.size(); ++row) sum += std::pow(mean_at(e, "Q0", row) - 10.0, 2);
  return std::sqrt(sum / static_cast<double>(e.t.size() - 200));
}

TEST(EstimateMissing, readings_leave_the_model_alone_and_are_counted) {
  const Model model = rc_twin({"Q0"});
  const Record whole = bench(model, 1);
  Record record = whole;
  for (std::int64_t row = 250; row < 350; ++row)
    for (std::size_t s = 0; s < 2; ++s) record.readings[static_cast<std::size_t>(row) * 2 + s] = std::nan("");
  record.readings[2 * 400] = std::nan("");
  const Estimate e = run(model, record);
  ASSERT_EQ(e.failure, "");
  ASSERT_EQ(e.t.size(), 501u);
  EXPECT_EQ(e.sensors[0].missing, 101);
  EXPECT_EQ(e.sensors[0].used, 400);
  EXPECT_EQ(e.sensors[1].missing, 100);
  EXPECT_TRUE(std::isnan(e.innovation[2 * 400]));
  EXPECT_FALSE(std::isnan(e.innovation[2 * 400 + 1]));
  EXPECT_GT(deviation_at(e, "T2", 349), 2.0 * deviation_at(e, "T2", 249));
  EXPECT_LT(deviation_at(e, "T2", 500), 1.2 * deviation_at(e, "T2", 249));
  for (double v : e.mean) EXPECT_TRUE(std::isfinite(v));
  // What was there counts as if nothing had been missing before.
  EXPECT_EQ(mean_at(e, "Q0", 249), mean_at(run(model, whole), "Q0", 249));
}

TEST(EstimateMissing, readings_may_all_be) {
  const Model model = rc_twin({"Q0"});
  Record record = bench(model, 1);
  record.readings.assign(record.readings.size(), std::nan(""));
  const Estimate e = run(model, record);
  ASSERT_EQ(e.failure, "");
  EXPECT_EQ(e.sensors[0].used, 0);
  EXPECT_NEAR(mean_at(e, "Q0", 500), 1.0, 1e-12);
}

class Late : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Late, readings_lead_to_the_same_end) {
  Model model = rc_twin({GetParam().second});
  model.estimation.late = 0.1;
  const Record record = bench(model, 2, 120);
  Record late = record;
  const RandomSequence random(5, "delay");
  for (std::int64_t row = 0; row < record.steps; ++row)
    for (std::int64_t s = 0; s < 2; ++s) {
      // Up to nine rows, some of them before those taken later.
      const auto delay = static_cast<std::int64_t>(10.0 * random.uniform(row * 2 + s));
      late.arrivals.push_back(std::min(row + delay, record.steps - 1));
    }
  const Estimate a = run(model, record, GetParam().first), b = run(model, late, GetParam().first);
  ASSERT_EQ(a.failure, "");
  ASSERT_EQ(b.failure, "");
  for (std::size_t q = 0; q < a.quantities.size(); ++q) {
    const std::size_t end = (a.t.size() - 1) * a.quantities.size() + q;
    EXPECT_EQ(a.mean[end], b.mean[end]) << a.quantities[q].name;
    EXPECT_EQ(a.deviation[end], b.deviation[end]) << a.quantities[q].name;
  }
  // On the way less was known.
  EXPECT_NE(mean_at(a, "T2", 60), mean_at(b, "T2", 60));
  EXPECT_EQ(a.sensors[0].used, b.sensors[0].used);
  EXPECT_EQ(b.sensors[0].missing, a.sensors[0].missing);
}

INSTANTIATE_TEST_SUITE_P(estimators, Late,
                         testing::Values(std::pair{"ekf", "Q0"}, std::pair{"ekf", "R3"},
                                         std::pair{"pkf", "Q0"}, std::pair{"ukf", "R3"},
                                         std::pair{"ekf-perfect", "Q0"}, std::pair{"steady", "Q0"}));

// What comes after a late reading is done again, and the smoother goes back through that.
TEST(EstimateLate, readings_are_smoothed_as_if_they_had_come_in_time) {
  Model model = rc_twin({"Q0"});
  model.estimation.late = 0.1;
  const Record record = bench(model, 2, 120);
  Record late = record;
  const RandomSequence random(5, "delay");
  for (std::int64_t row = 0; row < record.steps; ++row)
    for (std::int64_t s = 0; s < 2; ++s)
      late.arrivals.push_back(
          std::min(row + static_cast<std::int64_t>(10.0 * random.uniform(row * 2 + s)), record.steps - 1));
  EstimateOptions options;
  options.estimator = "ekf";
  options.compile = false;
  options.smooth = true;
  const Estimate a = estimate(model, record, options), b = estimate(model, late, options);
  ASSERT_EQ(a.failure + b.failure, "");
  ASSERT_EQ(a.smooth.size(), b.smooth.size());
  for (std::size_t k = 0; k < a.smooth.size(); ++k) {
    ASSERT_EQ(a.smooth[k], b.smooth[k]) << k;
    ASSERT_EQ(a.smooth_deviation[k], b.smooth_deviation[k]) << k;
  }
}

TEST(EstimateDiverged, is_told_with_time_and_sensor_and_keeps_what_there_was) {
  Model truth = twin_model_file("rc-thermal/network.toml");
  Model model = rc_twin({"R1"});
  const std::vector<int> parameters = parameters_of(truth, {"R3"});
  const std::vector<double> other{1.0};
  set_parameters(truth, parameters, other);
  for (ModelOutput& o : model.outputs)
    if (o.noise) o.noise = 1e-3;
  for (ModelOutput& o : truth.outputs)
    if (o.noise) o.noise = 1e-3;
  const Record record = bench(truth, 3);
  const Estimate e = run(model, record);
  EXPECT_NE(e.failure.find("diverged"), std::string::npos) << e.failure;
  EXPECT_NE(e.failure.find("'S2'"), std::string::npos) << e.failure;
  EXPECT_NE(e.failure.find("at t = "), std::string::npos) << e.failure;
  EXPECT_GT(e.t.size(), 100u);
  EXPECT_LT(e.t.size(), 501u);
  EXPECT_EQ(e.mean.size(), e.t.size() * e.quantities.size());
  EXPECT_EQ(e.innovation.size(), e.t.size() * 2);
  // The same noise and the right model go through.
  EXPECT_EQ(run(model, bench(model, 3)).failure, "");
}

TEST(EstimateGate, refuses_readings_that_cannot_be_and_the_estimate_survives) {
  Model model = rc_twin({"Q0"});
  const Record clean = bench(model, 4);
  Record record = clean;
  const RandomSequence random(9, "outliers");
  int outliers = 0;
  for (std::size_t k = 40; k < record.readings.size(); ++k)
    if (random.uniform(static_cast<std::int64_t>(k)) < 0.05) record.readings[k] += 50.0, ++outliers;
  const double without = source_error(run(model, record));
  model.estimation.gate = 0.9999;
  const Estimate e = run(model, record);
  ASSERT_EQ(e.failure, "");
  const std::int64_t refused = e.sensors[0].refused + e.sensors[1].refused;
  EXPECT_GE(refused, outliers);
  EXPECT_LE(refused, outliers + 3);
  const double with = source_error(e), best = source_error(run(model, clean));
  EXPECT_LT(with, 1.3 * best + 0.02);
  EXPECT_FALSE(without <= 3.0 * with) << without;  // or not a number: it diverged
}

TEST(EstimateStart, follows_what_the_data_give) {
  const Model model = twin_model_file("inverter/model.toml");
  Record record = rows_of(sensors_of(model, {"S1", "S2", "S3"}), 1e-3, 3);
  record.inputs = {"T_w"};
  record.given = {300.0, 300.0, 300.0};
  const Estimate e = run(model, record);
  ASSERT_EQ(e.failure, "");
  EXPECT_NEAR(mean_at(e, "T12", 0), 300.0, 1e-9);
  EXPECT_NEAR(mean_at(e, "T7", 0), 300.0, 1e-9);
}

// The published number of iterations of the RC benchmark's second scenario.
TEST(EstimatePerfect, finds_capacities_in_eleven_passes) {
  Model model = rc_twin({"C1", "C2"});
  const Record record = bench(model, 1, 5001, 1e-3);
  EstimateOptions options;
  options.estimator = "ekf-perfect";
  options.passes = 20;
  const Estimate e = estimate(model, record, options);
  ASSERT_EQ(e.failure, "");
  EXPECT_NEAR(static_cast<double>(e.passes.size()), 11.0, 1.0);
  EXPECT_LT(e.passes.back().change, 1e-10);
  EXPECT_NEAR(e.passes.back().unknowns[0], 0.1, 0.005);
  EXPECT_NEAR(e.passes.back().unknowns[1], 0.2, 0.01);
}

// The second scenario of the RC benchmark: capacities from ten and fifty times the truth, as 1/C with a
// deviation of 3.2 of which half the sigma points lie beyond the bounds.
TEST(EstimateUnscented, finds_capacities_of_which_nothing_is_known) {
  Model model = rc_twin({"C1", "C2"});
  for (int k : model.estimation.unknowns)
    model.unknowns[k].deviation = std::sqrt(10.0) * *model.unknowns[k].start * *model.unknowns[k].start;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {  // `tellegen benchmark twin` has many more
    const Estimate e = run(model, bench(model, seed, 1001, 5e-3), "ukf");
    ASSERT_EQ(e.failure, "") << seed;
    EXPECT_NEAR(mean_at(e, "C1", 1000), 0.1, 0.01) << seed;
    EXPECT_NEAR(mean_at(e, "C2", 1000), 0.2, 0.02) << seed;
    EXPECT_LT(std::abs(mean_at(e, "C2", 1000) - 0.2), 5.0 * deviation_at(e, "C2", 1000)) << seed;
  }
}

TEST(EstimateCoordinate, is_the_one_in_which_an_unknown_enters_linearly) {
  Model model = rc_twin({"R1", "R2", "R3", "C1", "C2", "Q0"});
  const auto chosen = [&](const char* name) {
    return chosen_coordinate(model, model.unknowns[unknowns_named(model, {name})[0]]);
  };
  EXPECT_EQ(chosen("R1"), Coordinate::value);
  EXPECT_EQ(chosen("Q0"), Coordinate::value);
  for (const char* name : {"R2", "R3", "C1", "C2"}) EXPECT_EQ(chosen(name), Coordinate::inverse) << name;
}

TEST(Estimate, an_inverse_without_bounds_stays_finite_and_positive) {
  Model model = rc_twin({"R2"});
  ModelUnknown& unknown = model.unknowns[model.estimation.unknowns.at(0)];
  const double truth = model.parameters[unknown.parameter].number;
  unknown.lower.reset();
  unknown.upper.reset();
  unknown.coordinate = Coordinate::inverse;
  unknown.start = 2.0 * truth;
  const Record record = bench(model, 3);
  const Estimate e = run(model, record);
  ASSERT_EQ(e.failure, "");
  for (std::size_t row = 0; row < e.t.size(); ++row) ASSERT_GT(mean_at(e, "R2", row), 0.0) << row;
  EXPECT_NEAR(mean_at(e, "R2", e.t.size() - 1), truth, 0.1 * truth);
}

}  // namespace estimate_test
}  // namespace tellegen
