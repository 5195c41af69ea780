// Models with many states: filters in modes and reduced ones against a textbook filter on dense matrices, and
// that nothing refuses them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tellegen/calibrate/calibrate.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/filter.h"
#include "tellegen/identifiability/estimability.h"
#include "tellegen/identifiability/placement.h"
#include "tellegen/numeric/exponential.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace large_model_test {

// A ring of capacities with chords across it, some cooled; one heat flow is unknown and one is given.
Model ring(int nodes) {
  std::string text;
  for (int k = 0; k < nodes; ++k)
    text += fmt::format(
        "c{0} = {{ kind = \"thermal.capacitor\", p = \"n{0}\", n = \"datum\", C = {1}, T0 = 300 }}\n"
        "r{0} = {{ kind = \"thermal.resistor\", p = \"n{0}\", n = \"n{2}\", R = {3} }}\n",
        k, 5 + k * 7 % 11, (k + 1) % nodes,
        k == nodes / 3 ? "\"G\"" : fmt::format("{}", 0.5 + 0.1 * (k * 5 % 13)));
  for (int k = 0; k < nodes; k += 5)
    text += fmt::format(
        "a{0} = {{ kind = \"thermal.resistor\", p = \"n{0}\", n = \"outside\", R = 8 }}\n"
        "x{0} = {{ kind = \"thermal.resistor\", p = \"n{0}\", n = \"n{1}\", R = 3 }}\n",
        k, (k + nodes / 2) % nodes);
  text += fmt::format(R"toml(
air = {{ kind = "thermal.fixed_temperature", p = "outside", T = 295 }}
p = {{ kind = "thermal.heat_source", p = "datum", n = "n{}", Q = "P" }}
q = {{ kind = "thermal.heat_source", p = "datum", n = "n{}", Q = "Q" }}
[sensors]
S0 = {{ measures = "n0.T", noise = "0.1 K" }}
S1 = {{ measures = "n{}.T", noise = "0.2 K" }}
S2 = {{ measures = "n{}.T", noise = "0.1 K" }}
[outputs]
hot = "n{}.T"
[unknowns]
P = {{ start = "10 W", deviation = "20 W", walk = "1 W", coordinate = "value" }}
G = {{ deviation = "1 K/W" }}
[estimate]
estimator = "kf"
unknowns = ["P"]
inputs = ["Q"]
states = {{ "*.T" = {{ deviation = "1 K", noise = "0.05 K" }} }}
[simulation]
stop = "20 s"
step = "1 s"
)toml",
                      nodes / 3, 2 * nodes / 3, nodes / 3, nodes / 2, nodes / 3);
  text += "[parameters]\nP = \"20 W\"\nQ = \"10 W\"\nG = \"2 K/W\"\n";
  return model_of(text);
}

Estimate estimated(const Model& model, const Record& record, long reduce = 0, bool smooth = false) {
  EstimateOptions options;
  options.compile = false;
  options.reduce = reduce;
  options.smooth = smooth;
  return estimate(model, record, options);
}

Record some_record(const Model& model, int rows) {
  Record record;
  record.sensors = model.estimation.sensors;
  record.inputs = {"Q"};
  record.step = 1.0;
  record.steps = rows;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int k = 0; k < rows; ++k) {
    record.given.push_back(10.0 + 5.0 * std::sin(0.3 * k));
    for (std::size_t s = 0; s < record.sensors.size(); ++s)
      record.readings.push_back(k == 3 && s == 1 ? std::nan("") : 300.0 + 0.1 * k + 0.2 * normal(random));
  }
  return record;
}

// x- = Phi x + G0 f + G1 f', P- = Phi P Phi' + Q; K = P H'(H P H' + R)^-1 with all readings at once.
struct Textbook {
  std::vector<double> mean, deviation;  // of the states that are not unknowns, row by row
  Textbook(const Model& model, const Record& record) {
    TwinOptions options;
    options.sensors = record.sensors;
    options.unknowns = model.estimation.unknowns;
    options.inputs = record.inputs;
    options.compile = false;
    TwinModel twin(model, options);
    const auto n = static_cast<long>(twin.size());
    Vector x = twin.start();
    Matrix p = twin.start_covariance(), q = Matrix::Zero(n, n);
    for (long k = 0; k < n; ++k) q(k, k) = std::pow(twin.states()[static_cast<std::size_t>(k)].noise, 2);
    TwinPoint point;
    Matrix phi, g0, g1;
    for (std::int64_t row = 0; row < record.steps; ++row) {
      const double* u = record.given.data() + row;
      if (row > 0) {
        const double du = u[0] - u[-1];
        EXPECT_TRUE(twin.evaluate(x, static_cast<double>(row - 1), u - 1, &du, point));
        if (phi.size() == 0) {
          Matrix joined = Matrix::Zero(3 * n, 3 * n);
          joined.topLeftCorner(n, n) = point.by_state;
          joined.block(0, n, n, n).setIdentity();
          joined.block(n, 2 * n, n, n).setIdentity();
          const Matrix e = exponential(joined);
          phi = e.topLeftCorner(n, n), g0 = e.block(0, n, n, n), g1 = e.block(0, 2 * n, n, n);
        }
        x += g0 * point.rates + g1 * point.by_time;
        p = (phi * p * phi.transpose() + q).eval();
      }
      EXPECT_TRUE(twin.evaluate(x, static_cast<double>(row), u, nullptr, point));
      std::vector<long> there;
      for (std::size_t s = 0; s < twin.sensors(); ++s)
        if (!std::isnan(reading(record, row, s))) there.push_back(static_cast<long>(s));
      const auto m = static_cast<long>(there.size());
      Matrix h(m, n), r = Matrix::Zero(m, m);
      Vector innovation(m);
      for (long k = 0; k < m; ++k) {
        const auto s = static_cast<std::size_t>(there[static_cast<std::size_t>(k)]);
        h.row(k) = point.readings_by_state.row(static_cast<long>(s));
        r(k, k) = twin.noise()[s] * twin.noise()[s];
        innovation[k] = reading(record, row, s) - point.readings[static_cast<long>(s)];
      }
      const Matrix gain = p * h.transpose() * (h * p * h.transpose() + r).inverse();
      x += gain * innovation;
      p = (p - gain * h * p).eval();
      for (long k = 0; k < n; ++k)
        if (twin.states()[static_cast<std::size_t>(k)].unknown < 0) {
          mean.push_back(x[k]);
          deviation.push_back(std::sqrt(p(k, k)));
        }
    }
  }
  static double reading(const Record& record, std::int64_t row, std::size_t s) {
    return record.readings[static_cast<std::size_t>(row) * record.sensors.size() + s];
  }
};

