#include "tellegen/model/scattered.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

using Columns = std::vector<std::vector<double>>;

// A symmetric matrix of few diagonals, and its Cholesky factor in the same place.
class BandedMatrix {
 public:
  BandedMatrix(std::size_t size, std::size_t width) : size_(size), width_(width), a_(size * (width + 1)) {}

  void add(std::size_t row, std::size_t column, double value) {
    if (row >= column) at(row, column) += value;
  }

  void factorise() {
    for (std::size_t k = 0; k < size_; ++k) {
      const std::size_t first = k > width_ ? k - width_ : 0;
      for (std::size_t c = first; c <= k; ++c) {
        const std::size_t from = std::max(first, c > width_ ? c - width_ : 0);
        double sum = at(k, c);
        for (std::size_t j = from; j < c; ++j) sum -= at(k, j) * at(c, j);
        at(k, c) = c == k ? std::sqrt(sum) : sum / at(c, c);
      }
    }
  }

  std::vector<double> solve(std::vector<double> b) const {
    for (std::size_t k = 0; k < size_; ++k) {
      for (std::size_t c = k > width_ ? k - width_ : 0; c < k; ++c) b[k] -= at(k, c) * b[c];
      b[k] /= at(k, k);
    }
    for (std::size_t k = size_; k-- > 0;) {
      b[k] /= at(k, k);
      for (std::size_t c = k > width_ ? k - width_ : 0; c < k; ++c) b[c] -= at(k, c) * b[k];
    }
    return b;
  }

 private:
  double& at(std::size_t row, std::size_t column) { return a_[row * (width_ + 1) + width_ + column - row]; }
  double at(std::size_t row, std::size_t column) const {
    return a_[row * (width_ + 1) + width_ + column - row];
  }
  std::size_t size_, width_;
  std::vector<double> a_;
};

struct Corner {
  std::size_t at;
  double weight;
};

std::vector<double> even_axis(const std::vector<double>& values, std::size_t count) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<double> axis(count);
  for (std::size_t k = 0; k < count; ++k)
    axis[k] = *low + (*high - *low) * static_cast<double>(k) / static_cast<double>(count - 1);
  axis.back() = *high;
  return axis;
}

// The cell of an even axis in which a value lies, and where in it.
std::pair<std::size_t, double> cell_of(const std::vector<double>& axis, double value) {
  const double at =
      (value - axis.front()) / (axis.back() - axis.front()) * static_cast<double>(axis.size() - 1);
  const auto cell = std::min(static_cast<std::size_t>(std::max(0.0, at)), axis.size() - 2);
  return {cell, at - static_cast<double>(cell)};
}

class GridFit {
 public:
  GridFit(const Columns& arguments, const std::vector<std::size_t>& along)
      : along_(along), strides_(along.size(), 1), size_(1), matrix_(0, 0) {
    for (std::size_t d = along.size(); d-- > 0; size_ *= along[d]) strides_[d] = size_;
    for (std::size_t d = 0; d < along.size(); ++d) axes_.push_back(even_axis(arguments[d], along[d]));
    matrix_ = BandedMatrix(size_, 2 * strides_[0]);
    for (std::size_t p = 0; p < arguments[0].size(); ++p) {
      std::vector<Corner> corners{{0, 1.0}};
      for (std::size_t d = 0; d < along.size(); ++d) {
        const auto [cell, u] = cell_of(axes_[d], arguments[d][p]);
        std::vector<Corner> both;
        for (const Corner& corner : corners) {
          const std::size_t at = corner.at + cell * strides_[d];
          both.push_back({at, corner.weight * (1 - u)});
          both.push_back({at + strides_[d], corner.weight * u});
        }
        corners = std::move(both);
      }
      add(corners, 1.0);
      corners_.push_back(std::move(corners));
    }
    constexpr double smooth = 1e-4;
    for (std::size_t at = 0; at < size_; ++at)
      for (std::size_t d = 0; d < along.size(); ++d) {
        const std::size_t s = strides_[d];
        if (before(at, d) && behind(at, d)) add({{at - s, 1.0}, {at, -2.0}, {at + s, 1.0}}, smooth);
        for (std::size_t e = d + 1; e < along.size(); ++e) {
          const std::size_t r = strides_[e];
          if (behind(at, d) && behind(at, e))
            add({{at, 1.0}, {at + r, -1.0}, {at + s, -1.0}, {at + s + r, 1.0}}, 2.0 * smooth);
        }
      }
    matrix_.factorise();
  }

