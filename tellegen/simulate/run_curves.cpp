#include "tellegen/simulate/run_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr int most_solutions = 80;       // in one step
constexpr double most_numbers = 2e7;     // in memory
constexpr double smallest_range = 1e-9;  // of a curve's magnitude: below it there is rounding
constexpr double shortest_panel = 1e-6;  // of a step
constexpr double smooth_rows = 0.02;     // fourth difference over the range of five rows

double fourth_difference(double a, double b, double c, double d, double e) {
  return a - 4 * b + 6 * c - 4 * d + e;
}

}  // namespace

RunCurves::RunCurves(std::size_t curves, double accuracy, std::vector<double> magnitudes)
    : width_(curves),
      accuracy_(accuracy),
      magnitudes_(std::move(magnitudes)),
      low_(curves, std::numeric_limits<double>::infinity()),
      high_(curves, -std::numeric_limits<double>::infinity()),
      largest_(curves, 0.0) {}

void RunCurves::look_at(const double* values) {
  for (std::size_t c = 0; c < width_; ++c) {
    low_[c] = std::fmin(low_[c], values[c]);
    high_[c] = std::fmax(high_[c], values[c]);
    largest_[c] = std::fmax(largest_[c], std::abs(values[c]));
  }
}

// 1: as much as the accuracy allows. The polynomial itself is nearer than its fourth difference.
double RunCurves::error_of(const std::vector<double>& v) const {
  double worst = 0.0;
  for (std::size_t c = 0; c < width_; ++c) {
    const double* y = v.data() + c;
    const double d4 = fourth_difference(y[0], y[width_], y[2 * width_], y[3 * width_], y[4 * width_]);
    const double range = magnitudes_.empty() ? std::max(high_[c] - low_[c], smallest_range * largest_[c])
                                             : std::max(largest_[c], magnitudes_[c]);
    if (range > 0.0) worst = std::max(worst, std::abs(d4) / (10 * accuracy_ * range));
  }
  return worst;
}

void RunCurves::append(const Panel& panel) {
  if (full_) return;
  if (static_cast<double>(values_.size() + panel.values.size()) > most_numbers) {
    full_ = true;
    return;
  }
  if (ends_.empty()) begin_ = panel.from;
  if (!ends_.empty() && panel.from > ends_.back()) {  // across a jump: a straight line
    std::vector<double> line(points * width_);
    const double* before = values_.data() + values_.size() - width_;
    for (std::size_t p = 0; p < points; ++p)
      for (std::size_t c = 0; c < width_; ++c)
        line[p * width_ + c] =
            before[c] + (panel.values[c] - before[c]) * static_cast<double>(p) / (points - 1);
    values_.insert(values_.end(), line.begin(), line.end());
    ends_.push_back(panel.from);
  }
  values_.insert(values_.end(), panel.values.begin(), panel.values.end());
  ends_.push_back(panel.to);
}

