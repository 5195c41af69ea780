// Whether an estimator's own uncertainty is true. The truth is as random as the filter believes: its start is
// drawn from the start's covariance and its unknown wanders by the filter's own process noise, so that
// coverage, NEES and NIS have the distributions that theory gives them.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/smoother.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/noise.h"
#include "tellegen/records/statistics.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace consistency_test {

constexpr double step = 0.01;
constexpr int rows = 400, seeds = 40;

// The RC benchmark whose source wanders: linear, so that every estimator has the same right answer.
Model wandering_source() {
  Model model = twin_model_file("rc-thermal/network.toml");
  model.estimation.unknowns = unknowns_named(model, {"Q0"});
  ModelUnknown& unknown = model.unknowns[model.estimation.unknowns[0]];
  unknown.varies = ModelUnknown::Varies::walk;
  unknown.walk = 5.0;
  unknown.start = 10.0;
  unknown.deviation = 3.0;
  model.estimation.states.clear();
  ModelEstimation::State state;
  state.pattern = "*";
  state.deviation = 2.0;
  model.estimation.states.push_back(state);
  return model;
}

// Its conductance wanders instead: the product of a state and an unknown.
Model wandering_resistance() {
  Model model = wandering_source();
  model.estimation.unknowns = unknowns_named(model, {"R3"});
  ModelUnknown& unknown = model.unknowns[model.estimation.unknowns[0]];
  unknown.varies = ModelUnknown::Varies::walk;
  unknown.walk = 0.05;
  unknown.start = 3.0;
  unknown.deviation = 0.3;
  return model;
}

class Plant {
 public:
  explicit Plant(const Model& model) : twin(model, options(model)) {
    filter.step = step;
    filter.compile = false;
    follow_ = extended_filter(twin, plain());
  }

  std::unique_ptr<Filter> make(const std::string& name) {
    return find_estimator(name, {}).make(twin, filter);
  }

  // States and readings of one draw.
  void draw(std::uint64_t seed) {
    const auto n = static_cast<long>(twin.size()), m = static_cast<long>(twin.sensors());
    states.clear(), readings.clear();
    Vector x = twin.start(), y(m);
    const Vector start = twin.start_covariance().diagonal().cwiseSqrt();
    const Vector walk = follow_->process_noise().cwiseSqrt();
    const RandomSequence first(seed, "start"), wander(seed, "walk"), noise(seed, "noise");
    for (long i = 0; i < n; ++i) x[i] += start[i] * first.normal(i);
    for (int row = 0; row < rows; ++row) {
      if (row > 0) {
        follow_->restore({x, Matrix::Zero(n, n)});
        ASSERT_TRUE(follow_->predict(step * (row - 1), nullptr, nullptr));
        x = follow_->belief().x;
        for (long i = 0; i < n; ++i) x[i] += walk[i] * wander.normal(row * n + i);
      }
      ASSERT_TRUE(twin.readings(x, step * row, nullptr, y));
      for (long i = 0; i < m; ++i)
        readings.push_back(y[i] + twin.noise()[static_cast<std::size_t>(i)] * noise.normal(row * m + i));
      states.push_back(x);
    }
  }

  // Leads a filter along the draw; `each` sees it after every correction.
  template <class Each>
  void lead(Filter& along, const Each& each) {
    Innovations innovations{std::vector<double>(twin.sensors()), std::vector<double>(twin.sensors()),
                            std::vector<char>(twin.sensors()), 0.0};
    for (int row = 0; row < rows; ++row) {
      if (row > 0) {
        ASSERT_TRUE(along.predict(step * (row - 1), nullptr, nullptr));
      }
      ASSERT_TRUE(along.correct(step * row, nullptr,
                                &readings[static_cast<std::size_t>(row) * twin.sensors()], innovations));
      each(row, innovations);
    }
  }

  FilterOptions plain() const {
    FilterOptions options = filter;
    options.generate = false;
    return options;
  }

  TwinModel twin;
  FilterOptions filter;
  std::vector<Vector> states;
  std::vector<double> readings;

 private:
  static TwinOptions options(const Model& model) {
    TwinOptions options;
    options.sensors = sensors_named(model, {"S2", "S3"});
    options.unknowns = model.estimation.unknowns;
    options.compile = false;
    return options;
  }
  std::unique_ptr<Filter> follow_;
};

struct Consistency {
  double covered = 0.0, nees = 0.0, nis = 0.0;
  double nees_degrees = 0.0, nis_degrees = 0.0;
};

Consistency consistency(const Model& model, const std::string& estimator) {
  Plant plant(model);
  Consistency c;
  double bands = 0.0;
  for (int seed = 1; seed <= seeds; ++seed) {
    plant.draw(static_cast<std::uint64_t>(seed));
    const auto filter = plant.make(estimator);
    plant.lead(*filter, [&](int row, const Innovations& innovations) {
      const Belief& belief = filter->belief();
      const Vector error = belief.x - plant.states[static_cast<std::size_t>(row)];
      for (Eigen::Index i = 0; i < error.size(); ++i) {
        c.covered += std::abs(error[i]) <= 1.959964 * std::sqrt(belief.p(i, i));
        bands += 1.0;
      }
      // Errors of rows that follow each other are alike: one of the end for each draw.
      if (row + 1 == rows) {
        c.nees += error.dot(solve_symmetric(belief.p, error).col(0));
        c.nees_degrees += static_cast<double>(error.size());
      }
      for (std::size_t s = 0; s < innovations.value.size(); ++s) {
        c.nis += innovations.value[s] * innovations.value[s] / innovations.variance[s];
        c.nis_degrees += 1.0;
      }
    });
  }
  c.covered /= bands;
  return c;
}

