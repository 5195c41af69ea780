#include "tellegen/records/time_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace tellegen {
namespace {

constexpr double absurd_gap = 1e5;  // intervals

}  // namespace

void IntervalFinder::add(double t) {
  if (count_ == 0)
    first_ = t;
  else if (t > last_ && differences_.size() < most_differences)
    differences_.push_back(t - last_);
  if (count_ > 0 && std::has_single_bit(static_cast<std::uint64_t>(count_))) spans_.push_back(t - first_);
  last_ = t;
  ++count_;
}

double IntervalFinder::interval() const {
  if (differences_.empty()) return 0.0;
  std::vector<double> differences = differences_, spans = spans_;
  const auto middle = differences.begin() + static_cast<long>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  double interval = *middle;
  spans.push_back(last_ - first_);
  for (const double span : spans) {
    const double count = std::round(span / interval);
    if (count >= 1.0 && std::abs(span / interval - count) < 0.3) interval = span / count;
  }
  const double round = std::strtod(fmt::format("{:.9g}", interval).c_str(), nullptr);
  return std::abs(round - interval) * ((last_ - first_) / interval) < close_enough * interval ? round
                                                                                              : interval;
}

void TickFinder::add(double t) {
  if (!begun_) {
    begun_ = true;
    first_ = t;
    for (double power = 1e4; power > 0.5e-6; power /= 10.0)
      for (double part : {1.0, 0.5, 0.25, 0.2}) candidates_.push_back(part * power);
    return;
  }
  if (at_ == candidates_.size()) return;
  constexpr std::size_t most = 4096;
  const double distance = t - first_;
  if (times_.size() < most) times_.push_back(distance);
  const std::size_t before = at_;
  while (at_ < candidates_.size() && misses(distance)) ++at_;
  // A shorter step need not divide the longer one.
  for (bool again = at_ != before; again && at_ < candidates_.size();) {
    again = std::any_of(times_.begin(), times_.end(), [this](double seen) { return misses(seen); });
    at_ += again;
  }
}

bool TickFinder::misses(double distance) const {
  const double at = distance / candidates_[at_];
  return std::abs(at - std::round(at)) > close_enough + 4e-16 * std::abs(at);
}

void TimeBase::add(double before, double t) {
  const double difference = t - before;
  if (difference <= 0.0) return;
  if (shortest == 0.0 || difference < shortest) shortest = difference;
  widest = std::max(widest, difference);
  if (difference > 1.5 * interval) {
    ++gaps;
    if (difference > longest) {
      longest = difference;
      longest_at = before;
    }
  } else {
    jitter = std::max(jitter, std::abs(difference - interval));
  }
}

std::vector<std::string> TimeBase::remarks() const {
  std::vector<std::string> remarks;
  if (gaps > 0)
    remarks.push_back(
        fmt::format("{} gap{} between rows, the longest {} after t = {:.6g} s; rows come every {}", gaps,
                    gaps == 1 ? "" : "s", seconds_text(longest), longest_at, seconds_text(interval)));
  if (gaps > 0 && longest > absurd_gap * interval)
    remarks.push_back(
        fmt::format("a gap of {:.2g} intervals: are the times read as they are written? "
                    "--time-format says how",
                    longest / interval));
  if (jitter > 1e-3 * interval)
    remarks.push_back(fmt::format("rows come every {} with a jitter of up to {}", seconds_text(interval),
                                  seconds_text(jitter)));
  return remarks;
}

std::string TimeBase::irregular() const {
  return fmt::format("irregular times, {} to {} apart: each reading is taken at its own",
                     seconds_text(shortest), seconds_text(widest));
}

double longest_prediction(double interval, double span) {
  constexpr double most = 1e6;  // predictions between rows, in all
  return std::max(interval, span / most);
}

std::string seconds_text(double t) {
  if (t >= 1.0 || t == 0.0) return fmt::format("{:.6g} s", t);
  if (t >= 1e-3) return fmt::format("{:.6g} ms", t * 1e3);
  return fmt::format("{:.6g} us", t * 1e6);
}

}  // namespace tellegen