TEST(LargeModel, in_modes_the_filter_is_the_textbooks) {
  const Model model = ring(60);
  const Record record = some_record(model, 12);
  const Textbook textbook(model, record);
  const Estimate e = estimated(model, record);
  EXPECT_EQ(e.executor, "modes of the network");
  const std::size_t width = e.quantities.size(), first = width - 60;
  for (std::size_t row = 0; row < 12; ++row)
    for (std::size_t k = 0; k < 60; ++k) {
      ASSERT_NEAR(e.mean[row * width + first + k], textbook.mean[row * 60 + k], 1e-8);
      ASSERT_NEAR(e.deviation[row * width + first + k], textbook.deviation[row * 60 + k], 1e-9);
    }
}

// What it says of its error holds against the filter on all states.
TEST(LargeModel, a_reduced_filter_is_as_good_as_it_says) {
  const Model model = ring(60);
  const Record record = some_record(model, 12);
  const Estimate full = estimated(model, record, never_reduce);
  const Estimate reduced = estimated(model, record, 40);
  EXPECT_TRUE(reduced.reduction.find(" of 61 states") != std::string::npos) << reduced.reduction;
  EXPECT_TRUE(full.reduction.empty());
  ASSERT_EQ(reduced.quantities.size(), 5u);  // P, three sensors, hot
  for (std::size_t row = 0; row < 12; ++row)
    for (std::size_t q = 0; q < 5; ++q) {
      const std::size_t a = row * 5 + q, b = row * full.quantities.size() + q;
      const double size = full.deviation[b];
      ASSERT_NEAR(reduced.mean[a], full.mean[b], 1e-3 * size) << reduced.quantities[q].name;
      ASSERT_NEAR(reduced.deviation[a], full.deviation[b], 1e-3 * size) << reduced.quantities[q].name;
    }
}

TEST(LargeModel, is_smoothed_with_modes_and_reduced_alike) {
  const Model model = ring(60);
  const Record record = some_record(model, 8);
  const Estimate full = estimated(model, record, 0, true);
  const Estimate reduced = estimated(model, record, 45, true);
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t q = 0; q < 5; ++q) {
      const std::size_t a = row * 5 + q, b = row * full.quantities.size() + q;
      ASSERT_NEAR(reduced.smooth[a], full.smooth[b], 1e-3 * full.smooth_deviation[b]);
      ASSERT_NEAR(reduced.smooth_deviation[a], full.smooth_deviation[b], 1e-3 * full.smooth_deviation[b]);
    }
}

// 200 nodes are more than 800 variables.
TEST(LargeModel, of_200_nodes_is_estimated_calibrated_judged_and_gets_its_sensors) {
  const Model model = ring(200);
  const Record record = some_record(model, 6);
  const Estimate e = estimated(model, record);
  EXPECT_TRUE(e.failure.empty());
  EXPECT_EQ(e.quantities.size(), 205u);
  EstimabilityQuestion question;
  question.states = true;
  question.unknowns = model.estimation.unknowns;
  // 18 readings do not tell 200 temperatures at the start apart; that is said of each.
  const EstimabilityReport report = what_can_be_known(model, record, question);
  ASSERT_TRUE(report.states.has_value());
  EXPECT_EQ(report.states->knowledge.quantities.size(), 201u);
  EXPECT_LE(report.states->knowledge.rank, 18);
  // The readings of the model itself, with another resistance: it is found.
  Record exact = rows_of(record.sensors, 1.0, 6);
  SimulationOptions integration;
  integration.method = integration.form = integration.start = "";
  integration.compile = false;
  exact.readings = sensor_slopes(model, exact, {}, integration).values;
  CalibrationOptions calibration = calibration_options();
  calibration.integration.compile = false;
  Model other = model;
  other.unknowns[1].start = 2.5;
  const CalibrationResult found = calibrate(other, exact, {{{1}, {}, {}, {}, {}}}, calibration);
  const CalibratedParameter& resistance = found.stages.at(0).parameters.at(0);
  EXPECT_NEAR(resistance.after, 2.0, 0.1 * resistance.deviation);  // of 2.5 at the start
  EXPECT_LT(resistance.deviation, 0.5);
  PlacementOptions placement;
  placement.count = 1;
  placement.candidates = {{"a", "K", model.pool->symbol("n66.T"), 0.1},
                          {"b", "K", model.pool->symbol("n150.T"), 0.1}};
  placement.target = {"hot", "K", model.pool->symbol("n66.T")};
  placement.unknowns = model.estimation.unknowns;
  placement.step = 1.0;
  const Placement placed = place_sensors(model, placement);
  ASSERT_FALSE(placed.best.empty());
  EXPECT_EQ(placed.best[0].candidates, std::vector<int>{0});  // the target itself
}

}  // namespace large_model_test
}  // namespace tellegen
