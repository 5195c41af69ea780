#include "tellegen/simulate/scheme.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tellegen {
namespace scheme_test {

// rate - alpha x - history for x = t^degree, at t = 1 after steps of h.
double defect(const Scheme& s, int degree, double h) {
  const auto x = [&](int age) { return std::pow(1.0 - h * age, degree); };
  double rate = s.alpha * x(0);
  for (int k = 0; k < 3; ++k) rate += s.past[k] * x(k + 1);
  if (s.uses_rate) rate += s.past_rate * degree * std::pow(1.0 - h, degree - 1);
  return rate - degree;
}

TEST(Scheme, bdf_of_order_k_differentiates_polynomials_of_degree_k_exactly) {
  for (int order = 1; order <= 3; ++order) {
    for (int degree = 0; degree <= order; ++degree)
      EXPECT_NEAR(defect(bdf(order, 0.1), degree, 0.1), 0.0, 1e-12);
    EXPECT_GT(std::abs(defect(bdf(order, 0.1), order + 1, 0.1)), 1e-4);
    EXPECT_EQ(bdf(order, 0.1).past_values, order);
  }
}

TEST(Scheme, trapezoidal_differentiates_a_quadratic_exactly) {
  for (int degree = 0; degree <= 2; ++degree) EXPECT_NEAR(defect(trapezoidal(0.1), degree, 0.1), 0.0, 1e-12);
  EXPECT_GT(std::abs(defect(trapezoidal(0.1), 3, 0.1)), 1e-4);
}

TEST(Scheme, a_formula_scales_with_the_step) {
  for (int order = 1; order <= 3; ++order) EXPECT_DOUBLE_EQ(bdf(order, 0.2).alpha, bdf(order, 0.1).alpha / 2);
}

}  // namespace scheme_test
}  // namespace tellegen
