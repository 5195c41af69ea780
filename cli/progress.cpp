#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tellegen {

bool ProgressBar::watched() { return isatty(STDERR_FILENO) == 1; }

void ProgressBar::operator()(double fraction) {
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  if (elapsed < 0.5 || (visible_ && now - drawn_ < std::chrono::milliseconds(100))) return;
  constexpr int width = 40;
  const auto filled = static_cast<std::size_t>(fraction * width);
  const double left = fraction > 0.0 ? elapsed * (1.0 - fraction) / fraction : 0.0;
  fmt::print(stderr, "\r[{:<{}}] {:3.0f} %, {:.0f} s left \033[K", std::string(filled, '#'), width,
             100.0 * fraction, left);
  std::fflush(stderr);
  drawn_ = now;
  visible_ = true;
}

ProgressBar::~ProgressBar() {
  if (!visible_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

void ProgressLine::operator()(const std::string& text) {
  if (!ProgressBar::watched()) return;
  fmt::print(stderr, "\r{}\033[K", text);
  std::fflush(stderr);
  visible_ = true;
}

ProgressLine::~ProgressLine() {
  if (visible_) fmt::print(stderr, "\r\033[K");
}

}  // namespace tellegen
