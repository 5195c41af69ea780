#include "tellegen/sweep/indices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace tellegen {
namespace indices_test {

constexpr double pi = std::numbers::pi;
const std::vector<Axis> cube{
    {"x1", "", -pi, pi, false, {}}, {"x2", "", -pi, pi, false, {}}, {"x3", "", -pi, pi, false, {}}};

double ishigami(std::span<const double> x) {
  return std::sin(x[0]) + 7 * std::pow(std::sin(x[1]), 2) + 0.1 * std::pow(x[2], 4) * std::sin(x[0]);
}

std::vector<double> results_of(const SampleSet& samples, double (*f)(std::span<const double>)) {
  std::vector<double> results;
  for (std::size_t r = 0; r < samples.rows(); ++r) results.push_back(f(samples.row(r)));
  return results;
}

// Closed form, a = 7, b = 0.1 [Ishigami and Homma 1990]: V = a^2/8 + b pi^4/5 + b^2 pi^8/18 + 1/2,
// V1 = (1 + b pi^4/5)^2/2, V2 = a^2/8, V13 = 8 b^2 pi^8/225.
TEST(Indices, sobol_finds_those_of_ishigami_s_function) {
  const auto results = results_of(sobol_samples(cube, 4096, 1), ishigami);
  const auto indices = sobol_indices(3, results, 1);
  const double p4 = std::pow(pi, 4), p8 = p4 * p4, v = 49.0 / 8 + 0.1 * p4 / 5 + 0.01 * p8 / 18 + 0.5,
               v1 = std::pow(1 + 0.1 * p4 / 5, 2) / 2, v2 = 49.0 / 8, v13 = 8 * 0.01 * p8 / 225;
  const double first[] = {v1 / v, v2 / v, 0}, total[] = {(v1 + v13) / v, v2 / v, v13 / v};
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(indices[k].first.value, first[k], 0.03) << k;
    EXPECT_NEAR(indices[k].total.value, total[k], 0.03) << k;
    EXPECT_LT(indices[k].first.low, first[k]);
    EXPECT_GT(indices[k].first.high, first[k]);
    EXPECT_LT(indices[k].total.low, total[k]);
    EXPECT_GT(indices[k].total.high, total[k]);
    EXPECT_LT(indices[k].first.high - indices[k].first.low, 0.12);
  }
}

// All effects of a grid of four levels written out: x is -pi, -pi/3, pi/3 or pi.
TEST(Indices, morris_finds_those_of_ishigami_s_function) {
  const SampleSet samples = morris_samples(cube, 4000, 1);
  const auto indices = morris_indices(cube, samples, results_of(samples, ishigami));
  const double half = std::sqrt(3.0) / 2, high = 0.1 * std::pow(pi, 4), low = 0.1 * std::pow(pi / 3, 4);
  EXPECT_NEAR(indices[0].mu, 1.5 * half * (1 + (high + low) / 2), 0.3);
  EXPECT_NEAR(indices[0].sigma, 1.5 * half * (high - low) / 2, 0.1);
  EXPECT_NEAR(indices[1].mu, 0.0, 0.4);
  EXPECT_NEAR(indices[1].mu_star, 7.875, 1e-9);  // 7*0.75*1.5, whichever step
  EXPECT_NEAR(indices[2].mu, 0.0, 0.4);
  EXPECT_NEAR(indices[2].mu_star, 1.5 * half * (high - low) / 2, 0.3);
  EXPECT_EQ(indices[2].effects, 4000u);
}

double linear(std::span<const double> x) { return 3 * x[0] - 2 * x[1] + 100; }

