#include "tellegen/sweep/run_samples.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "tellegen/sensitivity/interruption.h"

namespace tellegen {

void run_samples(std::span<const std::size_t> samples, int jobs, const SampleLoop& loop) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::size_t done = 0;
  int running = 0;
  std::exception_ptr error;

  std::atomic<bool> interrupted = false;
  const auto work = [&] {
    const InterruptionWatch watch([&] {
      if (interrupted) throw Interrupted();
    });
    try {
      for (;;) {
        const std::size_t wanted = loop.at_once ? loop.at_once() : 1, first = next.fetch_add(wanted);
        if (first >= samples.size()) break;
        const auto mine = samples.subspan(first, std::min(wanted, samples.size() - first));
        std::vector<SampleOutcome> outcomes;
        if (mine.size() > 1)
          outcomes = loop.evaluate_some(mine);
        else
          outcomes.push_back(loop.evaluate(mine[0]));
        const std::lock_guard lock(mutex);
        for (std::size_t k = 0; k < mine.size(); ++k, ++done) loop.finished(mine[k], std::move(outcomes[k]));
        if (loop.all_finished) loop.all_finished();
      }
    } catch (...) {
      next = samples.size();  // nobody takes another
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    --running;
    changed.notify_one();
  };

  std::vector<std::jthread> threads;
  {
    std::unique_lock lock(mutex);
    for (int j = 0; j < jobs && static_cast<std::size_t>(j) < samples.size(); ++j, ++running)
      threads.emplace_back(work);
    while (running > 0) {
      changed.wait_for(lock, std::chrono::milliseconds(100));
      const double fraction = static_cast<double>(done) / static_cast<double>(samples.size());
      if (!loop.progress || error) continue;
      try {
        loop.progress(fraction);
      } catch (...) {  // the samples that run are not waited for
        interrupted = true;
        next = samples.size();
        error = std::current_exception();
      }
    }
  }
  threads.clear();  // joined
  if (error) std::rethrow_exception(error);
}

}  // namespace tellegen
