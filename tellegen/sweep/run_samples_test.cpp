#include "tellegen/sweep/run_samples.h"
#include "tellegen/sensitivity/interruption.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>

namespace tellegen {
namespace run_samples_test {

std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> samples(count);
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  return samples;
}

TEST(RunSamples, takes_every_sample_once) {
  std::multiset<std::size_t> seen;
  SampleLoop loop;
  loop.evaluate = [](std::size_t k) { return SampleOutcome{{2.0 * static_cast<double>(k)}, ""}; };
  loop.finished = [&](std::size_t k, const SampleOutcome& outcome) {
    seen.insert(k);
    EXPECT_EQ(outcome.values[0], 2.0 * static_cast<double>(k));
  };
  double last = -1.0;
  loop.progress = [&](double fraction) { last = fraction; };
  run_samples(first(1000), 4, loop);
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), 1000u);
  EXPECT_EQ(last, 1.0);
  run_samples(first(0), 4, loop);
}

TEST(RunSamples, ends_and_throws_what_a_callback_threw) {
  std::atomic<int> evaluated = 0;
  SampleLoop loop;
  loop.evaluate = [&](std::size_t) { return ++evaluated, SampleOutcome{}; };
  loop.finished = [](std::size_t k, const SampleOutcome&) {
    if (k == 10) throw std::runtime_error("no space");
  };
  EXPECT_THROW(run_samples(first(100'000), 3, loop), std::runtime_error);
  EXPECT_LT(evaluated, 100'000);
}

TEST(RunSamples, progress_that_throws_ends_the_samples_that_run) {
  SampleLoop loop;
  loop.evaluate = [](std::size_t) -> SampleOutcome {
    for (;;) InterruptionWatch::ask();
  };
  loop.finished = [](std::size_t, const SampleOutcome&) {};
  loop.progress = [](double) { throw std::runtime_error("Ctrl-C"); };
  EXPECT_THROW(run_samples(first(100), 2, loop), std::runtime_error);
}

}  // namespace run_samples_test
}  // namespace tellegen
