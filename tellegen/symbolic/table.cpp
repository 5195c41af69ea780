#include "tellegen/symbolic/table.h"

#include <bit>
#include <cmath>
#include <stdexcept>

#include "runtime/tellegen_math.h"

namespace tellegen {
namespace {

using Slopes = std::vector<double>(const std::vector<double>& x, const std::vector<double>& y);

std::vector<double> secants(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> secant(x.size() - 1);
  for (std::size_t k = 0; k + 1 < x.size(); ++k) secant[k] = (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
  return secant;
}

// Slopes at the points: the mean of the neighbouring secants.
std::vector<double> mean_slopes(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> secant = secants(x, y);
  std::vector<double> slope(x.size());
  slope.front() = secant.front();
  slope.back() = secant.back();
  for (std::size_t k = 1; k < secant.size(); ++k) slope[k] = 0.5 * (secant[k - 1] + secant[k]);
  return slope;
}

// ... zero at an extremum, then shortened until (m_k, m_k+1) lies within three secants of the origin, which
// is enough for monotone pieces.
std::vector<double> monotone_slopes(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> secant = secants(x, y);
  std::vector<double> slope = mean_slopes(x, y);
  for (std::size_t k = 1; k < secant.size(); ++k) {
    const bool same_sign =
        (secant[k - 1] > 0.0 && secant[k] > 0.0) || (secant[k - 1] < 0.0 && secant[k] < 0.0);
    if (!same_sign) slope[k] = 0.0;
  }
  for (std::size_t k = 0; k < secant.size(); ++k) {
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

std::vector<double> difference_slopes(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> slope(x.size());
  const std::size_t last = x.size() - 1;
  for (std::size_t k = 0; k <= last; ++k) {
    const std::size_t from = k == 0 ? 0 : k - 1, to = k == last ? last : k + 1;
    slope[k] = (y[to] - y[from]) / (x[to] - x[from]);
  }
  return slope;
}

// Slopes along one axis of everything that lies across it.
std::vector<double> slopes_along(const std::vector<std::vector<double>>& axes, std::size_t axis,
                                 const std::vector<double>& values, Slopes* slopes) {
  const std::vector<double>& x = axes[axis];
  std::vector<double> result(values.size(), 0.0);
  if (x.size() < 2) return result;
  std::size_t stride = 1;
  for (std::size_t d = axis + 1; d < axes.size(); ++d) stride *= axes[d].size();
  std::vector<double> line(x.size());
  for (std::size_t first = 0; first < values.size(); ++first) {
    if (first / stride % x.size() != 0) continue;
    for (std::size_t k = 0; k < x.size(); ++k) line[k] = values[first + k * stride];
    const std::vector<double> slope = slopes(x, line);
    for (std::size_t k = 0; k < x.size(); ++k) result[first + k * stride] = slope[k];
  }
  return result;
}

// Four cells to an interval: where distances are unequal, most cells are still within one.
Table::Guide guide_along(const std::vector<double>& x) {
  const std::size_t last = x.size() - 1, cells = 4 * last;
  Table::Guide guide;
  if (last == 0) return guide;
  const double scale = static_cast<double>(cells) / (x[last] - x[0]);
  if (std::isfinite(scale) && scale > 0.0) guide.scale = scale;  // otherwise all is one cell
  if (guide.scale == 0.0) {
    guide.intervals = {0, 0, static_cast<int>(last) - 1};
    return guide;
  }
  // One cell before the first and two behind the last: a position at the end may be rounded into the next.
  std::size_t interval = 0;
  for (std::size_t k = 0; k < cells + 3; ++k) {
    const double middle = static_cast<double>(k) - 0.5;
    while (interval + 1 < last && (x[interval + 1] - x[0]) * scale <= middle) ++interval;
    guide.intervals.push_back(static_cast<int>(interval));
  }
  return guide;
}

void check_axis(const std::string& name, const std::vector<double>& x) {
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!std::isfinite(x[k]) || (k > 0 && x[k] <= x[k - 1]))
      throw std::invalid_argument("table '" + name + "': x does not increase at point " +
                                  std::to_string(k + 1));
}

}  // namespace

int Table::grid_interpolation() const {
  return interpolation == Interpolation::linear ? 0 : interpolation == Interpolation::hold ? 1 : 2;
}

double Table::value_at(const double* at, int order) const {
  if (dimensions == 1) return value(at[0], order);
  tellegen_grid grid{};
  grid.dimensions = dimensions;
  grid.interpolation = grid_interpolation();
  grid.c = c.data();
  for (std::size_t d = 0; d < axes.size(); ++d) {
    grid.count[d] = static_cast<int>(axes[d].size());
    grid.x[d] = axes[d].data();
    grid.scale[d] = guides[d].scale;
    grid.guide[d] = guides[d].intervals.data();
  }
  return tellegen_grid_lookup(&grid, order, at[0], at[1], dimensions > 2 ? at[2] : 0.0);
}

std::optional<int> next_order(const Table& table, int order, std::size_t argument) {
  const int now = (order >> (2 * argument)) & 3;
  const bool hold = table.interpolation == Interpolation::hold,
             linear = table.interpolation == Interpolation::linear;
  if (now == 3 || (!table.formal() && (hold || (linear && now == 1)))) return std::nullopt;
  return order + (1 << (2 * argument));
}

double Table::value(double at, int order) const {
  const tellegen_table pieces{static_cast<int>(x.size()), x.data(), c.data()};
  return tellegen_lookup(&pieces, order, at);
}

std::shared_ptr<const Table> make_table(std::string name, std::vector<double> x, std::vector<double> y,
                                        Interpolation interpolation, bool monotone) {
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
    const std::vector<double> slope =
        cubic ? (monotone ? monotone_slopes(x, y) : mean_slopes(x, y)) : std::vector<double>();
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

std::shared_ptr<const Table> make_grid(std::string name, std::vector<std::vector<double>> axes,
                                       std::vector<double> values, Interpolation interpolation,
                                       bool monotone) {
  std::size_t count = 1;
  for (const std::vector<double>& axis : axes) {
    check_axis(name, axis);
    count *= axis.size();
  }
  if (axes.size() < 2 || axes.size() > 3 || count == 0 || values.size() != count)
    throw std::invalid_argument("table '" + name + "' has not as many values as its grid has points");
  for (double value : values)
    if (!std::isfinite(value))
      throw std::invalid_argument("table '" + name + "' has a value that is not finite");
  auto table = std::make_shared<Table>();
  table->name = std::move(name);
  table->interpolation = interpolation;
  table->dimensions = static_cast<int>(axes.size());
  if (interpolation == Interpolation::cubic) {
    // Slopes along single axes are those of monotone lines; what is mixed, differences of these.
    const std::size_t combinations = std::size_t{1} << axes.size();
    std::vector<std::vector<double>> parts(combinations);
    parts[0] = values;
    for (std::size_t bits = 1; bits < combinations; ++bits) {
      const auto axis = static_cast<std::size_t>(std::bit_width(bits)) - 1;
      const std::size_t rest = bits & ~(std::size_t{1} << axis);
      parts[bits] = slopes_along(axes, axis, parts[rest],
                                 rest != 0  ? difference_slopes
                                 : monotone ? monotone_slopes
                                            : mean_slopes);
    }
    for (std::size_t point = 0; point < count; ++point)
      for (const std::vector<double>& part : parts) table->c.push_back(part[point]);
  } else {
    table->c = std::move(values);
  }
  for (const std::vector<double>& axis : axes) table->guides.push_back(guide_along(axis));
  table->axes = std::move(axes);
  return table;
}

std::vector<double> values_of(const Table& table) {
  const bool line = table.dimensions == 1, cubic = table.interpolation == Interpolation::cubic;
  // Slopes stand behind each value, and of a line what lies before its first point stands first.
  const std::size_t first = line ? 4 : 0, stride = line ? 4 : cubic ? std::size_t{1} << table.dimensions : 1;
  std::vector<double> values;
  for (std::size_t k = first; k < table.c.size(); k += stride) values.push_back(table.c[k]);
  return values;
}

std::shared_ptr<const Table> with_parameters(const Table& table, const std::vector<std::string>& symbols) {
  auto sum = std::make_shared<Table>(table);
  std::vector<double> one(symbols.size(), 0.0);
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    one[k] = 1.0;
    sum->terms.push_back(
        {symbols[k], table.dimensions > 1
                         ? make_grid(symbols[k], table.axes, one, table.interpolation, false)
                         : make_table(symbols[k], table.x, one, table.interpolation, false)});
    one[k] = 0.0;
  }
  return sum;
}

std::shared_ptr<const Table> formal_table(std::string_view name, int dimensions) {
  auto table = std::make_shared<Table>();
  table->name = name;
  table->dimensions = dimensions;
  return table;
}

}  // namespace tellegen