TEST(Indices, of_a_sum_are_its_terms) {
  const std::vector<Axis> axes{{"a", "", 0, 2, false, {}}, {"b", "", -1, 0, false, {}}};
  const SampleSet trajectories = morris_samples(axes, 10, 1);
  const auto morris = morris_indices(axes, trajectories, results_of(trajectories, linear));
  EXPECT_NEAR(morris[0].mu, 6, 1e-9);  // slope times range
  EXPECT_NEAR(morris[1].mu, -2, 1e-9);
  EXPECT_NEAR(morris[1].mu_star, 2, 1e-9);
  EXPECT_NEAR(morris[0].sigma, 0, 1e-9);
  const auto sobol = sobol_indices(2, results_of(sobol_samples(axes, 2000, 1), linear), 1);
  EXPECT_NEAR(sobol[0].first.value, 36.0 / 40, 0.02);
  EXPECT_NEAR(sobol[0].total.value, 36.0 / 40, 0.02);
  EXPECT_NEAR(sobol[1].first.value, 4.0 / 40, 0.02);
}

TEST(Indices, of_a_logarithmic_axis_are_in_the_logarithm) {
  const std::vector<Axis> axes{{"a", "", 1, 1000, true, {}}};
  const SampleSet samples = morris_samples(axes, 5, 1);
  const auto indices =
      morris_indices(axes, samples, results_of(samples, [](auto x) { return std::log10(x[0]); }));
  EXPECT_NEAR(indices[0].mu, 3, 1e-9);
  EXPECT_NEAR(indices[0].sigma, 0, 1e-9);
}

TEST(Indices, leave_out_what_a_failed_sample_is_part_of) {
  const std::vector<Axis> axes{{"a", "", 0, 2, false, {}}, {"b", "", -1, 0, false, {}}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const SampleSet trajectories = morris_samples(axes, 10, 1);
  auto results = results_of(trajectories, linear);
  results[1] = nan;  // in the middle of a trajectory
  const auto morris = morris_indices(axes, trajectories, results);
  EXPECT_EQ(morris[0].effects, 9u);
  EXPECT_EQ(morris[1].effects, 9u);
  EXPECT_NEAR(morris[0].mu, 6, 1e-9);
  auto blocks = results_of(sobol_samples(axes, 2000, 1), linear);
  blocks[4 * 7 + 2] = nan;
  EXPECT_NEAR(sobol_indices(2, blocks, 1)[0].first.value, 36.0 / 40, 0.02);
  const std::vector<double> none(8, nan);
  EXPECT_TRUE(std::isnan(sobol_indices(2, none, 1)[0].first.value));
}

TEST(Indices, of_a_constant_are_none) {
  const std::vector<double> same(40, 3.0);
  EXPECT_TRUE(std::isnan(sobol_indices(2, same, 1)[1].total.value));
}

TEST(Indices, ranks_see_monotone_dependence) {
  const std::vector<Axis> axes{{"a", "", 0, 5, false, {}}, {"b", "", 0, 5, false, {}}};
  const SampleSet samples = latin_hypercube(axes, 300, 1);
  const auto exp_of_a =
      rank_correlations(samples, results_of(samples, [](auto x) { return std::exp(-x[0]); }));
  EXPECT_NEAR(exp_of_a[0], -1, 1e-12);
  EXPECT_NEAR(exp_of_a[1], 0, 0.15);
  // Several results at once, one of which has no value in some samples.
  std::vector<std::vector<double>> several;
  for (int k = 0; k < 4; ++k) {
    auto& of_samples = several.emplace_back();
    for (std::size_t r = 0; r < samples.rows(); ++r)
      of_samples.push_back(k == 2 && samples.row(r)[0] < 1 ? std::numeric_limits<double>::quiet_NaN()
                                                           : samples.row(r)[0] - k * samples.row(r)[1]);
  }
  const auto together = rank_correlations(samples, several);
  for (std::size_t k = 0; k < several.size(); ++k)
    EXPECT_EQ(together[k], rank_correlations(samples, several[k])) << k;
  EXPECT_GT(together[0][0], together[3][0]);
}

TEST(Indices, a_summary_is_of_the_finite_results) {
  const std::vector<double> results{1, std::numeric_limits<double>::quiet_NaN(), 3, 5};
  const SampleSummary summary = summary_of(results);
  EXPECT_EQ(summary.count, 3u);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_EQ(summary.deviation, 2);
  EXPECT_EQ(summary.highest, 5);
}

}  // namespace indices_test
}  // namespace tellegen
