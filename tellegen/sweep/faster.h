// Compiled or interpreted? The answers are the same to the last bit, so the clock may decide. The compiler
// costs a tenth of a second, unless code of an earlier run fits; whether it does depends on where the numbers
// of the model stand. So: the first sample is interpreted; where that takes long, two are compiled, and the
// second tells what compiling costs from then on.
#pragma once

#include <mutex>

namespace tellegen {

class FasterExecution {
 public:
  bool compile();  // the next sample
  void took(bool compiled, double seconds);

 private:
  std::mutex mutex_;
  double interpreted_ = 0.0, compiled_ = 0.0;  // seconds of the last run of each; 0: none yet
  int compiled_runs_ = 0;
};

}  // namespace tellegen
