#include "tellegen/symbolic/table.h"

#include <cmath>
#include <stdexcept>

#include "runtime/tellegen_math.h"

namespace tellegen {
namespace {

// Slopes at the points: the mean of the neighbouring secants, zero at an extremum, then shortened until
// (m_k, m_k+1) lies within three secants of the origin, which is enough for monotone pieces.
std::vector<double> monotone_slopes(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t pieces = x.size() - 1;
  std::vector<double> secant(pieces), slope(x.size());
  for (std::size_t k = 0; k < pieces; ++k) secant[k] = (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
  slope.front() = secant.front();
  slope.back() = secant.back();
  for (std::size_t k = 1; k < pieces; ++k) {
    const bool same_sign =
        (secant[k - 1] > 0.0 && secant[k] > 0.0) || (secant[k - 1] < 0.0 && secant[k] < 0.0);
    slope[k] = same_sign ? 0.5 * (secant[k - 1] + secant[k]) : 0.0;
  }
  for (std::size_t k = 0; k < pieces; ++k) {
    if (secant[k] == 0.0) {
      slope[k] = slope[k + 1] = 0.0;
      continue;
    }
    const double length = std::hypot(slope[k] / secant[k], slope[k + 1] / secant[k]);
    if (length <= 3.0) continue;
    slope[k] *= 3.0 / length;
    slope[k + 1] *= 3.0 / length;
  }
  return slope;
}

}  // namespace

double Table::value(double at, int order) const {
  const tellegen_table pieces{static_cast<int>(x.size()), x.data(), c.data()};
  return tellegen_lookup(&pieces, order, at);
}

std::shared_ptr<const Table> make_table(std::string name, std::vector<double> x, std::vector<double> y,
                                        Interpolation interpolation) {
  if (x.empty()) throw std::invalid_argument("table '" + name + "' has no points");
  if (x.size() != y.size()) throw std::invalid_argument("table '" + name + "' has unequal columns");
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!std::isfinite(x[k]) || !std::isfinite(y[k]))
      throw std::invalid_argument("table '" + name + "': point " + std::to_string(k + 1) + " is not finite");
    if (k > 0 && x[k] <= x[k - 1])
      throw std::invalid_argument("table '" + name + "': x does not increase at point " +
                                  std::to_string(k + 1));
  }
  const std::size_t last = x.size() - 1;
  std::vector<double> c(4 * (x.size() + 1), 0.0);
  c[0] = y.front();
  for (std::size_t k = 0; k <= last; ++k) c[4 * (k + 1)] = y[k];
  if (interpolation != Interpolation::hold) {
    const bool cubic = interpolation == Interpolation::cubic && last > 0;
    const std::vector<double> slope = cubic ? monotone_slopes(x, y) : std::vector<double>();
    for (std::size_t k = 0; k < last; ++k) {
      double* piece = &c[4 * (k + 1)];
      const double width = x[k + 1] - x[k], secant = (y[k + 1] - y[k]) / width;
      piece[1] = cubic ? slope[k] : secant;
      if (!cubic) continue;
      piece[2] = (3.0 * secant - 2.0 * slope[k] - slope[k + 1]) / width;
      piece[3] = (slope[k] + slope[k + 1] - 2.0 * secant) / (width * width);
    }
    if (cubic) {
      c[1] = slope.front();
      c[4 * (last + 1) + 1] = slope.back();
    }
  }
  auto table = std::make_shared<Table>();
  table->name = std::move(name);
  table->x = std::move(x);
  table->c = std::move(c);
  table->interpolation = interpolation;
  return table;
}

std::shared_ptr<const Table> formal_table(std::string_view name) {
  auto table = std::make_shared<Table>();
  table->name = name;
  return table;
}

}  // namespace tellegen
