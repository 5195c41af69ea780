#include "tellegen/sensitivity/interruption.h"

#include <utility>

namespace tellegen {
namespace {

// Here and not in the header: a module of Python would have one of its own.
thread_local const std::function<void()>* current_watch = nullptr;

}  // namespace

InterruptionWatch::InterruptionWatch(std::function<void()> watch)
    : watch_(std::move(watch)), before_(std::exchange(current_watch, &watch_)) {}

InterruptionWatch::~InterruptionWatch() { current_watch = before_; }

void InterruptionWatch::ask() {
  if (current_watch) (*current_watch)();
}

}  // namespace tellegen
