#include "tellegen/identify/relaxation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tellegen/identify/local_search.h"

namespace tellegen {
namespace relaxation_test {

// Table 5 of the source, conventional tests, with its B.
const InductionParameters machine{0.3207, 0.3087, 4.52, 3.23, 0.0037, 0.0089};

StartUp start_up(std::size_t samples, double noise = 0.0, double loss = 0.0) {
  StartUp data =
      euler_start_up(machine, 1e-4, samples, 220.0 * std::sqrt(2.0 / 3.0), 120.0 * std::acos(-1.0), 4);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (auto* readings : {&data.i_qs, &data.i_ds, &data.w_r}) {
    double most = 0.0;
    for (const double x : *readings) most = std::max(most, std::abs(x));
    for (double& x : *readings) {
      x += noise * most * normal(random);
      if (uniform(random) < loss) x = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return data;
}

RelaxationLimits limits_around(double factor) {
  RelaxationLimits limits;
  const auto v = machine.values();
  limits.low = {v[0] / factor, v[1] / factor, v[2] / factor, v[3] / factor, v[4] / factor, v[5] / factor};
  limits.high = {v[0] * factor, v[1] * factor, v[2] * factor, v[3] * factor, v[4] * factor, v[5] * factor};
  limits.flux = 1.0, limits.current = 40.0, limits.speed = 450.0;
  return limits;
}

// (3.8a) of the machine itself: its readings without noise against these.
double objective_of_truth(const StartUp& data) {
  const StartUp clean = start_up(data.samples());
  double sum = 0.0;
  for (std::size_t n = 0; n < data.samples(); ++n)
    for (const double d :
         {data.i_qs[n] - clean.i_qs[n], data.i_ds[n] - clean.i_ds[n], data.w_r[n] - clean.w_r[n]})
      if (!std::isnan(d)) sum += 0.1 * d * d;
  return sum;
}

void expect_machine(const InductionParameters& found, double relative) {
  for (int k = 0; k < 6; ++k)
    EXPECT_NEAR(found.values()[k], machine.values()[k], relative * machine.values()[k])
        << InductionParameters::names()[k];
}

TEST(relaxation, the_infimum_of_the_published_problem_is_zero_and_leaves_the_parameters_open) {
  const StartUp data = start_up(201);
  const Relaxation found = relax(data);
  EXPECT_EQ(found.status, ConicStatus::solved);
  EXPECT_LE(found.iterations, 70);
  EXPECT_LE(std::abs(found.objective), 1e-7 * found.scale);
  EXPECT_GE(found.largest_square, 1e3);  // which carry no cost
  EXPECT_GE(found.largest_slack, 1e-2);  // so the cones are slack
  EXPECT_FALSE(found.lower_bound.has_value());
  double off = 0.0;
  for (int k = 0; k < 6; ++k)
    off = std::max(off, std::abs(found.parameters.values()[k] / machine.values()[k] - 1.0));
  EXPECT_GE(off, 0.5);
}

TEST(relaxation, two_formulations_have_one_optimum) {
  for (const double noise : {0.0, 0.02}) {
    const StartUp data = start_up(151, noise);
    RelaxationOptions options;
    options.limits = limits_around(2.0);
    options.conic.gap = options.conic.feasibility = 1e-10;
    const Relaxation published = relax(data, options);
    options.eliminated = true;
    const Relaxation eliminated = relax(data, options);
    EXPECT_GE(published.objective, 0.1);
    EXPECT_NEAR(published.objective, eliminated.objective, 1e-6 * published.objective);
    EXPECT_NEAR(published.fit, eliminated.fit, 1e-5 * published.fit);
    EXPECT_EQ(eliminated.equalities, 0);
  }
}

TEST(relaxation, a_bound_is_claimed_in_limits_without_penalty_only) {
  const StartUp data = start_up(301, 0.02);
  RelaxationOptions options;
  options.limits = limits_around(1.5);
  EXPECT_FALSE(relax(data, options).lower_bound.has_value());
  options.penalty = 0.0;
  for (const bool eliminated : {false, true}) {
    options.eliminated = eliminated;
    const Relaxation found = relax(data, options);
    ASSERT_TRUE(found.lower_bound.has_value());
    EXPECT_LE(*found.lower_bound, objective_of_truth(data));
    EXPECT_LE(*found.lower_bound, found.objective + 1e-6 * found.scale);
    EXPECT_GE(*found.lower_bound, 0.1 * objective_of_truth(data));
  }
  options.limits.reset();
  EXPECT_FALSE(relax(data, options).lower_bound.has_value());
}

TEST(relaxation, every_sample_adds_the_same) {
  RelaxationOptions options;
  options.conic.most_iterations = 1;
  const Relaxation small = relax(start_up(200), options), large = relax(start_up(800), options);
  EXPECT_EQ(large.variables, 12 + 38 * 800);  // 36 and the torque with its square, as published
  EXPECT_EQ(large.equalities, 10 * 800 - 5);
  EXPECT_EQ(large.cones, 18u * 800u);
  EXPECT_NEAR(static_cast<double>(large.factor_nonzeros) / static_cast<double>(small.factor_nonzeros), 4.0,
              0.05);
}

TEST(relaxation, rotor_currents_are_guessed_as_published) {
  StartUp data = start_up(2501);
  data.i_qs[10] = std::numeric_limits<double>::quiet_NaN();
  const auto guess = guess_of_rotor_currents(data);
  EXPECT_EQ(guess[20][0], -data.i_qs[20]);
  EXPECT_NEAR(guess[10][0], -0.5 * (data.i_qs[9] + data.i_qs[11]), 1e-12);
  EXPECT_EQ(guess[2500][1], 0.0);
}

TEST(relaxation, the_local_search_ends_at_the_machine_where_readings_are_its_own) {
  const StartUp data = start_up(601);
  const Relaxation relaxed = relax(data);
  const LocalSearch found = search_locally(data, relaxed.parameters, relaxed.states);
  EXPECT_TRUE(found.converged);
  EXPECT_LE(found.objective, 1e-10);
  expect_machine(found.parameters, 1e-6);
}

TEST(relaxation, the_local_search_beats_the_truth_on_noisy_readings_with_losses) {
  const StartUp data = start_up(1001, 0.01, 0.1);
  RelaxationOptions options;
  options.limits = limits_around(4.0);
  options.conic.gap = 1e-6;
  const Relaxation relaxed = relax(data, options);
  const LocalSearch found = search_locally(data, relaxed.parameters, relaxed.states);
  EXPECT_TRUE(found.converged);
  EXPECT_LE(found.objective, objective_of_truth(data));
  EXPECT_GE(found.objective, 0.9 * objective_of_truth(data));
  EXPECT_EQ(found.states.size(), data.samples());
}

TEST(relaxation, the_model_does_not_reach_across_windows) {
  StartUp data = start_up(400);
  StartUp parts = data;  // the first and the last 150 samples
  for (auto* readings : {&parts.v_qs, &parts.v_ds, &parts.i_qs, &parts.i_ds, &parts.w_r})
    readings->erase(readings->begin() + 150, readings->begin() + 250);
  parts.windows = {0, 150};
  const Relaxation relaxed = relax(parts);
  EXPECT_EQ(relaxed.equalities, 10 * 300 - 2 * 5);
  const LocalSearch found = search_locally(parts, relaxed.parameters, relaxed.states);
  EXPECT_LE(found.objective, 1e-8);
  expect_machine(found.parameters, 1e-4);
}

}  // namespace relaxation_test
}  // namespace tellegen
