#include "tellegen/sweep/faster.h"

namespace tellegen {
namespace {

constexpr double short_run = 0.02;  // seconds: no compiler gains on these

}  // namespace

bool FasterExecution::compile() {
  const std::lock_guard lock(mutex_);
  if (interpreted_ < short_run) return false;  // also: none yet
  if (compiled_runs_ < 2) return true;
  return compiled_ < interpreted_;
}

void FasterExecution::took(bool compiled, double seconds) {
  const std::lock_guard lock(mutex_);
  (compiled ? compiled_ : interpreted_) = seconds;
  compiled_runs_ += compiled;
}

}  // namespace tellegen
