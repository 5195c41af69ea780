#include "tellegen/identifiability/placement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/test_text.h"

namespace tellegen {
namespace placement_test {

// The heat flow of phase u unknown and wandering: 1 W in a millisecond.
Model inverter_with_walk() {
  Model model = shipped_model("inverter");
  ModelUnknown unknown;
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    if (model.parameters[k].name == "Q_u") unknown.parameter = static_cast<int>(k);
  unknown.varies = ModelUnknown::Varies::walk;
  unknown.walk = 1.0 / std::sqrt(1e-3);
  model.unknowns = {unknown};
  return model;
}

PlacementOptions asked_of(const Model& model, int count, const std::string& target) {
  PlacementOptions options;
  options.count = count;
  options.target = {target, "K", parse_value(model, target, {})};
  options.candidates = default_candidates(model, options.target.value, 0.0);
  options.unknowns = {0};
  options.step = 1e-3;
  options.until = 1.0;
  return options;
}

TEST(LongRunCovariance, a_scalar_walk_has_the_closed_form) {
  // P = (q + sqrt(q^2 + 4 q r))/2 before a reading, P r/(P + r) after it.
  const double q = 0.01, r = 0.25;
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(1, 1);
  const LongRunCovariance filter(one, q * one, 100.0 * one);
  const double p = 0.5 * (q + std::sqrt(q * q + 4 * q * r));
  EXPECT_NEAR(filter.of(Eigen::VectorXd::Ones(1), one / std::sqrt(r)).deviation, std::sqrt(p * r / (p + r)),
              1e-10);
  EXPECT_EQ(filter.of(Eigen::VectorXd::Ones(1), 0.0 * one).deviation, INFINITY);
}

TEST(LongRunCovariance, doubling_is_the_same_as_many_steps) {
  Eigen::Matrix3d a;
  a << 0.9, 0.1, 0.02, 0.05, 0.8, 0.0, 0.0, 0.0, 1.0;
  const Eigen::Matrix3d q = Eigen::Vector3d(1e-3, 1e-4, 1e-3).asDiagonal();
  Eigen::RowVector3d c(0.0, 1.0, 0.0);
  const double r = 0.04;
  const Eigen::Vector3d target(1.0, 0.0, 0.5);
  Eigen::Matrix3d p = Eigen::Matrix3d::Identity(), after = p;
  for (int k = 0; k < 5000; ++k) {
    const Eigen::Vector3d gain = p * c.transpose() / (c * p * c.transpose() + r);
    after = p - gain * c * p;
    p = a * after * a.transpose() + q;
  }
  const LongRunCovariance filter(a, q, Eigen::Matrix3d::Identity());
  EXPECT_NEAR(filter.of(target, c / std::sqrt(r)).deviation, std::sqrt(target.dot(after * target)), 1e-8);
}

TEST(LongRunCovariance, what_nobody_asks_for_may_wander_unseen) {
  // Two walks of which only the first is read; an integrated walk beside them that nothing shows.
  Eigen::MatrixXd a = Eigen::MatrixXd::Identity(4, 4);
  a(2, 3) = 1e-3;
  const Eigen::MatrixXd q = 0.01 * Eigen::MatrixXd::Identity(4, 4);
  const LongRunCovariance filter(a, q, Eigen::MatrixXd::Identity(4, 4));
  Eigen::MatrixXd c = Eigen::MatrixXd::Zero(1, 4);
  c(0, 0) = 2.0;
  const double p = 0.5 * (0.01 + std::sqrt(0.01 * 0.01 + 4 * 0.01 * 0.25));
  EXPECT_NEAR(filter.of(Eigen::VectorXd::Unit(4, 0), c).deviation, std::sqrt(p * 0.25 / (p + 0.25)), 1e-10);
  for (int k : {1, 2, 3}) EXPECT_EQ(filter.of(Eigen::VectorXd::Unit(4, k), c).deviation, INFINITY) << k;
}

TEST(Placement, three_unknown_flows_need_sensors_that_tell_what_reaches_the_target) {
  Model model = inverter_with_walk();
  for (const char* name : {"Q_v", "Q_w"}) {
    ModelUnknown unknown = model.unknowns[0];
    for (std::size_t k = 0; k < model.parameters.size(); ++k)
      if (model.parameters[k].name == name) unknown.parameter = static_cast<int>(k);
    model.unknowns.push_back(unknown);
  }
  PlacementOptions options = asked_of(model, 2, "n1.T");
  options.unknowns = {0, 1, 2};
  const auto deviation = [&](const std::string& a, const std::string& b) {
    PlacementOptions two = options;
    std::erase_if(two.candidates, [&](const SensorCandidate& c) { return c.name != a && c.name != b; });
    return place_sensors(model, two).best.at(0).deviation;
  };
  // The difference of phases v and w reaches neither the heatsink nor phase u.
  EXPECT_LT(deviation("S1", "S_hs"), 0.2);
  // Phases u and w against each other leave two coppers as they are, and move the junction.
  EXPECT_EQ(deviation("S1", "S2"), INFINITY);
}

TEST(Placement, process_noise_of_a_step_follows_the_integral) {
  // x' = -a x + noise: q (1 - e^(-2 a h))/(2 a), stiff or not.
  for (double a : {1.0, 1e4}) {
    Eigen::MatrixXd rate(1, 1), noise(1, 1);
    rate << -a;
    noise << 2.0;
    EXPECT_NEAR(process_of_step(rate, noise, 1e-2)(0, 0) / (2.0 * (1.0 - std::exp(-2e-2 * a)) / (2 * a)), 1.0,
                1e-9);
  }
}

TEST(Placement, junction_is_told_best_at_its_own_copper) {
  const Model model = inverter_with_walk();
  PlacementOptions options = asked_of(model, 1, "n1.T");
  // Other junctions can be measured as little as this one.
  std::erase_if(options.candidates, [](const SensorCandidate& c) {
    return c.name == "n2.T" || c.name == "n3.T" || c.name == "n4.T" || c.name == "n5.T" || c.name == "n6.T";
  });
  const Placement placed = place_sensors(model, options);
  ASSERT_TRUE(placed.all_tried);
  const auto name = [&](const SensorChoice& c) {
    return options.candidates[static_cast<std::size_t>(c.candidates[0])].name;
  };
  EXPECT_EQ(name(placed.best[0]), "S1");
  EXPECT_LT(placed.best[0].deviation, 0.5);
  EXPECT_GT(placed.best.back().deviation, placed.best[0].deviation);
  EXPECT_EQ(placed.without, INFINITY);
  // Water is held: its temperature tells nothing.
  for (std::size_t k = 0; k < options.candidates.size(); ++k)
    if (options.candidates[k].name == "n13.T") {
      EXPECT_EQ(placed.alone[k], INFINITY);
    }
}

TEST(Placement, more_sensors_tell_more_and_exchange_finds_what_trying_all_finds) {
  const Model model = inverter_with_walk();
  double last = INFINITY;
  for (int count : {1, 2, 3}) {
    const Placement placed = place_sensors(model, asked_of(model, count, "n1.T"));
    EXPECT_LT(placed.best[0].deviation, last);
    last = placed.best[0].deviation;
    PlacementOptions by_exchange = asked_of(model, count, "n1.T");
    by_exchange.most_choices = 0;
    const Placement exchanged = place_sensors(model, by_exchange);
    EXPECT_FALSE(exchanged.all_tried);
    EXPECT_NEAR(exchanged.best[0].deviation, last, 1e-9);
  }
}

TEST(Placement, beside_sensors_that_are_there_the_best_is_what_joins_them_best) {
  const Model model = inverter_with_walk();
  PlacementOptions options = asked_of(model, 2, "n1.T");
  options.candidates.resize(6);
  options.shown = 100;
  const Placement pairs = place_sensors(model, options);
  ASSERT_TRUE(pairs.all_tried);
  PlacementOptions beside = options;
  beside.count = 1;
  beside.beside = {options.candidates[2]};
  const Placement joined = place_sensors(model, beside);
  for (const SensorChoice& one : joined.best) {
    if (one.candidates[0] == 2) continue;
    const std::vector<int> both{std::min(one.candidates[0], 2), std::max(one.candidates[0], 2)};
    const auto pair = std::find_if(pairs.best.begin(), pairs.best.end(),
                                   [&](const SensorChoice& c) { return c.candidates == both; });
    ASSERT_NE(pair, pairs.best.end());
    EXPECT_TRUE(one.deviation == pair->deviation || std::abs(one.deviation / pair->deviation - 1.0) < 1e-9);
  }
  EXPECT_EQ(joined.without, pairs.alone[2]);
}

TEST(Placement, faults) {
  const Model model = inverter_with_walk();
  const auto code = [](const Model& of, const PlacementOptions& options) -> std::string {
    try {
      place_sensors(of, options);
    } catch (const ModelError& error) {
      return error.faults().at(0).code;
    }
    return "none";
  };
  EXPECT_EQ(code(model, asked_of(model, 100, "n1.T")), "T615");
  Model still = inverter_with_walk();
  still.unknowns[0].walk = 0.0;
  still.unknowns[0].varies = ModelUnknown::Varies::constant;
  EXPECT_EQ(code(still, asked_of(still, 1, "n1.T")), "T616");
}

}  // namespace placement_test
}  // namespace tellegen