void RunCurves::add_step(double from, double to, const Solve& solve) {
  if (!(to > from) || full_) return;
  while (!ends_.empty() && panel_begin(ends_.size() - 1) >= from) {
    ends_.pop_back();
    values_.resize(values_.size() - points * width_);
  }
  int solutions = 0;
  const auto at = [&](const Panel& panel, std::size_t p, double* values) {
    ++solutions;
    if (!solve(panel.from + (panel.to - panel.from) * static_cast<double>(p) / (points - 1), values))
      return false;
    look_at(values);
    return true;
  };
  Panel whole{from, to, 0.0, std::vector<double>(points * width_)};
  const bool joins = !ends_.empty() && ends_.back() == from;
  if (joins) std::copy(values_.end() - static_cast<long>(width_), values_.end(), whole.values.begin());
  for (std::size_t p = joins ? 1 : 0; p < points; ++p)
    if (!at(whole, p, whole.values.data() + p * width_)) {
      // No solution inside: what is known on both sides of it.
      if (p == 0) return;
      std::copy_n(whole.values.begin() + static_cast<long>((p - 1) * width_), width_,
                  whole.values.begin() + static_cast<long>(p * width_));
    }
  whole.error = error_of(whole.values);
  std::vector<Panel> panels{std::move(whole)};
  while (solutions < most_solutions) {
    const auto worst = std::max_element(panels.begin(), panels.end(),
                                        [](const Panel& a, const Panel& b) { return a.error < b.error; });
    if (worst->error <= 1.0) break;
    if (worst->to - worst->from < shortest_panel * (to - from)) {
      worst->error = 0.0;  // a jump: no polynomial fits, and this one is short
      continue;
    }
    // Of five points of each half, three are known.
    const double middle = 0.5 * (worst->from + worst->to);
    Panel left{worst->from, middle, 0.0, std::vector<double>(points * width_)}, right = left;
    right.from = middle, right.to = worst->to;
    const auto known = [&](Panel& half, std::size_t p, std::size_t of) {
      std::copy_n(worst->values.begin() + static_cast<long>(of * width_), width_,
                  half.values.begin() + static_cast<long>(p * width_));
    };
    bool good = true;
    for (std::size_t p = 0; p < points; ++p)
      for (Panel* half : {&left, &right}) {
        if (p % 2 == 0)
          known(*half, p, p / 2 + (half == &right ? 2 : 0));
        else
          good = good && at(*half, p, half->values.data() + p * width_);
      }
    if (!good) {
      worst->error = 0.0;
      continue;
    }
    left.error = error_of(left.values);
    right.error = error_of(right.values);
    *worst = std::move(left);
    panels.push_back(std::move(right));
  }
  std::sort(panels.begin(), panels.end(), [](const Panel& a, const Panel& b) { return a.from < b.from; });
  for (const Panel& panel : panels) append(panel);
}

void RunCurves::add_rows(std::span<const double> t, const double* rows, std::size_t stride) {
  const auto value = [&](std::size_t row, std::size_t c) { return rows[row * stride + c]; };
  for (std::size_t row = 0; row < t.size(); ++row) look_at(rows + row * stride);
  for (std::size_t first = 0; first + 1 < t.size();) {
    bool smooth =
        first + 4 < t.size() && std::abs((t[first + 4] - t[first + 3]) - (t[first + 1] - t[first])) <
                                    1e-6 * (t[first + 1] - t[first]);
    for (std::size_t c = 0; smooth && c < width_; ++c) {
      double low = value(first, c), high = low;
      for (std::size_t p = 1; p < points; ++p) {
        low = std::fmin(low, value(first + p, c));
        high = std::fmax(high, value(first + p, c));
      }
      const double d4 = fourth_difference(value(first, c), value(first + 1, c), value(first + 2, c),
                                          value(first + 3, c), value(first + 4, c));
      smooth = std::abs(d4) <= smooth_rows * std::max(high - low, smallest_range * largest_[c]);
    }
    const std::size_t last = first + (smooth ? 4 : 1);
    Panel panel{t[first], t[last], 0.0, std::vector<double>(points * width_)};
    for (std::size_t p = 0; p < points; ++p)
      for (std::size_t c = 0; c < width_; ++c)
        panel.values[p * width_ + c] =
            smooth ? value(first + p, c)
                   : value(first, c) + (value(last, c) - value(first, c)) * static_cast<double>(p) / 4;
    append(panel);
    first = last;
  }
}

std::array<double, RunCurves::points> RunCurves::panel_values(std::size_t panel, std::size_t curve) const {
  std::array<double, points> y{};
  for (std::size_t p = 0; p < points; ++p) y[p] = values_[(panel * points + p) * width_ + curve];
  return y;
}

std::size_t RunCurves::panel_at(double t) const {
  const auto found = std::lower_bound(ends_.begin(), ends_.end(), t);
  return found == ends_.end() ? ends_.size() - 1 : static_cast<std::size_t>(found - ends_.begin());
}

}  // namespace tellegen
