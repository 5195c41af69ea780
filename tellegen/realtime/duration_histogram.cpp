#include "tellegen/realtime/duration_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr std::int64_t preferred[] = {100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212,
                                      224, 236, 250, 265, 280, 300, 315, 335, 355, 375, 400, 425, 450, 475,
                                      500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950};

// Upper bounds in ns of all bins but the last.
constexpr auto upper_bounds = [] {
  std::array<std::int64_t, 40 * 10 + 1> bounds{};
  std::int64_t decade = 1;
  for (std::size_t k = 0; k < bounds.size(); ++k) {
    bounds[k] = preferred[k % 40] * decade;
    if (k % 40 == 39) decade *= 10;
  }
  return bounds;
}();

}  // namespace

void DurationHistogram::add(std::int64_t nanoseconds) {
  nanoseconds = std::max<std::int64_t>(0, nanoseconds);
  const auto bin =
      std::lower_bound(upper_bounds.begin(), upper_bounds.end(), nanoseconds) - upper_bounds.begin();
  ++counts_[static_cast<std::size_t>(bin)];
  ++count_;
  longest_ = std::max(longest_, nanoseconds);
}

double DurationHistogram::quantile(double share) const {
  const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_)));
  std::int64_t below = 0;
  for (std::size_t k = 0; k < upper_bounds.size(); ++k) {
    below += counts_[k];
    if (below >= std::max<std::int64_t>(1, rank))
      return 1e-9 * static_cast<double>(std::min(longest_, upper_bounds[k]));
  }
  return longest();
}

std::vector<DurationHistogram::Bin> DurationHistogram::bins() const {
  std::vector<Bin> bins;
  for (std::size_t k = 0; k < counts_.size(); ++k)
    if (counts_[k] > 0)
      bins.push_back(
          {k < upper_bounds.size() ? static_cast<double>(upper_bounds[k]) / 1e9 : longest(), counts_[k]});
  return bins;
}

std::string duration_text(double seconds) {
  const struct {
    double size;
    const char* unit;
  } units[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  for (const auto& u : units)
    if (const double value = seconds / u.size; value >= 1 - 1e-12)
      return value < 999.5 ? fmt::format("{:.3g} {}", value, u.unit)
                           : fmt::format("{:.0f} {}", value, u.unit);
  return "0 s";
}

std::string histogram_table(const DurationHistogram& lateness, const DurationHistogram& execution) {
  const auto late = lateness.bins(), work = execution.bins();
  if (late.empty() && work.empty()) return {};
  const auto within = [](const std::vector<DurationHistogram::Bin>& bins, double above, double to) {
    std::int64_t count = 0;
    for (const auto& bin : bins)
      if (bin.to > above && bin.to <= to) count += bin.count;
    return count;
  };
  std::string text = fmt::format("{:>9}{:>12}{:>12}\n", "up to", "lateness", "execution");
  std::int64_t left = lateness.count() + execution.count();
  const std::int64_t all = left;
  double above = -1.0;
  for (double decade = 1e-7; left > 0; decade *= 10)
    for (const double step : {1.0, 2.0, 5.0}) {
      double to = step * decade * (1 + 1e-9);
      if (to > 1001.0) to = std::numeric_limits<double>::infinity();
      const std::int64_t a = within(late, above, to), b = within(work, above, to);
      above = to;
      left -= a + b;
      // From the first row with something in it to the last.
      if (left + a + b == all && a + b == 0) continue;
      if (a + b > 0 || left > 0)
        text += fmt::format("{:>9}{:>12}{:>12}\n", std::isinf(to) ? "longer" : duration_text(step * decade),
                            a, b);
    }
  return text;
}

}  // namespace tellegen
