// The ways an instance can be had: by the functions of FMI 2, of FMI 3, and in another process.
#pragma once

#include <cmath>
#include <functional>
#include <limits>

#include "tellegen/fmu/fmu.h"
#include "tellegen/fmu/shared_object.h"

namespace tellegen {

// The nearest whole number that the type has.
template <class T>
T whole(double value) {
  const double rounded = std::round(value);
  if (!(rounded > static_cast<double>(std::numeric_limits<T>::lowest())))
    return std::numeric_limits<T>::lowest();
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

struct FmuPlace {
  std::shared_ptr<const FmuFile> file;
  std::filesystem::path folder, code;  // unpacked
  std::string name;                    // of the instance
};

std::unique_ptr<FmuInstance> start_fmi2(const FmuPlace& place);
std::unique_ptr<FmuInstance> start_fmi3(const FmuPlace& place);
// What `start` makes, in a child process.
std::unique_ptr<FmuInstance> start_isolated(const FmuDescription& description,
                                            const std::function<std::unique_ptr<FmuInstance>()>& start);

}  // namespace tellegen
