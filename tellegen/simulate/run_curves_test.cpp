#include "tellegen/simulate/run_curves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/curve.h"

namespace tellegen {
namespace run_curves_test {

using Function = double (*)(double);

// Steps of equal length over [0, 1], each given to the record as an integrator would.
RunCurves curves_of(Function f, int steps, int* solutions = nullptr) {
  RunCurves curves(1, 1e-6);
  for (int k = 0; k < steps; ++k)
    curves.add_step(static_cast<double>(k) / steps, static_cast<double>(k + 1) / steps,
                    [&](double t, double* y) {
                      if (solutions) ++*solutions;
                      *y = f(t);
                      return true;
                    });
  return curves;
}

double sine(double t) { return std::sin(2 * M_PI * t); }

TEST(run_curves, the_maximum_of_a_sine_lies_between_its_points) {
  const RunCurves curves = curves_of(sine, 7);
  const Curve curve(curves, 0);
  EXPECT_NEAR(curve.maximum(0, 1).value, 1.0, 1e-5);
  EXPECT_NEAR(curve.maximum(0, 1).at, 0.25, 1e-4);
  EXPECT_NEAR(curve.minimum(0, 1).value, -1.0, 1e-5);
  EXPECT_NEAR(curve.maximum(0, 0.1).value, sine(0.1), 1e-6);  // at the end of a span
}

// A curve at rest but for the rounding of larger ones is no reason to divide steps.
TEST(run_curves, with_a_magnitude_rounding_is_not_looked_at) {
  const auto solutions = [](std::vector<double> magnitudes) {
    RunCurves curves(1, 1e-6, std::move(magnitudes));
    int count = 0;
    for (int k = 0; k < 10; ++k)
      curves.add_step(k, k + 1, [&](double t, double* y) {
        ++count;
        *y = 1e-9 * std::sin(1e3 * t);
        return true;
      });
    return count;
  };
  EXPECT_EQ(solutions({1.0}), 41);
  EXPECT_GT(solutions({}), 400);
}

TEST(run_curves, integrals_and_values_are_those_of_the_function) {
  const RunCurves curves = curves_of(sine, 7);
  const Curve curve(curves, 0);
  EXPECT_NEAR(curve.integral(0, 0.5), 1 / M_PI, 1e-6);
  EXPECT_NEAR(curve.mean_square(0, 1), 0.5, 1e-6);
  EXPECT_NEAR(curve.value(0.3), sine(0.3), 1e-6);
  EXPECT_NEAR(curve.slope(0.3), 2 * M_PI * std::cos(0.6 * M_PI), 1e-3);
}

TEST(run_curves, crossings_are_counted_once_each_with_their_direction) {
  const RunCurves curves = curves_of(sine, 7);
  const auto found = Curve(curves, 0).crossings(0.5, 0, 1);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].at, 1.0 / 12, 1e-6);
  EXPECT_TRUE(found[0].rising);
  EXPECT_NEAR(found[1].at, 5.0 / 12, 1e-6);
  EXPECT_FALSE(found[1].rising);
  EXPECT_EQ(Curve(curves, 0).crossings(0.5, 0.1, 1).size(), 1u);
  EXPECT_TRUE(Curve(curves, 0).crossings(1.5, 0, 1).empty());
}

TEST(run_curves, a_kink_within_a_step_is_found_by_dividing_it) {
  int solutions = 0;
  const RunCurves curves = curves_of([](double t) { return std::max(0.0, t - 0.3); }, 1, &solutions);
  EXPECT_GT(curves.panels(), 1u);
  EXPECT_LT(solutions, 100);
  const auto found = Curve(curves, 0).crossings(0.01, 0, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at, 0.31, 1e-6);
  EXPECT_NEAR(Curve(curves, 0).integral(0, 1), 0.5 * 0.7 * 0.7, 1e-6);
}

TEST(run_curves, a_step_that_is_taken_back_leaves_nothing) {
  RunCurves curves(1, 1e-6);
  const auto add = [&](double from, double to, double value) {
    curves.add_step(from, to, [&](double, double* y) {
      *y = value;
      return true;
    });
  };
  add(0, 1, 1.0);
  add(1, 2, 50.0);
  add(1, 1.5, 1.0);
  EXPECT_EQ(curves.end(), 1.5);
  EXPECT_EQ(Curve(curves, 0).maximum(0, 1.5).value, 1.0);
}

TEST(run_curves, across_a_jump_lies_a_short_panel) {
  RunCurves curves(1, 1e-6);
  for (const auto& [from, to, value] : {std::array{0.0, 1.0, 0.0}, std::array{1.0 + 1e-9, 2.0, 5.0}})
    curves.add_step(from, to, [v = value](double, double* y) {
      *y = v;
      return true;
    });
  const auto found = Curve(curves, 0).crossings(2.5, 0, 2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at, 1.0, 1e-8);
  EXPECT_NEAR(Curve(curves, 0).integral(0, 2), 5.0, 1e-7);
}

TEST(run_curves, rows_are_joined_by_polynomials_where_they_are_smooth_and_by_lines_elsewhere) {
  std::vector<double> t, rows;
  for (int k = 0; k <= 40; ++k) {
    t.push_back(k / 40.0);
    rows.push_back(sine(t.back()));
    rows.push_back(k < 20 ? 0.0 : 1.0);
  }
  RunCurves smooth(1, 1e-6), jump(1, 1e-6);
  smooth.add_rows(t, rows.data(), 2);
  jump.add_rows(t, rows.data() + 1, 2);
  EXPECT_NEAR(Curve(smooth, 0).maximum(0, 1).value, 1.0, 1e-5);
  EXPECT_LE(Curve(jump, 0).maximum(0, 1).value, 1.0);  // no overshoot
  EXPECT_NEAR(Curve(jump, 0).crossings(0.5, 0, 1).at(0).at, 19.5 / 40, 1e-9);
}

TEST(run_curves, leaving_a_level_where_it_lay_is_no_crossing) {
  const RunCurves curves = curves_of([](double t) { return t < 0.5 ? 0.0 : t - 0.5; }, 8);
  EXPECT_TRUE(Curve(curves, 0).crossings(0.0, 0, 1).empty());
}

TEST(run_curves, a_fourier_integral_of_a_sawtooth_has_its_harmonics) {
  const RunCurves curves = curves_of([](double t) { return t; }, 5);
  const auto sum = Curve(curves, 0).fourier(0, 1, 3);
  EXPECT_NEAR(sum.real(), 0.0, 1e-9);
  EXPECT_NEAR(sum.imag(), -1 / (2 * M_PI * 3), 1e-9);
}

}  // namespace run_curves_test
}  // namespace tellegen
