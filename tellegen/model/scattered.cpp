#include "tellegen/model/scattered.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

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
  GridFit(const std::vector<double>& x, const std::vector<double>& y, std::size_t along_x,
          std::size_t along_y)
      : axes_{even_axis(x, along_x), even_axis(y, along_y)},
        size_(along_x * along_y),
        matrix_(size_, 2 * along_y) {
    for (std::size_t p = 0; p < x.size(); ++p) {
      const auto [i, u] = cell_of(axes_[0], x[p]);
      const auto [j, v] = cell_of(axes_[1], y[p]);
      const std::size_t at = i * along_y + j;
      corners_.push_back({{at, (1 - u) * (1 - v)},
                          {at + 1, (1 - u) * v},
                          {at + along_y, u * (1 - v)},
                          {at + along_y + 1, u * v}});
      add(corners_.back(), 1.0);
    }
    constexpr double smooth = 1e-4;
    for (std::size_t i = 0; i < along_x; ++i)
      for (std::size_t j = 0; j < along_y; ++j) {
        const std::size_t at = i * along_y + j;
        if (i > 0 && i + 1 < along_x) add({{at - along_y, 1.0}, {at, -2.0}, {at + along_y, 1.0}}, smooth);
        if (j > 0 && j + 1 < along_y) add({{at - 1, 1.0}, {at, -2.0}, {at + 1, 1.0}}, smooth);
        if (i + 1 < along_x && j + 1 < along_y)
          add({{at, 1.0}, {at + 1, -1.0}, {at + along_y, -1.0}, {at + along_y + 1, 1.0}}, 2.0 * smooth);
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

  std::vector<std::vector<double>> axes_;
  std::size_t size_;
  BandedMatrix matrix_;
  std::vector<std::vector<Corner>> corners_;
};

}  // namespace

bool on_one_line(const std::vector<double>& x, const std::vector<double>& y) {
  const auto [x_low, x_high] = std::minmax_element(x.begin(), x.end());
  const auto [y_low, y_high] = std::minmax_element(y.begin(), y.end());
  if (x.size() < 3 || !(*x_high > *x_low) || !(*y_high > *y_low)) return true;
  // The smaller eigenvalue of their covariance, in a square of side 1.
  double mx = 0.0, my = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
  const auto count = static_cast<double>(x.size());
  std::vector<double> u, v;
  for (std::size_t p = 0; p < x.size(); ++p) {
    u.push_back((x[p] - *x_low) / (*x_high - *x_low));
    v.push_back((y[p] - *y_low) / (*y_high - *y_low));
    mx += u[p] / count, my += v[p] / count;
  }
  for (std::size_t p = 0; p < x.size(); ++p)
    xx += (u[p] - mx) * (u[p] - mx), xy += (u[p] - mx) * (v[p] - my), yy += (v[p] - my) * (v[p] - my);
  return xx * yy - xy * xy <= 1e-10 * xx * yy;
}

std::size_t usual_grid(std::size_t points) {
  const auto side = static_cast<std::size_t>(std::ceil(2.0 * std::sqrt(static_cast<double>(points))));
  return std::clamp<std::size_t>(side + 1, 9, 101);
}

ScatteredFit fit_grid(const std::string& name, const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& z, std::size_t along_x, std::size_t along_y,
                      Interpolation interpolation) {
  const GridFit fit(x, y, along_x, along_y);
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
      const double at[] = {x[p], y[p]};
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
