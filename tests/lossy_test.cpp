// The partial-update filter on published examples: two independent programs found the same on the same
// records.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "tellegen/estimate/choice.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/model/read.h"

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

}  // namespace
}  // namespace tellegen
