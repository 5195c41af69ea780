#include "tellegen/magnetics/extraction.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tellegen {
namespace extraction_test {

constexpr QdModel truth{377.0, 0.17, 0.8e-3, 3e-3, 4.5e-3, 11.0, 4.0};

// A record of the qd0 model itself, by the trapezoidal rule at its own samples.
MachineRecord record_of(const QdModel& m, std::size_t samples) {
  MachineRecord record;
  record.interval = 2e-4;
  record.field_current = 0.25;
  const double v[3] = {10.0, 1.0, 0.25}, h = record.interval;
  const double L[3] = {m.L_ls + m.L_mq, m.L_ls + m.L_md, m.L_ls};
  const double field = 2.0 / 3.0 * m.turns_ratio * m.L_md * record.field_current;
  double lambda[3] = {0, 0, 0};
  const auto current = [&](const double* x, int k) { return (x[k] - (k == 1 ? field : 0.0)) / L[k]; };
  const auto rate = [&](const double* x, int k) {
    const double turning = k == 0 ? -m.w_r * x[1] : k == 1 ? m.w_r * x[0] : 0.0;
    return v[k] - m.r_s * current(x, k) + turning;
  };
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t k = 0; k < 3; ++k) {
      record.lambda[k].push_back(lambda[k]);
      record.i[k].push_back(current(lambda, static_cast<int>(k)));
      record.v[k].push_back(v[k]);
    }
    record.torque.push_back(0.75 * m.poles *
                            (lambda[1] * current(lambda, 0) - lambda[0] * current(lambda, 1)));
    double next[3] = {lambda[0], lambda[1], lambda[2]};
    for (int iteration = 0; iteration < 100; ++iteration) {  // a contraction: w_r*h/2 is small
      double better[3];
      for (int k = 0; k < 3; ++k) better[k] = lambda[k] + 0.5 * h * (rate(lambda, k) + rate(next, k));
      for (int k = 0; k < 3; ++k) next[k] = better[k];
    }
    for (int k = 0; k < 3; ++k) lambda[k] = next[k];
  }
  return record;
}

TEST(Extraction, finds_the_model_that_made_a_record) {
  const QdModel found = extract_qd0(record_of(truth, 100), 0, 100, Discretisation::trapezoidal);
  EXPECT_NEAR(found.w_r / truth.w_r, 1, 1e-9);
  EXPECT_NEAR(found.r_s / truth.r_s, 1, 1e-9);
  EXPECT_NEAR(found.L_ls / truth.L_ls, 1, 1e-9);
  EXPECT_NEAR(found.L_mq / truth.L_mq, 1, 1e-9);
  EXPECT_NEAR(found.L_md / truth.L_md, 1, 1e-9);
  EXPECT_NEAR(found.turns_ratio / truth.turns_ratio, 1, 1e-9);
  EXPECT_NEAR(found.poles / truth.poles, 1, 1e-9);
}

TEST(Extraction, forward_differences_bias_the_resistance) {
  const QdModel found = extract_qd0(record_of(truth, 100), 0, 100, Discretisation::forward);
  EXPECT_GT(std::abs(found.r_s / truth.r_s - 1), 0.05);
  EXPECT_NEAR(found.L_md / truth.L_md, 1, 1e-9);
}

TEST(Extraction, errors_of_linkages_are_those_of_the_inductance) {
  QdModel wrong = truth;
  wrong.L_ls *= 1.1;
  wrong.L_mq -= 0.1 * truth.L_ls;
  EXPECT_NEAR(linkage_errors(record_of(truth, 50), 0, 50, wrong)[2], 0.1, 1e-9);
  EXPECT_NEAR(linkage_errors(record_of(truth, 50), 0, 50, wrong)[0], 0.0, 1e-9);
}

TEST(Extraction, needs_samples) {
  EXPECT_THROW(extract_qd0(record_of(truth, 10), 0, 2, Discretisation::forward), std::invalid_argument);
  EXPECT_THROW(extract_qd0(record_of(truth, 10), 0, 11, Discretisation::forward), std::invalid_argument);
}

}  // namespace extraction_test
}  // namespace tellegen
