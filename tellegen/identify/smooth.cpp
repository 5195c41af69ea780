#include "tellegen/identify/smooth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr std::array half_widths{3, 5, 8, 12, 18, 27, 40};
constexpr double agree = 2.0;  // standard deviations

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

// The parabola through the readings around a row, at that row: sums over a window that grows.
class LocalParabola {
 public:
  void add(double x, double reading) {
    if (std::isnan(reading)) return;
    double power = 1.0;
    for (int k = 0; k < 5; ++k, power *= x) {
      moment_[k] += power;
      if (k < 3) product_[k] += power * reading;
    }
  }
  struct Value {
    double value = 0.0, deviation = std::numeric_limits<double>::infinity();  // per unit of noise
  };
  // Cramer's rule on three equations; no value where too few readings determine it.
  Value at_centre() const {
    const auto& s = moment_;
    const double a = s[2] * s[4] - s[3] * s[3], b = s[2] * s[3] - s[1] * s[4], c = s[1] * s[3] - s[2] * s[2];
    const double determinant = s[0] * a + s[1] * b + s[2] * c;
    if (s[0] < 4.0 || !(determinant > 1e-9 * s[0] * s[2] * s[4])) return {};
    return {(product_[0] * a + product_[1] * b + product_[2] * c) / determinant, std::sqrt(a / determinant)};
  }

 private:
  std::array<double, 5> moment_{};
  std::array<double, 3> product_{};
};

}  // namespace

std::vector<double> smoothed(const std::vector<double>& readings, double noise) {
  std::vector<double> values = joined_up(readings);
  if (!(noise > 0.0)) return values;
  const auto rows = std::ssize(values);
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    LocalParabola around;
    around.add(0.0, readings[row]);
    double low = -std::numeric_limits<double>::infinity(), high = -low;
    if (!std::isnan(readings[row])) low = readings[row] - agree * noise, high = readings[row] + agree * noise;
    std::ptrdiff_t reach = 0;
    for (const int half : half_widths) {
      // Windows stay symmetric: at the ends a parabola would be drawn beyond its middle.
      if (row - half < 0 || row + half >= rows) break;
      for (; reach < half; ++reach) {
        const double x = static_cast<double>(reach + 1);
        around.add(x, readings[row + reach + 1]);
        around.add(-x, readings[row - reach - 1]);
      }
      const auto found = around.at_centre();
      if (!std::isfinite(found.deviation)) continue;
      const double margin = agree * noise * found.deviation;
      low = std::max(low, found.value - margin);
      high = std::min(high, found.value + margin);
      if (low > high) break;
      values[row] = found.value;
    }
  }
  return values;
}

}  // namespace tellegen
