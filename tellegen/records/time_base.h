// What the times of a record are like: the interval between rows, gaps, jitter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

inline constexpr double close_enough = 1e-6;  // of a step: times are written with so many digits

// The median of the differences is the interval but for the digits that a time is written with: each time the
// span is doubled, the number of intervals in it is certain, and the interval known to one digit more. Of a
// long record the median is that of its first differences.
class IntervalFinder {
 public:
  void add(double t);  // one that comes after all before
  double interval() const;
  std::int64_t times() const { return count_; }
  double first() const { return first_; }
  double last() const { return last_; }

 private:
  static constexpr std::size_t most_differences = 1 << 20;
  std::vector<double> differences_, spans_;  // spans: after 1, 2, 4, ... rows
  std::int64_t count_ = 0;
  double first_ = 0.0, last_ = 0.0;
};

// The longest step on which all times lie, where rows come irregularly: clocks tick in decimal fractions of a
// second. 1, 0.5, 0.25, 0.2, 0.1 s, ... are tried, and those that miss a time are left.
class TickFinder {
 public:
  void add(double t);  // one that comes after all before
  // 0: there is none down to a microsecond.
  double tick() const { return at_ < candidates_.size() ? candidates_[at_] : 0.0; }

 private:
  bool misses(double t) const;
  std::vector<double> candidates_;
  std::size_t at_ = 0;
  bool begun_ = false;
  double first_ = 0.0;
  std::vector<double> times_;  // distances from the first, to be looked at again with a shorter step
};

struct TimeBase {
  double interval = 0.0;  // between rows
  std::int64_t gaps = 0;
  double longest = 0.0, longest_at = 0.0;  // gap, and when it began
  double jitter = 0.0;                     // largest deviation of an interval, gaps apart
  double shortest = 0.0, widest = 0.0;     // intervals

  void add(double before, double t);         // two rows that follow each other
  std::vector<std::string> remarks() const;  // in words
  std::string irregular() const;             // likewise, of rows that are taken at their own times
};

// Between irregular rows: the usual interval, unless a few bursts make it a millionth of the record or less.
double longest_prediction(double interval, double span);

std::string seconds_text(double t);  // "1.5 ms"

}  // namespace tellegen
