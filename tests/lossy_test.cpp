// The partial-update filter on published examples: two independent programs found the same on the same
// records. Then records of our own, few and short; `tellegen benchmark lossy` has many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "benchmarks/lossy_motor.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/model/read.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

const std::filesystem::path folder = std::filesystem::path(TELLEGEN_SOURCE_DIR) / "models/pmsm-estimation";

std::map<std::string, std::vector<double>> columns_of(const std::string& file) {
  std::ifstream in(folder / file);
  std::string line, cell;
  std::getline(in, line);
  std::vector<std::string> names;
  for (std::stringstream s(line); std::getline(s, cell, ',');) names.push_back(cell);
  std::map<std::string, std::vector<double>> columns;
  while (std::getline(in, line)) {
    std::stringstream s(line);
    for (const std::string& name : names) {
      std::getline(s, cell, ',');
      columns[name].push_back(std::stod(cell));
    }
  }
  return columns;
}

struct Setting {
  std::vector<double> keep;  // of the states, and of the flux
  double noise = 0.01;       // of the states, in one second
  double flux_noise = 1e-3;
  double flux_start = 0.0, flux_deviation = 1.0;
  bool flux_known = false;
};

Estimate follow(const std::string& data, const Setting& setting, const std::string& estimator) {
  Model model = read_model(folder / "model.toml");
  for (ModelEstimation::State& s : model.estimation.states) {
    s.noise = setting.noise * (s.pattern == "motor.theta" ? 4.0 : 1.0);
    s.keep = setting.keep[0];
  }
  ModelUnknown& flux = model.unknowns[model.estimation.unknowns[0]];
  flux.keep = setting.keep[1];
  flux.walk = setting.flux_noise;
  flux.start = setting.flux_start;
  flux.deviation = setting.flux_deviation;
  if (setting.flux_known) {
    model.estimation.unknowns.clear();
    model.parameters[flux.parameter].number = setting.flux_start;
    model.parameters[flux.parameter].value = model.pool->number(setting.flux_start);
    for (Component& c : model.components)
      for (ParameterValue& v : c.values)
        if (v.value == model.parameters[flux.parameter].symbol) v.number = setting.flux_start;
  }
  RecordOptions reading;
  reading.sensors = model.estimation.sensors;
  reading.inputs = model.estimation.inputs;
  const Record record = read_record(model, folder / data, reading);
  EstimateOptions options;
  options.estimator = estimator;
  options.euler = options.anyway = true;
  options.compile = false;
  return estimate(model, record, options);
}

double at(const Estimate& e, std::string_view quantity, std::size_t row) {
  for (std::size_t q = 0; q < e.quantities.size(); ++q)
    if (e.quantities[q].name == quantity) return e.mean[row * e.quantities.size() + q];
  ADD_FAILURE() << quantity << " was not estimated";
  return 0.0;
}

void expect_same(const Estimate& e, const std::string& file, const std::string& prefix, bool flux) {
  ASSERT_EQ(e.failure, "");
  auto columns = columns_of(file);
  ASSERT_GT(columns["k"].size(), 30u);
  for (std::size_t i = 0; i < columns["k"].size(); ++i) {
    const auto row = static_cast<std::size_t>(columns["k"][i]);
    const double speed = columns[prefix + "_omega"][i], angle = 4.0 * columns[prefix + "_theta"][i];
    EXPECT_NEAR(at(e, "speed", row), speed, 1e-5 * std::max(1.0, std::abs(speed))) << row;
    EXPECT_NEAR(at(e, "angle", row), angle, 1e-5 * std::max(1.0, std::abs(angle))) << row;
    if (flux) {
      EXPECT_NEAR(at(e, "flux", row), columns[prefix + "_lambda"][i], 1e-5 * 0.005) << row;
    }
  }
}

const double per_sample = 1.0 / std::sqrt(1e-5);  // noise of a sample of 10 us, as of one second

TEST(Lossy, the_partial_update_filter_finds_what_two_other_programs_found) {
  expect_same(follow("density.csv", {{0.2, 0.75}}, "pkf"), "filters-density.csv", "pkf", true);
  expect_same(follow("literal.csv", {{0.2, 0.75}, 0.01 * per_sample, 1e-3 * per_sample}, "pkf"),
              "filters-literal.csv", "pkf", true);
}

