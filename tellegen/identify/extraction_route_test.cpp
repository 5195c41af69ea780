#include "tellegen/identify/extraction_route.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace tellegen {
namespace extraction_route_test {

constexpr QdModel truth{377.0, 0.17, 0.8e-3, 3e-3, 4.5e-3, 11.0, 4.0};

std::array<double, 7> numbers(const QdModel& m) {
  return {m.w_r, m.r_s, m.L_ls, m.L_mq, m.L_md, m.turns_ratio, m.poles};
}

double largest_error(const QdModel& found, const QdModel& wanted) {
  double most = 0.0;
  for (int k = 0; k < 7; ++k) most = std::max(most, std::abs(numbers(found)[k] / numbers(wanted)[k] - 1.0));
  return most;
}

// A record of the qd0 model itself by a rule, in units of the published problem.
MachineRecord record_of(const QdModel& m, std::size_t samples, Discretisation rule) {
  MachineRecord record;
  record.interval = 2.22e-4;
  record.field_current = 0.25;
  const double v[3] = {10.0, 1.0, 0.25}, h = record.interval;
  const double now = rule == Discretisation::forward ? 0.0 : 0.5;
  const double L[3] = {m.L_ls + m.L_mq, m.L_ls + m.L_md, m.L_ls};
  const double field = 2.0 / 3.0 * m.turns_ratio * m.L_md * record.field_current;
  std::array<double, 3> lambda{};
  const auto current = [&](const std::array<double, 3>& x, int k) {
    return (x[k] - (k == 1 ? field : 0.0)) / L[k];
  };
  const auto rate = [&](const std::array<double, 3>& x, int k) {
    const double turning = k == 0 ? -m.w_r * x[1] : k == 1 ? m.w_r * x[0] : 0.0;
    return v[k] - m.r_s * current(x, k) + turning;
  };
  for (std::size_t s = 0; s < samples; ++s) {
    for (int k = 0; k < 3; ++k) {
      record.lambda[k].push_back(lambda[k]);
      record.i[k].push_back(current(lambda, k));
      record.v[k].push_back(v[k]);
    }
    record.torque.push_back(0.75 * m.poles *
                            (lambda[1] * current(lambda, 0) - lambda[0] * current(lambda, 1)));
    std::array<double, 3> next = lambda;
    for (int iteration = 0; iteration < 100; ++iteration) {  // a contraction: w_r*h/2 is small
      std::array<double, 3> better{};
      for (int k = 0; k < 3; ++k)
        better[k] = lambda[k] + h * ((1.0 - now) * rate(lambda, k) + now * rate(next, k));
      next = better;
    }
    lambda = next;
  }
  return record;
}

std::array<double, 3> first_of(const std::array<std::vector<double>, 3>& x) {
  return {x[0].front(), x[1].front(), x[2].front()};
}

TEST(extraction_route, ends_at_the_model_that_made_a_record_as_least_squares_do) {
  for (const Discretisation rule : {Discretisation::forward, Discretisation::trapezoidal}) {
    const MachineRecord record = record_of(truth, 60, rule);
    const ExtractionRelaxation relaxed = relax_extraction(record, 0, 60, rule);
    const ExtractionSearch found =
        search_extraction(record, 0, 60, rule, relaxed.model, first_of(relaxed.lambda));
    EXPECT_TRUE(found.converged);
    EXPECT_LE(found.objective, 1e-12);
    EXPECT_LE(largest_error(found.model, truth), 1e-6);
    EXPECT_LE(largest_error(found.model, extract_qd0(record, 0, 60, rule)), 1e-6);
  }
}

TEST(extraction_route, a_window_may_begin_anywhere) {
  const MachineRecord record = record_of(truth, 100, Discretisation::forward);
  const ExtractionRelaxation relaxed = relax_extraction(record, 40, 100, Discretisation::forward);
  const ExtractionSearch found =
      search_extraction(record, 40, 100, Discretisation::forward, relaxed.model, first_of(relaxed.lambda));
  EXPECT_LE(largest_error(found.model, truth), 1e-6);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(found.lambda[k], record.lambda[k][40], 1e-9);
}

TEST(extraction_route, the_infimum_of_the_relaxation_is_zero_and_leaves_the_parameters_open) {
  const MachineRecord record = record_of(truth, 60, Discretisation::forward);
  const ExtractionRelaxation found = relax_extraction(record, 0, 60, Discretisation::forward);
  EXPECT_EQ(found.status, ConicStatus::solved);
  EXPECT_EQ(found.variables, 13 + 25 * 60);
  EXPECT_EQ(found.equalities, 4 * 60 + 3 * 59);
  EXPECT_EQ(found.cones, 11u * 60u);
  EXPECT_LE(std::abs(found.objective), 1e-6 * found.scale);
  EXPECT_GE(found.largest_square, 1e3);  // which carry no cost
  EXPECT_GE(found.largest_slack, 1e-3);  // so the cones are slack
  EXPECT_GE(largest_error(found.model, truth), 0.1);
}

// On the central path the mismatches of products are weighed by what is left to the tolerance.
TEST(extraction_route, a_sharper_tolerance_comes_nearer_to_least_squares) {
  const MachineRecord record = record_of(truth, 60, Discretisation::forward);
  ExtractionRelaxationOptions options;
  options.conic.gap = options.conic.feasibility = 1e-6;
  const double coarse =
      largest_error(relax_extraction(record, 0, 60, Discretisation::forward, options).model, truth);
  options.conic.gap = options.conic.feasibility = 1e-9;
  const double fine =
      largest_error(relax_extraction(record, 0, 60, Discretisation::forward, options).model, truth);
  EXPECT_LE(fine, 0.5 * coarse);
}

ExtractionRelaxation lifted(const MachineRecord& record, const QdModel& model) {
  ExtractionRelaxation result;
  result.model = model;
  result.lambda = record.lambda, result.i = record.i, result.torque = record.torque;
  return result;
}

// The penalty has its minimum, and the fit too, where everything is as it was: zero, at the truth.
TEST(extraction_route, a_penalty_around_the_truth_has_its_minimum_there) {
  const MachineRecord record = record_of(truth, 50, Discretisation::forward);
  const ExtractionRelaxation around = lifted(record, truth);
  const ExtractionRelaxation found = relax_extraction(record, 0, 50, Discretisation::forward, {}, &around);
  EXPECT_EQ(found.status, ConicStatus::solved);
  EXPECT_NEAR(found.objective, 0.0, 1e-6 * found.scale);
  EXPECT_LE(found.largest_slack, 1e-6);
  EXPECT_LE(largest_error(found.model, truth), 1e-3);
}

TEST(extraction_route, two_formulations_have_one_optimum) {
  QdModel wrong = truth;
  wrong.r_s *= 1.3, wrong.L_md *= 0.8, wrong.L_ls *= 1.5, wrong.poles = 5.0;
  for (const Discretisation rule : {Discretisation::forward, Discretisation::trapezoidal})
    for (const double penalty : {0.01, 1.0}) {
      const MachineRecord record = record_of(truth, 50, rule);
      const ExtractionRelaxation around = lifted(record, wrong);
      ExtractionRelaxationOptions options;
      options.penalty = penalty;
      options.conic.gap = options.conic.feasibility = 1e-10;
      const auto published = relax_extraction(record, 0, 50, rule, options, &around);
      options.eliminated = true;
      const auto eliminated = relax_extraction(record, 0, 50, rule, options, &around);
      EXPECT_EQ(eliminated.equalities, 0);
      EXPECT_GE(published.objective, 1e-4 * published.scale);
      EXPECT_NEAR(eliminated.objective, published.objective, 1e-6 * published.objective);
      EXPECT_LE(largest_error(eliminated.model, published.model), 1e-3);
    }
}

TEST(extraction_route, rounds_of_the_penalty_end_at_a_point_of_the_problem_itself) {
  const MachineRecord record = record_of(truth, 60, Discretisation::forward);
  ExtractionRelaxation last = relax_extraction(record, 0, 60, Discretisation::forward);
  for (int round = 0; round < 5; ++round)
    last = relax_extraction(record, 0, 60, Discretisation::forward, {}, &last);
  EXPECT_LE(last.largest_slack, 1e-6);
  EXPECT_LE(std::abs(last.largest_square - 1.0), 1e-4);
}

TEST(extraction_route, wrong_records_are_refused) {
  MachineRecord record = record_of(truth, 10, Discretisation::forward);
  EXPECT_THROW(relax_extraction(record, 0, 2, Discretisation::forward), std::invalid_argument);
  EXPECT_THROW(relax_extraction(record, 0, 11, Discretisation::forward), std::invalid_argument);
  record.i[1][5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(relax_extraction(record, 0, 10, Discretisation::forward), std::invalid_argument);
  EXPECT_THROW(search_extraction(record, 0, 10, Discretisation::forward, truth, {0, 0, 0}),
               std::invalid_argument);
  EXPECT_NO_THROW(relax_extraction(record, 0, 5, Discretisation::forward));
}

}  // namespace extraction_route_test
}  // namespace tellegen
