// How long something took, over millions of times, in a fixed amount of memory.
//
// Bins are bounded by the preferred numbers R40 of ISO 3 (1.00, 1.06, 1.12, ... 9.50, 10.0) from 100 ns to
// 1000 s, so 1, 2 and 5 are bounds in every decade. A quantile is the upper bound of the bin it falls into,
// at most 7 % too long (below 100 ns: 100 ns), and never above the longest, which is exact.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

class DurationHistogram {
 public:
  void add(std::int64_t nanoseconds);  // allocates nothing; less than 0 counts as 0
  std::int64_t count() const { return count_; }
  double longest() const { return 1e-9 * static_cast<double>(longest_); }
  // The shortest time, in seconds, that this share of all is not above; 0 where there are none.
  double quantile(double share) const;

  struct Bin {
    double to = 0.0;  // seconds; longer than the last bin's lower bound
    std::int64_t count = 0;
  };
  std::vector<Bin> bins() const;  // those with something in them

 private:
  static constexpr int decades = 10;
  std::array<std::int64_t, 40 * decades + 2> counts_{};  // the first to 100 ns, the last above 1000 s
  std::int64_t count_ = 0, longest_ = 0;
};

// Two histograms side by side, in steps of 1, 2, 5: a table for a terminal.
std::string histogram_table(const DurationHistogram& lateness, const DurationHistogram& execution);

// "12.3 us"
std::string duration_text(double seconds);

}  // namespace tellegen
