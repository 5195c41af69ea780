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

// An instance that somebody else integrates; before it is integrated it is initialised like any other, and is
// then in event mode.
class ContinuousFmu : public FmuInstance {
 public:
  virtual std::size_t states() = 0;
  virtual std::size_t indicators() = 0;
  virtual void get_states(std::span<double> x) = 0;
  virtual void get_nominals(std::span<double> x) = 0;
  virtual void get_rates(std::span<double> rates) = 0;
  virtual void get_indicators(std::span<double> z) = 0;
  virtual void set_time(double t) = 0;
  virtual void set_states(std::span<const double> x) = 0;
  virtual void slope(std::size_t state, std::span<double> rates) = 0;  // d rates / d state
  struct Event {
    bool again = false, over = false, states_changed = false;
    double next = std::numeric_limits<double>::infinity();
  };
  virtual void enter_event_mode() = 0;
  virtual Event update_discrete() = 0;
  virtual void enter_continuous_mode() = 0;
  struct Completed {
    bool event = false, over = false;
  };
  virtual Completed completed_step() = 0;
};

enum class FmuInterface { co_simulation, model_exchange };
std::unique_ptr<ContinuousFmu> start_fmi2(const FmuPlace& place, FmuInterface interface);
std::unique_ptr<ContinuousFmu> start_fmi3(const FmuPlace& place, FmuInterface interface);
// One for model exchange, integrated by itself from one communication point to the next.
std::unique_ptr<FmuInstance> integrated(const FmuDescription& description,
                                        std::unique_ptr<ContinuousFmu> fmu);
// What `start` makes, in a child process.
std::unique_ptr<FmuInstance> start_isolated(const FmuDescription& description,
                                            const std::function<std::unique_ptr<FmuInstance>()>& start);

}  // namespace tellegen
