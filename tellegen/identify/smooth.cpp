#include "tellegen/identify/smooth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr std::array<std::ptrdiff_t, 12> half_widths{3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300};
constexpr std::ptrdiff_t added_up = 12;  // windows up to this are summed row by row
constexpr std::ptrdiff_t chunk = 1000;   // rows whose sums share an origin, so that powers stay small
constexpr double agree = 2.0;            // standard deviations

// Straight between the readings that are there, level beyond them.
std::vector<double> joined_up(const std::vector<double>& readings) {
  std::vector<double> values(readings.size());
  std::ptrdiff_t last = -1;
  for (std::ptrdiff_t row = 0; row < std::ssize(readings); ++row) {
    const double reading = readings[row];
    if (std::isnan(reading)) continue;
    const double before = last < 0 ? reading : values[last];
    for (std::ptrdiff_t k = last + 1; k < row; ++k)
      values[k] =
          before + (reading - before) * static_cast<double>(k - last) / static_cast<double>(row - last);
    values[row] = reading;
    last = row;
  }
  if (last < 0) return {};
  std::fill(values.begin() + last + 1, values.end(), values[last]);
  return values;
}

// Of the readings of a window: sums of x^k and of x^k times the reading.
struct Moments {
  std::array<double, 5> power{};
  std::array<double, 3> product{};
  void add(double x, double reading) {
    if (std::isnan(reading)) return;
    double p = 1.0;
    for (int k = 0; k < 5; ++k, p *= x) {
      power[k] += p;
      if (k < 3) product[k] += p * reading;
    }
  }
  // The same about another origin.
  Moments about(double x) const {
    static constexpr double binomial[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};
    Moments moved;
    for (int k = 0; k < 5; ++k) {
      double factor = 1.0;  // (-x)^(k-j)
      for (int j = k; j >= 0; --j, factor *= -x) {
        moved.power[k] += binomial[k][j] * factor * power[j];
        if (k < 3) moved.product[k] += binomial[k][j] * factor * product[j];
      }
    }
    return moved;
  }
};

struct Value {
  double value = 0.0, deviation = std::numeric_limits<double>::infinity();  // in units of the noise
};

// The parabola at the origin, by Cramer's rule; no value where too few readings determine it.
Value parabola(const Moments& m) {
  const auto& s = m.power;
  const double a = s[2] * s[4] - s[3] * s[3], b = s[2] * s[3] - s[1] * s[4], c = s[1] * s[3] - s[2] * s[2];
  const double determinant = s[0] * a + s[1] * b + s[2] * c;
  if (s[0] < 4.0 || !(determinant > 1e-6 * s[0] * s[2] * s[4]) || !(a > 0.0)) return {};
  return {(m.product[0] * a + m.product[1] * b + m.product[2] * c) / determinant, std::sqrt(a / determinant)};
}

class Smoother {
 public:
  Smoother(const std::vector<double>& readings, double noise) : readings_(readings), noise_(noise) {}

  void run(std::vector<double>& values) {
    const auto rows = std::ssize(values);
    for (std::ptrdiff_t from = 0; from < rows; from += chunk) {
      const std::ptrdiff_t to = std::min(from + chunk, rows);
      sum_up(std::max<std::ptrdiff_t>(0, from - half_widths.back()), std::min(rows, to + half_widths.back()));
      for (std::ptrdiff_t row = from; row < to; ++row) values[row] = at(row, values[row]);
    }
  }

 private:
  // Rows before each, from `begin` on; the unit of x is the longest window.
  void sum_up(std::ptrdiff_t begin, std::ptrdiff_t end) {
    first_ = begin;
    before_.assign(1, Moments{});
    for (std::ptrdiff_t row = begin; row < end; ++row) {
      before_.push_back(before_.back());
      before_.back().add(place(row), readings_[row]);
    }
  }
  double place(std::ptrdiff_t row) const {
    return static_cast<double>(row - first_) / static_cast<double>(half_widths.back());
  }
  Moments between(std::ptrdiff_t row, std::ptrdiff_t half) const {
    const Moments &low = before_[row - half - first_], &high = before_[row + half + 1 - first_];
    Moments window;
    for (int k = 0; k < 5; ++k) window.power[k] = high.power[k] - low.power[k];
    for (int k = 0; k < 3; ++k) window.product[k] = high.product[k] - low.product[k];
    return window.about(place(row));
  }

  double at(std::ptrdiff_t row, double value) const {
    const double reading = readings_[row];
    double low = -std::numeric_limits<double>::infinity(), high = -low;
    if (!std::isnan(reading)) low = reading - agree * noise_, high = reading + agree * noise_;
    Moments near;
    near.add(0.0, reading);
    std::ptrdiff_t reach = 0;
    for (const std::ptrdiff_t half : half_widths) {
      // Windows stay symmetric: at the ends a parabola would be drawn beyond its middle.
      if (row - half < 0 || row + half >= std::ssize(readings_)) break;
      for (; reach < std::min(half, added_up); ++reach) {
        const double x = static_cast<double>(reach + 1) / static_cast<double>(half_widths.back());
        near.add(x, readings_[row + reach + 1]);
        near.add(-x, readings_[row - reach - 1]);
      }
      const Value found = parabola(half <= added_up ? near : between(row, half));
      if (!std::isfinite(found.deviation)) continue;
      const double margin = agree * noise_ * found.deviation;
      low = std::max(low, found.value - margin);
      high = std::min(high, found.value + margin);
      if (low > high) break;
      value = found.value;
    }
    return value;
  }

  const std::vector<double>& readings_;
  const double noise_;
  std::ptrdiff_t first_ = 0;
  std::vector<Moments> before_;
};

}  // namespace

std::vector<double> smoothed(const std::vector<double>& readings, double noise) {
  std::vector<double> values = joined_up(readings);
  if (noise > 0.0 && !values.empty()) Smoother(readings, noise).run(values);
  return values;
}

double white_noise(const std::vector<double>& readings) {
  std::vector<double> jumps;
  for (std::size_t n = 1; n + 1 < readings.size(); ++n) {
    const double second = readings[n - 1] - 2.0 * readings[n] + readings[n + 1];
    if (!std::isnan(second)) jumps.push_back(std::abs(second));
  }
  if (jumps.size() < 8) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = jumps.begin() + static_cast<long>(jumps.size() / 2);
  std::nth_element(jumps.begin(), middle, jumps.end());
  // The median of |x| is 0.6745 standard deviations, and the second difference of white noise has sqrt(6) of
  // it.
  return *middle / 0.67448975 / std::sqrt(6.0);
}

}  // namespace tellegen
