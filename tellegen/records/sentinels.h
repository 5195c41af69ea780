// Numbers that stand where nothing was read: -9999 among temperatures of 20 degrees.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tellegen {

// Of one column, in the unit of the file. What is found is one of the numbers that loggers use, and lies far
// from all the others.
class SentinelFinder {
 public:
  void add(double value, int line) {
    if (is_usual(value)) {
      if (value != value_ && count_ > 0) {  // one of them is told
        lowest_ = std::min(lowest_, value), highest_ = std::max(highest_, value);
        return;
      }
      if (count_++ == 0) value_ = value, line_ = line;
      return;
    }
    if (!std::isfinite(value)) return;
    lowest_ = std::min(lowest_, value);
    highest_ = std::max(highest_, value);
  }

  bool found() const {
    if (count_ == 0 || !(highest_ >= lowest_)) return false;
    const double range = highest_ - lowest_, size = std::max(std::abs(lowest_), std::abs(highest_));
    const double distance = value_ < lowest_ ? lowest_ - value_ : value_ - highest_;
    // An input that is switched has two values: only below zero is one of them none.
    if (range == 0.0) return value_ < 0.0 && lowest_ >= 0.0;
    return distance > 3.0 * range && distance > 3.0 * size;
  }
  double value() const { return value_; }
  int line() const { return line_; }
  std::int64_t count() const { return count_; }
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }

 private:
  static bool is_usual(double value) {
    const double size = std::abs(value);
    if (size < 999.0) return false;
    for (double usual : {999.0, 9999.0, 99999.0, 999999.0, 9999999.0, 999.9, 9999.9, 99999.9, 999.25, 6999.0,
                         7999.0, 32767.0, 32768.0, 65535.0, 3276.7, 3276.8, 1e30})
      if (size == usual) return true;
    return false;
  }

  double value_ = 0.0;
  double lowest_ = std::numeric_limits<double>::infinity(), highest_ = -lowest_;
  std::int64_t count_ = 0;
  int line_ = 0;
};

}  // namespace tellegen
