// Whether a reading can be one: within what the sensor can read, and not the same for too long.
//
//   ReadingCheck check(sensor);
//   check.see(t, reading) == ReadingVerdict::good      for one reading after the other, at increasing times
//
// A sensor that is stuck is found out only after its `stuck` time: until then its readings are good, from
// then on they are not, until another value comes. A record that is known as a whole tells when it froze
// (drop_impossible_of()).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "tellegen/model/model.h"

namespace tellegen {

// A reading that is not there, or a number that nobody knows.
inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

enum class ReadingVerdict { good, missing, out_of_range, stuck };

class ReadingCheck {
 public:
  explicit ReadingCheck(const ModelOutput& sensor)
      : lowest_(sensor.lowest.value_or(-std::numeric_limits<double>::infinity())),
        highest_(sensor.highest.value_or(std::numeric_limits<double>::infinity())),
        longest_(sensor.stuck.value_or(std::numeric_limits<double>::infinity()) * (1.0 + 1e-9)) {}

  ReadingVerdict see(double t, double reading) {
    if (std::isnan(reading)) return ReadingVerdict::missing;
    if (reading < lowest_ || reading > highest_) return ReadingVerdict::out_of_range;
    if (reading != same_) {
      same_ = reading;
      since_ = t;
    }
    return t - since_ > longest_ ? ReadingVerdict::stuck : ReadingVerdict::good;
  }

  // What it has seen: the last value, and since when.
  struct State {
    double same = std::numeric_limits<double>::quiet_NaN(), since = 0.0;
  };
  State state() const { return {same_, since_}; }
  void set_state(const State& state) { same_ = state.same, since_ = state.since; }

 private:
  double lowest_, highest_, longest_;
  double same_ = std::numeric_limits<double>::quiet_NaN(), since_ = 0.0;
};

// All readings of a sensor in a record: `reading(k)`, a reference, at the increasing times `time(k)`. What
// cannot be a reading becomes none, and `dropped(k, verdict)` is told. The whole record being known, readings
// that are stuck go from the moment they froze: the first of the same stays.
template <class Time, class Reading, class Dropped>
void drop_impossible_of(const ModelOutput& sensor, std::size_t count, const Time& time,
                        const Reading& reading, const Dropped& dropped) {
  ReadingCheck check(sensor);
  double value = no_number;
  std::size_t next = 0;  // of those that stay the same, the first to be dropped
  for (std::size_t k = 0; k < count; ++k) {
    const ReadingVerdict verdict = check.see(time(k), reading(k));
    if (verdict == ReadingVerdict::missing) continue;
    if (verdict == ReadingVerdict::out_of_range) {
      reading(k) = no_number;
      dropped(k, verdict);
      continue;
    }
    if (reading(k) != value) {
      value = reading(k);
      next = k + 1;
    }
    if (verdict != ReadingVerdict::stuck) continue;
    for (; next <= k; ++next) {
      if (std::isnan(reading(next))) continue;
      reading(next) = no_number;
      dropped(next, verdict);
    }
  }
}

}  // namespace tellegen
