#include <algorithm>
#include <cmath>

#include "benchmarks/best_of.h"
#include "benchmarks/limit_steps.h"
#include "benchmarks/limits.h"

// The bridge, reduced exactly. With S = 2 + I/I0 and d the difference of the exponents of two facing diodes,
//
//   n d + R_s I0 S tanh(d/2) = E                                    (scalar, odd in E)
//   L I_dot = f(I, E) = -n (u + w) - (R_s + R) I,   u + w = 2 ln S - 2 ln(2 cosh(d/2))
//
// n = ideality times thermal voltage. Away from a commutation (d > 40) tanh(d/2) = 1 to rounding and the
// scalar equation solves itself: f = |E| - 2 R_s I0 - 2 n ln S - (R + 2 R_s) I. That is 99 steps of 100.

namespace tellegen {
namespace {

using namespace limit;

constexpr double thermal_voltage = 1.380649e-23 * 300 / 1.602176634e-19;
constexpr double n = 1.5 * thermal_voltage, saturation = 1e-15, series = 1e-3;
constexpr double resistance = 10, inductance = 0.1;

// n d + k tanh(d/2) = e for e >= 0. The left side is concave, so Newton rises to the root after one step.
double exponent_difference(double k, double e) {
  double d = e > 2 * k ? (e - k) / n : e / (n + k / 2);
  for (int iteration = 0; iteration < 30; ++iteration) {
    const double t = std::tanh(d / 2);
    const double change = (e - n * d - k * t) / (n + k / 2 * (1 - t * t));
    d += change;
    if (std::abs(change) < 1e-13 * (1 + d)) break;
  }
  return d;
}

struct Slope {
  double f, df_di;
};

Slope evaluate(double i, double e) {
  const double s = 2 + i / saturation, k = series * saturation * s;
  const double conduction_voltage = std::abs(e) - k;
  if (conduction_voltage > 40 * n) {
    return {conduction_voltage - 2 * n * std::log(s) - (series + resistance) * i,
            -2 * n / (saturation * s) - (2 * series + resistance)};
  }
  const double d = exponent_difference(k, std::abs(e)), t = std::tanh(d / 2);
  const double dd_di = -series * t / (n + k / 2 * (1 - t * t));
  return {n * d - 2 * n * (std::log(s) - std::log1p(std::exp(-d))) - (series + resistance) * i,
          n * t * dd_di - 2 * n / (saturation * s) - (series + resistance)};
}

// V2 - V3: junction and series resistance of diode 1.
double diode_voltage(double i, double e) {
  const double s = 2 + i / saturation;
  const double d = exponent_difference(series * saturation * s, std::abs(e));
  const double u = std::log(s) - std::log1p(std::exp(-d)) - (e < 0 ? d : 0);
  return n * u + series * saturation * std::expm1(u);
}

// Solves i = past + c f(i, e) from the guess i. The step takes f at the solution from the equation itself.
double solve(double i, double past, double c, double e) {
  for (int iteration = 0; iteration < 60; ++iteration) {
    const Slope slope = evaluate(i, e);
    double change = (past + c * slope.f - i) / (1 - c * slope.df_di);
    // The logarithm ends at i = -2 I0, and no solution lies below -I0: stop short of it.
    if (i + change <= -saturation) change = -(i + saturation) * (1 - 1e-3);
    i += change;
    // What the logarithm's curvature leaves for the next iteration, c n (change / i)^2.
    const double relative = change / (i + 2 * saturation);
    if (std::abs(relative) < 0.1 && c * n * relative * relative < 1e-14 + 1e-10 * std::abs(i)) break;
  }
  return i;
}

}  // namespace

LimitRun limit_rectifier(LimitFormula formula, double h, double budget) {
  Samples samples(1, 1000, h);
  const Bdf& bdf = formula == LimitFormula::bdf2 ? bdf2 : bdf3;
  const long starting_steps = formula == LimitFormula::trapezoidal ? samples.steps() : bdf.order - 1;
  const double trapezoidal_c = h / (2 * inductance), bdf_c = h / (bdf.leading * inductance);
  const double h1 = bdf.h1 / bdf.leading, h2 = bdf.h2 / bdf.leading, h3 = bdf.h3 / bdf.leading;
  const auto run = [&] {
    samples.restart();
    SineSource source(h);
    double i = 0, i_1 = 0, i_2 = 0, f = 0;
    for (long k = 0; k < samples.steps(); ++k) {
      const double e = source.next();
      const bool starting = k < starting_steps;
      const double c = starting ? trapezoidal_c : bdf_c;
      const double past = starting ? i + c * f : h1 * i + h2 * i_1 + h3 * i_2;
      const double guess = std::max(0.0, k < 3 ? i : 3 * (i - i_1) + i_2);
      const double i_next = solve(guess, past, c, e);
      f = (i_next - past) / c;
      i_2 = i_1, i_1 = i, i = i_next;
      samples.step([&] { return Monitored{diode_voltage(i, e), i}; });
    }
  };
  return samples.finish(best_of(run, budget));
}

}  // namespace tellegen
