#include "tellegen/realtime/clock.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tellegen/model/fault.h"

namespace tellegen {
namespace {

constexpr std::int64_t second = 1'000'000'000;

ModelError not_permitted(const char* code, std::string message, std::vector<std::string> details) {
  if (geteuid() == 0)
    details.insert(details.begin(),
                   "this is root: the container or control group forbids it (docker: --cap-add SYS_NICE, "
                   "--cap-add IPC_LOCK)");
  Fault fault;
  fault.code = code;
  fault.message = std::move(message);
  fault.details = std::move(details);
  return ModelError(std::move(fault));
}

std::string limit_text(int resource, double unit) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return fmt::format("{:.0f}", static_cast<double>(limit.rlim_cur) / unit);
}

// Calls in the loop find their pages there.
[[gnu::noinline]] void touch_stack() {
  volatile char pages[256 * 1024];
  for (std::size_t k = 0; k < sizeof pages; k += 1024) pages[k] = 0;
}

}  // namespace

std::int64_t MonotonicClock::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

void MonotonicClock::sleep_until(std::int64_t moment) {
  const timespec time{moment / second, moment % second};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

SchedulingRights::SchedulingRights(int priority, bool lock_memory) {
  if (lock_memory) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
      throw not_permitted(
          "T554", fmt::format("memory cannot be locked: {}", std::strerror(errno)),
          {"give the program the right: sudo setcap cap_sys_nice,cap_ipc_lock+ep build/tellegen",
           fmt::format(
               "or the user: 'memlock unlimited' in /etc/security/limits.conf (ulimit -l says {} KiB)",
               limit_text(RLIMIT_MEMLOCK, 1024.0)),
           "or leave --lock-memory out: a page that has been swapped out then costs milliseconds"});
    locked_ = true;
    touch_stack();
  }
  slack_ = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  if (priority == 0) return;
  sched_param before{};
  policy_ = sched_getscheduler(0);
  sched_getparam(0, &before);
  priority_ = before.sched_priority;
  sched_param wanted{};
  wanted.sched_priority = priority;
  if (sched_setscheduler(0, SCHED_FIFO, &wanted) != 0) {
    const int why = errno;
    if (locked_) munlockall();
    prctl(PR_SET_TIMERSLACK, slack_, 0, 0, 0);
    throw not_permitted(
        "T553", fmt::format("priority {} (SCHED_FIFO) is not granted: {}", priority, std::strerror(why)),
        {"give the program the right: sudo setcap cap_sys_nice,cap_ipc_lock+ep build/tellegen",
         fmt::format("or the user: 'rtprio {}' in /etc/security/limits.conf (ulimit -r says {})", priority,
                     limit_text(RLIMIT_RTPRIO, 1.0)),
         "or leave --priority out: other programs may then run first, and steps are late more often"});
  }
  scheduled_ = true;
}

SchedulingRights::~SchedulingRights() {
  if (scheduled_) {
    sched_param before{};
    before.sched_priority = priority_;
    sched_setscheduler(0, policy_, &before);
  }
  prctl(PR_SET_TIMERSLACK, slack_, 0, 0, 0);
  if (locked_) munlockall();
}

}  // namespace tellegen
