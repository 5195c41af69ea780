#include "tellegen/records/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace tellegen {
namespace {

// The regularised incomplete gamma function Q(a, x): its series below a + 1, its continued fraction above.
double gamma_above(double a, double x) {
  if (!(x > 0.0)) return 1.0;
  const double front = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1.0) {
    double term = 1.0 / a, sum = term;
    for (double k = a + 1.0; std::abs(term) > 1e-16 * std::abs(sum); k += 1.0) sum += term *= x / k;
    return 1.0 - front * sum;
  }
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;
  for (int k = 1; k < 10000; ++k) {
    const double an = -k * (k - a);
    b += 2.0;
    d = 1.0 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (std::abs(d * c - 1.0) < 1e-15) break;
  }
  return front * h;
}

template <class Function>
double root_between(double low, double high, const Function& rising) {
  for (int k = 0; k < 200; ++k) {
    const double middle = 0.5 * (low + high);
    (rising(middle) < 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double normal_quantile(double probability) {
  return root_between(-40.0, 40.0,
                      [&](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2) - probability; });
}

double chi_square_above(double value, double degrees) { return gamma_above(0.5 * degrees, 0.5 * value); }

double chi_square_quantile(double probability, double degrees) {
  double high = degrees + 10.0;
  while (chi_square_above(high, degrees) > 1.0 - probability && high < 1e9) high *= 2.0;
  return root_between(0.0, high, [&](double x) { return 1.0 - probability - chi_square_above(x, degrees); });
}

ChiSquareInterval chi_square_interval(double probability, double degrees) {
  const double outside = 0.5 * (1.0 - probability);
  return {chi_square_quantile(outside, degrees) / degrees,
          chi_square_quantile(1.0 - outside, degrees) / degrees};
}

void Whiteness::add(double value) {
  const bool there = std::isfinite(value);
  if (there && count_ == 0.0) offset_ = value;
  const double v = value - offset_;
  if (there) {
    count_ += 1.0, sum_ += v, squares_ += v * v;
    for (std::size_t lag = 1; lag <= std::min(lags, seen_); ++lag)
      if (const double before = last_[(next_ + lags - lag) % lags]; std::isfinite(before)) {
        Pairs& p = pairs_[lag - 1];
        p.count += 1.0, p.products += v * before, p.sum += v + before;
      }
  }
  last_[next_] = there ? v : std::numeric_limits<double>::quiet_NaN();
  next_ = (next_ + 1) % lags;
  ++seen_;
}

double Whiteness::probability() const {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  if (count_ < 5.0 * static_cast<double>(lags)) return nothing;
  const double mean = sum_ / count_, variance = squares_ - count_ * mean * mean;
  if (!(variance > 0.0)) return nothing;
  double statistic = 0.0;
  for (std::size_t lag = 1; lag <= lags; ++lag) {
    const Pairs& p = pairs_[lag - 1];
    const double r = (p.products - mean * p.sum + p.count * mean * mean) / variance;
    statistic += r * r / (count_ - static_cast<double>(lag));
  }
  return chi_square_above(count_ * (count_ + 2.0) * statistic, static_cast<double>(lags));
}

double whiteness(std::span<const double> series) {
  Whiteness w;
  for (double v : series) w.add(v);
  return w.probability();
}

}  // namespace tellegen