void expect_chi_square(double value, double degrees, const std::string& what) {
  EXPECT_GT(value, chi_square_quantile(0.0005, degrees)) << what;
  EXPECT_LT(value, chi_square_quantile(0.9995, degrees)) << what;
}

class Consistent : public testing::TestWithParam<const char*> {};

TEST_P(Consistent, bands_cover_and_errors_have_their_size_where_a_source_wanders) {
  const Consistency c = consistency(wandering_source(), GetParam());
  EXPECT_GT(c.covered, 0.90);
  EXPECT_LT(c.covered, 0.98);
  expect_chi_square(c.nees, c.nees_degrees, "NEES");
  expect_chi_square(c.nis, c.nis_degrees, "NIS");
}

INSTANTIATE_TEST_SUITE_P(estimators, Consistent, testing::Values("ekf", "pkf", "ukf"));

TEST(ConsistentNonlinear, bands_cover_where_a_resistance_wanders) {
  const Consistency c = consistency(wandering_resistance(), "ekf");
  EXPECT_GT(c.covered, 0.90);
  EXPECT_LT(c.covered, 0.98);
  expect_chi_square(c.nis, c.nis_degrees, "NIS");
}

// What a filter that trusts its model too much looks like: the same test must see it.
TEST(ConsistentNot, is_seen_where_the_walk_is_believed_smaller) {
  Plant truth(wandering_source());
  Model model = wandering_source();
  model.unknowns[model.estimation.unknowns[0]].walk = 0.5;
  Plant believed(model);
  double nees = 0.0;
  for (int seed = 1; seed <= 10; ++seed) {
    truth.draw(static_cast<std::uint64_t>(seed));
    believed.readings = truth.readings;
    const auto filter = believed.make("ekf");
    believed.lead(*filter, [](int, const Innovations&) {});
    const Vector error = filter->belief().x - truth.states.back();
    nees += error.dot(solve_symmetric(filter->belief().p, error).col(0));
  }
  EXPECT_GT(nees, chi_square_quantile(0.9995, 30.0));
}

TEST(Estimators, agree_on_a_linear_problem) {
  Plant plant(wandering_source());
  plant.draw(3);
  const auto end = [&](Filter& filter) {
    plant.lead(filter, [](int, const Innovations&) {});
    return filter.belief();
  };
  const auto kalman = extended_filter(plant.twin, plant.plain());
  const Belief right = end(*kalman);
  for (const char* name : {"kf", "ekf", "pkf", "ukf", "steady"}) {
    const auto filter = plant.make(name);
    const Belief belief = end(*filter);
    // After 4 s the start is not quite forgotten.
    const double equal = std::string_view(name) == "steady" ? 1e-4 : 1e-7;
    EXPECT_LT((belief.x - right.x).norm(), equal * right.x.norm()) << name;
    EXPECT_LT((belief.p - right.p).norm(), equal * right.p.norm()) << name;
  }
}

TEST(Smoother, is_nearer_to_the_truth_than_the_filter_and_knows_it) {
  Plant plant(wandering_source());
  double filtered = 0.0, smoothed = 0.0, covered = 0.0;
  for (int seed = 1; seed <= 20; ++seed) {
    plant.draw(static_cast<std::uint64_t>(seed));
    const auto filter = extended_filter(plant.twin, plant.plain());
    const auto n = static_cast<Eigen::Index>(plant.twin.size());
    Smoother smoother;
    Belief corrected;
    Innovations innovations{std::vector<double>(2), std::vector<double>(2), std::vector<char>(2), 0.0};
    for (int row = 0; row < rows; ++row) {
      if (row > 0) {
        corrected = filter->belief();
        ASSERT_TRUE(filter->predict(step * (row - 1), nullptr, nullptr));
        smoother.keep(static_cast<std::size_t>(row), corrected, filter->transition(), filter->belief());
      }
      ASSERT_TRUE(filter->correct(step * row, nullptr, &plant.readings[static_cast<std::size_t>(row) * 2],
                                  innovations));
      filtered += (filter->belief().x - plant.states[static_cast<std::size_t>(row)]).squaredNorm();
    }
    smoothed += (filter->belief().x - plant.states.back()).squaredNorm();
    smoother.run(filter->belief(), [&](std::size_t row, const Belief& belief) {
      const Vector error = belief.x - plant.states[row];
      smoothed += error.squaredNorm();
      for (Eigen::Index i = 0; i < n; ++i)
        covered += (std::abs(error[i]) <= 1.959964 * std::sqrt(belief.p(i, i))) / (20.0 * n * (rows - 1));
    });
  }
  EXPECT_LT(smoothed, 0.6 * filtered);
  EXPECT_GT(covered, 0.90);
  EXPECT_LT(covered, 0.98);
}

}  // namespace consistency_test
}  // namespace tellegen
