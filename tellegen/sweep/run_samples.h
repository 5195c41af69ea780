// Samples over threads. Each thread takes the next sample that nobody has; what is evaluated must not share
// anything that changes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tellegen {

struct SampleOutcome {
  std::vector<double> values;
  std::string status;  // empty: good; otherwise why there are no values
};

struct SampleLoop {
  std::function<SampleOutcome(std::size_t sample)> evaluate;
  std::function<void(std::size_t sample, SampleOutcome outcome)> finished;  // one at a time
  std::function<void()> all_finished = {};  // after those that were evaluated side by side, or after one
  // Where several can be evaluated side by side: how many from now on, and they.
  std::function<std::size_t()> at_once = {};
  std::function<std::vector<SampleOutcome>(std::span<const std::size_t> samples)> evaluate_some = {};
  std::function<void(double fraction)> progress = {};  // in the calling thread, ten times a second
};

// Throws what a callback threw, after all threads have ended; samples that run while `progress` throws are
// interrupted (sensitivity/interruption.h).
void run_samples(std::span<const std::size_t> samples, int jobs, const SampleLoop& loop);

}  // namespace tellegen
