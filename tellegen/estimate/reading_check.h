// Whether a reading can be one: within what the sensor can read, and not the same for too long.
//
//   ReadingCheck check(sensor);
//   check.see(t, reading) == ReadingVerdict::good      for one reading after the other, at increasing times
//
// A sensor that is stuck is found out only after its `stuck` time: until then its readings are good, from
// then on they are not, until another value comes.
#pragma once

#include <cmath>
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

 private:
  double lowest_, highest_, longest_;
  double same_ = std::numeric_limits<double>::quiet_NaN(), since_ = 0.0;
};

}  // namespace tellegen
