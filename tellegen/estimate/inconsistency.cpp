#include "tellegen/estimate/inconsistency.h"

#include <algorithm>
#include <cmath>

#include "tellegen/records/statistics.h"

namespace tellegen {
namespace {

constexpr double record_level = 1e-3;           // probability of calling a good record inconsistent
constexpr double seconds_between = 200 * 3600;  // false stretches
constexpr double tolerated = 1.1;               // ratio of variances
constexpr double gap_level = 0.01;              // of what lies between two stretches
constexpr double tests_of_a_reading = 8.0;      // windows that begin at it, on average, twice

// One sensor's innovations that are there, with sums up to each.
class InnovationScan {
 public:
  InnovationScan(std::span<const double> z, std::size_t sensors, std::size_t sensor, double level)
      : sensor_(sensor), level_(level) {
    for (std::size_t k = sensor; k < z.size(); k += sensors)
      if (!std::isnan(z[k])) {
        rows_.push_back(static_cast<std::int64_t>(k / sensors));
        z_.push_back(z[k]);
      }
    flagged_.assign(z_.size(), 0);
  }

  std::vector<Inconsistency> stretches() {
    refused();
    const std::size_t count = z_.size();
    for (std::size_t length = 1; length <= count; length *= 2) scan(length);
    if (count > 0) scan(count);
    return merged();
  }

 private:
  // A gate that refuses most readings hides a fault.
  void refused() {
    constexpr std::size_t window = 16;
    std::size_t inside = 0;
    for (std::size_t k = 0; k < z_.size(); ++k) {
      inside += std::isinf(z_[k]);
      if (k >= window) inside -= std::isinf(z_[k - window]);
      if (k + 1 >= window && 2 * inside >= window)
        for (std::size_t j = k + 1 - window; j <= k; ++j) flagged_[j] = 1;
    }
  }

  // Windows with a reading that is flagged already do not count: a long one is not inconsistent because of a
  // short one in it, and a stretch begins where what is wrong begins.
  void scan(std::size_t length) {
    if (sums_.empty() || changed_) {
      sums_.assign(z_.size() + 1, {});
      for (std::size_t k = 0; k < z_.size(); ++k) {
        sums_[k + 1] = sums_[k];
        sums_[k + 1].flagged += flagged_[k];
        if (flagged_[k] || std::isinf(z_[k])) continue;
        sums_[k + 1].z += z_[k];
        sums_[k + 1].squares += z_[k] * z_[k];
        ++sums_[k + 1].count;
      }
      changed_ = false;
    }
    const double one = quantile(1);
    const std::size_t stride = std::max<std::size_t>(1, length / 4);
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t begin = 0; begin + length <= z_.size(); begin += stride) {
      const Sums &a = sums_[begin], &b = sums_[begin + length];
      const std::int64_t n = b.count - a.count;
      if (n == 0 || b.flagged != a.flagged) continue;
      const double count = static_cast<double>(n), sum = b.z - a.z, squares = b.squares - a.squares;
      const bool mean = sum * sum > one * count;
      const double least = std::max(tolerated * count, count + 4.0 * std::sqrt(2.0 * count));
      if (!mean && !(squares > least && squares > quantile(n))) continue;
      found.emplace_back(begin, begin + length);
    }
    for (const auto& [begin, end] : found) {
      windows_.push_back({begin, end});
      for (std::size_t k = begin; k < end; ++k) flagged_[k] = 1;
      changed_ = true;
    }
  }

  double quantile(std::int64_t degrees) {
    if (degrees != degrees_) {
      degrees_ = degrees;
      // The quantile of a level of 1e-10 by the complement itself: 1 - 1e-10 has few digits left.
      double low = static_cast<double>(degrees), high = low + 100.0;
      while (chi_square_above(high, static_cast<double>(degrees)) > level_) high *= 2.0;
      for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (low + high);
        (chi_square_above(middle, static_cast<double>(degrees)) > level_ ? low : high) = middle;
      }
      (degrees == 1 ? quantile_1_ : quantile_) = high;
    }
    return degrees == 1 ? quantile_1_ : quantile_;
  }

  // Whether readings that no window found are larger than chance makes one gap in a hundred.
  bool wrong(std::size_t begin, std::size_t end) const {
    double squares = 0.0, count = 0.0;
    for (std::size_t k = begin; k < end; ++k)
      if (!std::isinf(z_[k])) squares += z_[k] * z_[k], count += 1.0;
    return squares > tolerated * count && chi_square_above(squares, count) < gap_level;
  }

  // Stretches with no more between them than they are long are one.
  std::vector<Inconsistency> merged() {
    std::vector<Inconsistency> result;
    const std::size_t count = z_.size();
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    for (std::size_t k = 0; k < count;) {
      if (!flagged_[k]) {
        ++k;
        continue;
      }
      std::size_t end = k;
      while (end < count && flagged_[end]) ++end;
      parts.emplace_back(k, end);
      k = end;
    }
    // What is wrong in between goes with both, however short they are: windows that begin with the worst
    // readings leave the others to themselves.
    for (std::size_t i = 0; i + 1 < parts.size();) {
      const auto [begin, middle] = parts[i];
      const auto [next, end] = parts[i + 1];
      const bool near = next - middle <= std::max<std::size_t>(16, std::min(end - next, middle - begin));
      if (!near && !wrong(middle, next)) {
        ++i;
        continue;
      }
      parts[i].second = end;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (i > 0) --i;  // it is longer now
    }
    for (const auto& [begin, end] : parts) {
      double sum = 0.0, squares = 0.0, n = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        if (std::isinf(z_[k])) continue;
        sum += z_[k];
        squares += z_[k] * z_[k];
        n += 1.0;
      }
      Inconsistency stretch{sensor_,
                            rows_[begin],
                            rows_[end - 1],
                            static_cast<std::int64_t>(end - begin),
                            n > 0.0 ? std::max(squares, sum * sum) / n : INFINITY,
                            true};
      for (const auto& [first, last] : windows_)
        if (first == begin && last == begin + 1) stretch.from_window = false;
      result.push_back(stretch);
    }
    return result;
  }

  struct Sums {
    double z = 0.0, squares = 0.0;
    std::int64_t count = 0, flagged = 0;
  };
  std::size_t sensor_;
  double level_, quantile_ = 0.0, quantile_1_ = 0.0;
  std::int64_t degrees_ = 0;
  std::vector<std::int64_t> rows_;
  std::vector<double> z_;
  std::vector<char> flagged_;
  std::vector<Sums> sums_;
  std::vector<std::pair<std::size_t, std::size_t>> windows_;
  bool changed_ = false;
};

}  // namespace

std::vector<Inconsistency> inconsistencies(std::span<const double> z, std::size_t sensors, double step,
                                           std::int64_t whole) {
  std::vector<Inconsistency> all;
  if (z.empty() || sensors == 0) return all;
  const double rows =
      std::max(static_cast<double>(whole), static_cast<double>(z.size()) / static_cast<double>(sensors));
  const double tests = tests_of_a_reading * static_cast<double>(sensors);
  const double level = std::min(record_level / (rows * tests), std::min(1.0, step) / seconds_between / tests);
  for (std::size_t s = 0; s < sensors; ++s)
    for (const Inconsistency& stretch : InnovationScan(z, sensors, s, level).stretches())
      all.push_back(stretch);
  std::stable_sort(all.begin(), all.end(),
                   [](const Inconsistency& a, const Inconsistency& b) { return a.from < b.from; });
  return all;
}

}  // namespace tellegen