TEST(Lossy, the_extended_filter_goes_wrong_as_published) {
  expect_same(follow("density.csv", {{0.0, 0.0}}, "pkf"), "filters-density.csv", "ekf", true);
  expect_same(follow("density.csv", {{0.0, 0.0}}, "ekf"), "filters-density.csv", "ekf", true);
  expect_same(follow("literal.csv", {{0.0, 0.0}, 0.01 * per_sample, 1e-3 * per_sample}, "ekf"),
              "filters-literal.csv", "ekf", true);
}

TEST(Lossy, a_nuisance_is_considered_or_believed) {
  const double noise = 0.01 * per_sample;
  expect_same(follow("literal.csv", {{0.0, 0.0}, noise, 0.0, 0.00523762451, 0.0, true}, "ekf"),
              "filters-nuisance.csv", "ekf_true", false);
  expect_same(follow("literal.csv", {{0.0, 0.0}, noise, 0.0, 0.004, 0.0, true}, "ekf"),
              "filters-nuisance.csv", "ekf_004", false);
  expect_same(follow("literal.csv", {{0.8, 1.0}, noise, 0.0, 0.004, 0.001}, "pkf"), "filters-nuisance.csv",
              "pkf_consider", true);
}

constexpr int seeds = 8;

// Runs of 0.1 s with 20 % of the samples lost.
std::vector<LossyRun> runs_of(const LossySetting& setting, int count) {
  LossyFilter filter(setting);
  std::vector<LossyRun> runs;
  for (int seed = 1; seed <= count; ++seed)
    runs.push_back(
        lossy_run(filter, lossy_record(setting.reading, static_cast<std::uint64_t>(seed), 10'000), 0.2));
  return runs;
}

long failed(const std::vector<LossyRun>& runs) {
  return std::count_if(runs.begin(), runs.end(), [](const LossyRun& r) { return r.failed(); });
}

TEST(Lossy, the_partial_update_fails_less_often) {
  const auto filters = stability_filters(NoiseReading::density);
  const auto ekf = runs_of(filters[0], seeds), pkf = runs_of(filters[1], seeds);
  EXPECT_EQ(failed(pkf), 0);
  EXPECT_GT(failed(ekf), failed(pkf));
  for (const LossyRun& r : pkf) {
    EXPECT_LT(r.speed, 1.0);
    EXPECT_LT(r.angle, 0.05);
    EXPECT_LT(r.flux, 0.05 * lossy_flux);
  }
  const auto literal = stability_filters(NoiseReading::literal);
  EXPECT_EQ(failed(runs_of(literal[0], 3)), 3);
  EXPECT_EQ(failed(runs_of(literal[1], 3)), 0);
}

// Some of the same runs end there without the bound.
TEST(Lossy, a_bound_keeps_the_flux_out_of_its_mirror_image) {
  const auto filters = stability_filters(NoiseReading::density);
  const auto mirrored = [](const LossyRun& r) { return r.mirrored(); };
  const auto free = runs_of(filters[1], seeds), bounded = runs_of(filters[3], seeds);
  EXPECT_GT(std::count_if(free.begin(), free.end(), mirrored), 0);
  EXPECT_EQ(failed(bounded), 0);
  for (const LossyRun& r : bounded) EXPECT_FALSE(r.negative);
}

// The image gives the same currents and speed: a filter begun there stays there, the angle half a turn off.
TEST(Lossy, the_mirror_image_is_as_good_as_the_motor) {
  LossySetting here = stability_filters(NoiseReading::density)[1], there = here;
  here.flux_start = lossy_flux;
  there.flux_start = -lossy_flux;
  here.flux_deviation = there.flux_deviation = 1e-4;
  LossyFilter a(here), b(there);
  a.begin();
  b.begin_at_angle(M_PI);
  const LossyRecord record = lossy_record(NoiseReading::density, 1, 2000);
  for (std::int64_t k = 0; k < 2000; ++k) {
    const double* readings =
        record.arrival[static_cast<std::size_t>(k)] < 0.2 ? nullptr : &record.readings[2 * k];
    ASSERT_TRUE(a.step(k, readings));
    ASSERT_TRUE(b.step(k, readings));
  }
  EXPECT_NEAR(a.speed(), b.speed(), 1e-6);
  EXPECT_NEAR(a.angle() + M_PI, b.angle(), 1e-8);
  EXPECT_NEAR(a.flux(), -b.flux(), 1e-11);
  EXPECT_GT(a.flux(), 0.5 * lossy_flux);
}

}  // namespace
}  // namespace tellegen