  const std::vector<std::vector<double>>& axes() const { return axes_; }
  std::size_t size() const { return size_; }

  std::vector<double> of(const std::vector<double>& z) const {
    std::vector<double> right(size_, 0.0);
    for (std::size_t p = 0; p < z.size(); ++p)
      for (const Corner& corner : corners_[p]) right[corner.at] += corner.weight * z[p];
    return matrix_.solve(std::move(right));
  }

 private:
  void add(const std::vector<Corner>& row, double weight) {
    for (const Corner& a : row)
      for (const Corner& b : row) matrix_.add(a.at, b.at, weight * a.weight * b.weight);
  }

  // Whether there is a point before this one along an axis, and one behind it.
  bool before(std::size_t at, std::size_t axis) const { return at / strides_[axis] % along_[axis] > 0; }
  bool behind(std::size_t at, std::size_t axis) const {
    return at / strides_[axis] % along_[axis] + 1 < along_[axis];
  }

  std::vector<std::size_t> along_, strides_;
  std::vector<std::vector<double>> axes_;
  std::size_t size_;
  BandedMatrix matrix_;
  std::vector<std::vector<Corner>> corners_;
};

}  // namespace

bool too_flat(const Columns& arguments) {
  const std::size_t dimensions = arguments.size(), points = arguments[0].size();
  if (points <= dimensions) return true;
  // The determinant of their correlations: 0 where one argument follows from the others.
  Columns u;
  for (const std::vector<double>& column : arguments) {
    const auto [low, high] = std::minmax_element(column.begin(), column.end());
    if (!(*high > *low)) return true;
    double mean = 0.0, square = 0.0;
    for (const double value : column) mean += (value - *low) / (*high - *low) / static_cast<double>(points);
    std::vector<double>& scaled = u.emplace_back();
    for (const double value : column) scaled.push_back((value - *low) / (*high - *low) - mean);
    for (const double value : scaled) square += value * value;
    for (double& value : scaled) value /= std::sqrt(square);
  }
  const auto r = [&](std::size_t a, std::size_t b) {
    double sum = 0.0;
    for (std::size_t p = 0; p < points; ++p) sum += u[a][p] * u[b][p];
    return sum;
  };
  const double xy = r(0, 1);
  if (dimensions == 2) return 1.0 - xy * xy <= 1e-10;
  const double xz = r(0, 2), yz = r(1, 2);
  return 1.0 + 2.0 * xy * xz * yz - xy * xy - xz * xz - yz * yz <= 1e-10;
}

std::size_t usual_grid(std::size_t points, std::size_t dimensions) {
  const double side = std::pow(static_cast<double>(points), 1.0 / static_cast<double>(dimensions));
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(2.0 * side)) + 1, 9,
                                 dimensions == 2 ? 101 : 15);
}

ScatteredFit fit_grid(const std::string& name, const Columns& arguments, const std::vector<double>& z,
                      const std::vector<std::size_t>& along, Interpolation interpolation) {
  const GridFit fit(arguments, along);
  const auto [low, high] = std::minmax_element(z.begin(), z.end());
  const double range = *high > *low ? *high - *low : std::max(1.0, std::abs(*high));
  std::vector<double> values(fit.size(), 0.0), left = z;
  ScatteredFit best;
  int idle = 0;
  for (int round = 0; round < 60 && idle < 4; ++round) {
    const std::vector<double> more = fit.of(left);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] += more[k];
    ScatteredFit now;
    now.table = make_grid(name, fit.axes(), values, interpolation);
    double square = 0.0;
    for (std::size_t p = 0; p < z.size(); ++p) {
      double at[3] = {};
      for (std::size_t d = 0; d < arguments.size(); ++d) at[d] = arguments[d][p];
      left[p] = z[p] - now.table->value_at(at);
      square += left[p] * left[p];
      if (std::abs(left[p]) / range > now.largest) {
        now.largest = std::abs(left[p]) / range;
        now.worst = p;
      }
    }
    now.rms = std::sqrt(square / static_cast<double>(z.size())) / range;
    const bool gained = !best.table || now.largest < 0.98 * best.largest;
    idle = gained ? 0 : idle + 1;
    if (!best.table || now.largest < best.largest) best = std::move(now);
    if (best.largest < 1e-7) break;
  }
  return best;
}

}  // namespace tellegen
