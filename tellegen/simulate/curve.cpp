#include "tellegen/simulate/curve.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

constexpr double last_point = RunCurves::points - 1;
constexpr double same_level = 1e-12;  // of a curve's magnitude

double value_of(const std::array<double, 5>& c, double u) {
  return c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * c[4])));
}

std::array<double, 5> derivative_of(const std::array<double, 5>& c) {
  return {c[1], 2 * c[2], 3 * c[3], 4 * c[4], 0.0};
}

// Of values of different signs, or one of them zero.
double root_between(const std::array<double, 5>& c, double low, double high) {
  const bool below = value_of(c, low) < 0.0;
  for (int k = 0; k < 60; ++k) {
    const double middle = 0.5 * (low + high);
    ((value_of(c, middle) < 0.0) == below ? low : high) = middle;
  }
  return high;
}

// Where a polynomial of this degree changes its sign, in order: between such places of its derivative it is
// monotone.
std::vector<double> roots_of(const std::array<double, 5>& c, int degree, double low, double high) {
  std::vector<double> ends{low};
  if (degree > 1)
    for (const double u : roots_of(derivative_of(c), degree - 1, low, high)) ends.push_back(u);
  ends.push_back(high);
  std::vector<double> roots;
  for (std::size_t k = 0; k + 1 < ends.size(); ++k)
    if ((value_of(c, ends[k]) < 0.0) != (value_of(c, ends[k + 1]) < 0.0))
      roots.push_back(root_between(c, ends[k], ends[k + 1]));
  return roots;
}

// Gauss and Legendre's five points on [-1, 1].
constexpr std::array<double, 5> gauss_at{-0.9061798459386640, -0.5384693101056831, 0.0, 0.5384693101056831,
                                         0.9061798459386640};
constexpr std::array<double, 5> gauss_weight{0.2369268850561891, 0.4786286704993665, 0.5688888888888889,
                                             0.4786286704993665, 0.2369268850561891};

}  // namespace

struct Curve::Quartic {
  double begin, length;
  std::array<double, 5> c;
  double u(double t) const {
    return length > 0.0 ? std::clamp(last_point * (t - begin) / length, 0.0, last_point) : 0.0;
  }
  double t(double u) const { return begin + length * u / last_point; }
};

Curve::Quartic Curve::panel(std::size_t k) const {
  const auto y = record_.panel_values(k, curve_);
  const double d1 = y[1] - y[0], d2 = y[2] - 2 * y[1] + y[0], d3 = y[3] - 3 * y[2] + 3 * y[1] - y[0],
               d4 = y[4] - 4 * y[3] + 6 * y[2] - 4 * y[1] + y[0];
  const double begin = record_.panel_begin(k);
  return {begin,
          record_.panel_end(k) - begin,
          {y[0], d1 - d2 / 2 + d3 / 3 - d4 / 4, d2 / 2 - d3 / 2 + 11 * d4 / 24, d3 / 6 - d4 / 4, d4 / 24}};
}

double Curve::value(double t) const {
  const Quartic q = panel(record_.panel_at(t));
  return value_of(q.c, q.u(t));
}

double Curve::slope(double t) const {
  const Quartic q = panel(record_.panel_at(t));
  return q.length > 0.0 ? value_of(derivative_of(q.c), q.u(t)) * last_point / q.length : 0.0;
}

Curve::Extreme Curve::extreme(double from, double to, double sign) const {
  Extreme best{value(from), from};
  const auto look = [&](const Quartic& q, double u) {
    if (const double v = value_of(q.c, u); sign * v > sign * best.value) best = {v, q.t(u)};
  };
  const std::size_t last = record_.panel_at(to);
  for (std::size_t k = record_.panel_at(from); k <= last; ++k) {
    const Quartic q = panel(k);
    const double low = q.u(from), high = q.u(to);
    look(q, low);
    for (const double u : roots_of(derivative_of(q.c), 3, low, high)) look(q, u);
    look(q, high);
  }
  return best;
}

template <class Integrand>
double Curve::integral(double from, double to, double longest, const Integrand& f) const {
  double sum = 0.0;
  const std::size_t last = record_.panel_at(to);
  for (std::size_t k = record_.panel_at(from); k <= last; ++k) {
    const Quartic q = panel(k);
    const double low = std::max(from, q.begin), high = std::min(to, q.begin + q.length);
    if (!(high > low)) continue;
    const double parts = longest > 0.0 ? std::ceil((high - low) / longest) : 1.0;
    const double half = 0.5 * (high - low) / parts;
    for (double part = 0.0; part < parts; ++part)
      for (std::size_t g = 0; g < gauss_at.size(); ++g) {
        const double t = low + half * (2 * part + 1 + gauss_at[g]);
        sum += half * gauss_weight[g] * f(value_of(q.c, q.u(t)), t);
      }
  }
  return sum;
}

double Curve::integral(double from, double to) const {
  return integral(from, to, 0.0, [](double v, double) { return v; });
}

double Curve::mean_square(double from, double to) const {
  return integral(from, to, 0.0, [](double v, double) { return v * v; }) / (to - from);
}

std::complex<double> Curve::fourier(double from, double period, int harmonic) const {
  const double w = 2 * M_PI * harmonic / period;
  const double longest = harmonic == 0 ? 0.0 : period / (8.0 * harmonic);
  const double to = from + period;
  const double real =
      integral(from, to, longest, [&](double v, double t) { return v * std::cos(w * (t - from)); });
  const double imaginary =
      integral(from, to, longest, [&](double v, double t) { return v * std::sin(w * (t - from)); });
  return {real, imaginary};
}

std::vector<Curve::Crossing> Curve::crossings(double level, double after, double until) const {
  std::vector<Crossing> found;
  const double nothing = same_level * std::max(record_.largest(curve_), std::abs(level));
  const auto side = [&](double v) { return v > nothing ? 1 : v < -nothing ? -1 : 0; };
  int before = side(value(after) - level);
  const std::size_t last = record_.panel_at(until);
  for (std::size_t k = record_.panel_at(after); k <= last; ++k) {
    Quartic q = panel(k);
    q.c[0] -= level;
    const double begin = q.u(after), end = q.u(until);
    std::vector<double> ends = roots_of(derivative_of(q.c), 3, begin, end);
    ends.push_back(end);
    double low = begin;
    for (const double high : ends) {
      const int now = side(value_of(q.c, high));
      if (before * now < 0 || (before != 0 && now == 0)) {
        const bool passes = (value_of(q.c, low) < 0.0) != (value_of(q.c, high) < 0.0);
        found.push_back({q.t(passes ? root_between(q.c, low, high) : high), before < 0});
      }
      before = now;
      low = high;
    }
  }
  return found;
}

}  // namespace tellegen
