#include "tellegen/estimate/twin_events.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/simulate/discrete.h"

namespace tellegen {
namespace {

constexpr double rounding = std::numeric_limits<double>::epsilon();
constexpr double same_instant = 1e-12;  // relative
constexpr double beside = 1e-9;         // of a step: an instant so little after another belongs to it
constexpr double just_met = 1e-5;       // of a step: a condition so long ago, or less, is what has decided
constexpr double horizon = 1e4;         // steps: how far sources are looked at for their size
constexpr int most_changes = 20;        // that follow one another at an instant
constexpr double shortest_part = 1e-7;  // of a step: how near events are looked for
constexpr int most_located = 50;        // in one row's step

}  // namespace

TwinEvents::TwinEvents(TwinModel& model, double step)
    : model_(model),
      step_(step),
      place_(-std::numeric_limits<double>::infinity()),
      from_start_(model.system(), step, horizon * step),
      held_(model.system().discrete.size(), 0.0),
      taken_(model.samples().size(), 0) {}

void TwinEvents::go_to(double passed) {
  place_ = passed;
  breakpoints_.emplace(from_start_);
  breakpoints_->pass(passed);
  for (std::size_t k = 0; k < taken_.size(); ++k) {
    taken_[k] = std::max<std::int64_t>(0, static_cast<std::int64_t>(passed / interval(k)) - 1) - 1;
    while (is_due(k, passed)) ++taken_[k];
  }
}

void TwinEvents::take_inputs(const double* u) {
  bool changed = false;
  const auto set = [&](std::int32_t k, double value) {
    changed = changed || held_[static_cast<std::size_t>(k)] != value;
    held_[static_cast<std::size_t>(k)] = value;
  };
  for (std::size_t k = 0; k < model_.external().size(); ++k) set(model_.external()[k], u[k]);
  for (std::size_t k = 0; k < model_.discrete().size(); ++k)
    set(model_.discrete()[k].of_system, model_.held(k));
  if (changed) breakpoints_->held_changed();
}

double TwinEvents::interval(std::size_t k) const {
  const double every = model_.samples()[k].every;
  return every == each_step ? step_ : every;
}

double TwinEvents::next_sample(std::size_t k) const {
  return interval(k) * static_cast<double>(taken_[k] + 1);
}

bool TwinEvents::is_due(std::size_t k, double t) const {
  return next_sample(k) <= t * (1 + same_instant) + beside * step_;
}

double TwinEvents::next(double t) {
  double at = breakpoints_->next(t, held_);
  for (std::size_t k = 0; k < taken_.size(); ++k) at = std::min(at, next_sample(k));
  return at;
}

bool TwinEvents::differs_at(std::size_t k) const {
  return differs(point_.value[static_cast<long>(k)], model_.held(k));
}

bool TwinEvents::wants_change(const Vector& x, double t, const double* u, const double* du, bool& wants) {
  wants = false;
  if (!model_.evaluate_events(x, t, u, du, point_)) return false;
  for (std::size_t k = 0; k < model_.discrete().size(); ++k)
    wants =
        wants ||
        (model_.system().discrete[static_cast<std::size_t>(model_.discrete()[k].of_system)].every == 0.0 &&
         differs_at(k));
  return true;
}

// What the point says. Samples change the states, and how small differences of them go on.
bool TwinEvents::take(Due due, double t, Vector& x, bool first) {
  bool any = false;
  for (std::size_t k = 0; k < model_.discrete().size(); ++k) {
    const auto of_system = static_cast<std::size_t>(model_.discrete()[k].of_system);
    const bool sampled = model_.system().discrete[of_system].every > 0.0;
    if (sampled != (due == Due::sampled) || (sampled && !breakpoints_->is_due(of_system, t))) continue;
    if ((due == Due::timed && !breakpoints_->is_timed(of_system)) || !differs_at(k)) continue;
    model_.hold(k, point_.value[static_cast<long>(k)]);
    any = true;
  }
  if (due != Due::sampled) return any;
  for (std::size_t k = 0; k < taken_.size(); ++k) {
    if (!first && !is_due(k, t)) continue;
    const auto row = static_cast<long>(model_.discrete().size() + k);
    const long state = model_.samples()[k].state;
    x[state] = point_.value[row];
    reset_.row(state) = point_.by_state.row(row);
    any = true;
  }
  return any;
}

// The condition that has just been met: of what wants to change, the one that would have been zero the
// shortest time ago. -1: none that depends on the states.
long TwinEvents::trigger() const {
  long found = -1;
  double shortest = just_met * step_;
  const auto first = static_cast<long>(model_.discrete().size() + model_.samples().size());
  for (std::size_t k = 0; k < model_.discrete().size(); ++k) {
    if (!differs_at(k)) continue;
    const TwinDiscrete& d = model_.discrete()[k];
    for (std::size_t c = 0; c < d.conditions; ++c) {
      const long row = first + static_cast<long>(d.first_condition + c);
      const double rate = point_.by_state.row(row).dot(before_.rates) + point_.by_time[row];
      const double ago = std::abs(point_.value[row] / rate);
      if (!(ago < shortest) || point_.by_state.row(row).isZero(0.0)) continue;
      shortest = ago;
      found = row;
    }
  }
  return found;
}

bool TwinEvents::pass(double t, const double* u, const double* du, Vector& x, Matrix& change, bool first) {
  change.resize(0, 0);
  if (first)
    go_to(t - 2 * beside * step_);
  else if (place_ != model_.events_passed())
    go_to(model_.events_passed());
  take_inputs(u);
  if (!first && t <= place_) return true;
  const double now = t + 4.0 * rounding * std::abs(t);
  bool wants = false;
  if (!wants_change(x, now, u, du, wants)) return false;
  bool samples = first || breakpoints_->samples(t);
  for (std::size_t k = 0; k < taken_.size(); ++k) samples = samples || is_due(k, t);
  if (wants || samples) {
    if (!model_.evaluate(x, now, u, du, before_)) return false;
    const long deciding = samples ? -1 : trigger();
    Vector slopes;
    double rate = 1.0;
    if (deciding >= 0) {
      slopes = point_.by_state.row(deciding).transpose();
      rate = slopes.dot(before_.rates) + point_.by_time[deciding];
    }
    reset_ = Matrix::Identity(x.size(), x.size());
    if (samples) {
      if (take(Due::timed, t, x) && !model_.evaluate_events(x, now, u, du, point_)) return false;
      take(Due::sampled, t, x, first);
      if (!model_.evaluate_events(x, now, u, du, point_)) return false;
    }
    for (int round = 0; round < most_changes && take(Due::followers, t, x); ++round)
      if (!model_.evaluate_events(x, now, u, du, point_)) return false;
    change = reset_;
    if (deciding >= 0) {
      if (!model_.evaluate(x, now, u, du, after_)) return false;
      change += (after_.rates - before_.rates) * slopes.transpose() / rate;
    }
    take_inputs(u);
  }
  place_ = t;
  model_.pass_events(t);
  breakpoints_->pass(t);
  for (std::size_t k = 0; k < taken_.size(); ++k)
    while (is_due(k, t)) ++taken_[k];
  return true;
}

bool TwinEvents::pass(MeanFollower& follower, double t, const double* u, const double* du, bool first) {
  Vector mean = follower.mean();
  Matrix change;
  if (!pass(t, u, du, mean, change, first)) return false;
  if (change.size() > 0) follower.change(mean, change);
  return true;
}

bool TwinEvents::begin(MeanFollower& follower, double t, const double* u) {
  return pass(follower, t, u, nullptr, true);
}

bool TwinEvents::lead(MeanFollower& follower, double t, double length, const double* u, const double* du) {
  const double end = t + length, close = shortest_part * step_;
  std::vector<double> here(u, u + model_.inputs()), there = here;
  const auto inputs_at = [&](double time, std::vector<double>& inputs) {
    for (std::size_t k = 0; k < inputs.size(); ++k) inputs[k] = u[k] + du[k] * (time - t);
  };
  int located = 0;
  for (double at = t; end - at > close;) {
    inputs_at(at, here);
    if (!pass(follower, at, here.data(), du, false)) return false;
    const double known = next(at);
    double to = std::min(end, std::max(known, at + close));
    if (end - to <= close) to = end;
    follower.keep();
    const Vector memory = model_.memory();
    const auto predict_to = [&](double time) {
      return follower.predict(at, time - at, here.data(), time == end);
    };
    bool wants = false;
    const auto kinks = static_cast<long>(model_.kinks());
    const auto look_at = [&](double time) {
      inputs_at(time, there);
      if (!wants_change(follower.mean(), time, there.data(), du, wants)) return false;
      if (time == at) kinks_ = point_.value.tail(kinks);
      for (long k = 0; k < kinks; ++k)
        wants = wants || (kinks_[k] < 0.0) != (point_.value[point_.value.size() - kinks + k] < 0.0);
      return true;
    };
    if (!look_at(at)) return false;
    const auto go_back = [&] {
      follower.go_back();
      model_.set_memory(memory);
    };
    // What changes at an instant that is known is none to be looked for.
    if (!predict_to(to) || !look_at(known - to <= close ? to - close : to)) return false;
    if (wants && located++ < most_located) {
      double low = at;  // nothing wants to change there
      while (to - low > close) {
        const double middle = 0.5 * (low + to);
        go_back();
        if (!predict_to(middle) || !look_at(middle)) return false;
        (wants ? to : low) = middle;
      }
      go_back();
      if (!predict_to(to)) return false;
    }
    at = to;
  }
  return true;
}

}  // namespace tellegen
