// The end of a study from outside: Ctrl-C in a notebook.
//
// Studies are loops many calls below the door that started them, and no run knows how many follow. So the
// door leaves a watch with its thread, and the loops over rows and evaluations ask it; where the study is to
// end, the watch throws Interrupted. Threads that a study starts have none of their own (run_samples.cpp
// gives them one). Not to be asked where C code is between the loop and the door, as in a callback of
// SUNDIALS.
#pragma once

#include <functional>

namespace tellegen {

struct Interrupted {};  // no std::exception: nobody may take it for a run that failed

class InterruptionWatch {
 public:
  explicit InterruptionWatch(std::function<void()> watch);
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  static void ask();
  // For runs that are made again and again: looking up 200 times costs more than a short run.
  static constexpr double worth_asking = 0.02;  // seconds of a run

 private:
  std::function<void()> watch_;
  const std::function<void()>* before_;
};

}  // namespace tellegen
