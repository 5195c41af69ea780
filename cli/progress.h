// A bar on standard error while a long run lasts, if a person is watching; wiped at the end.
#pragma once

#include <chrono>
#include <string>

namespace tellegen {

class ProgressBar {
 public:
  ~ProgressBar();
  static bool watched();             // standard error is a terminal
  void operator()(double fraction);  // silent for the first half second

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now(), drawn_ = begin_;
  bool visible_ = false;
};

// One line of words instead.
class ProgressLine {
 public:
  ~ProgressLine();
  void operator()(const std::string& text);

 private:
  bool visible_ = false;
};

}  // namespace tellegen
