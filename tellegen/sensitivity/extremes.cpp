#include "tellegen/sensitivity/extremes.h"

#include <fmt/format.h>

#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

const char* word(const Observed& observed) {
  return observed.what == Observed::What::maximum ? "maximum" : "minimum";
}

}  // namespace

std::string shared_extreme(const Observed& observed, double t) {
  return fmt::format(
      "several samples share the {} of {}, and parameters move them apart: its derivative holds for the one "
      "at "
      "t = {:.9g} s",
      word(observed), to_text(observed.value), t);
}

std::string extreme_at_event(const Observed& observed, double event, double t) {
  return fmt::format(
      "the {} of {} is at the event at t = {:.9g} s, which parameters move: its derivative is that of the "
      "sample at t = {:.9g} s and leaves this out; let the run end at that event (stop_when)",
      word(observed), to_text(observed.value), event, t);
}

std::string event_at_end(const std::string& discrete, double t) {
  return fmt::format(
      "'{}' changes at the very end of the run, t = {:.9g} s: parameters move this event into the run and "
      "out "
      "of it, and derivatives hold for one side; choose another stop",
      discrete, t);
}

}  // namespace tellegen
