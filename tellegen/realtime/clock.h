// The clock that paces a run, and what the operating system must grant for it to be paced well.
#pragma once

#include <cstdint>

namespace tellegen {

// Nanoseconds since any moment. A test has its own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now() = 0;
  virtual void sleep_until(std::int64_t moment) = 0;  // or less, where a signal comes
};

// CLOCK_MONOTONIC: the wall's pace, but it never jumps when somebody sets the time.
class MonotonicClock : public Clock {
 public:
  std::int64_t now() override;
  void sleep_until(std::int64_t moment) override;
};

// While it lives: SCHED_FIFO at this priority (0: as the process is), all memory locked and the stack
// touched, so that no page is fetched in the loop; timers as exact as the kernel can. Throws ModelError where
// that is asked for and not permitted: T553, T554. A run that only pretended would be measured for nothing.
class SchedulingRights {
 public:
  SchedulingRights(int priority, bool lock_memory);
  ~SchedulingRights();
  SchedulingRights(const SchedulingRights&) = delete;
  SchedulingRights& operator=(const SchedulingRights&) = delete;

 private:
  int policy_ = 0, priority_ = 0, slack_ = 0;  // before
  bool scheduled_ = false, locked_ = false;
};

}  // namespace tellegen
