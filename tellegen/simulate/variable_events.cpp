// Events, jumps and what follows them, of a run by the variable step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/variable_run.h"

namespace tellegen {
namespace {

constexpr int most_changes = 50;  // of discrete variables at one instant
constexpr int rounds_to_settle = 8;
constexpr double sharpening = 0.01;  // of a step: long for an instant, short for what happens in a step
// Events so near the begin of their steps, so many on end, are chattering: then discrete variables rest for a
// while, longer and longer, from one part of a row's interval to another.
constexpr double quick = 0.01;
constexpr int chattering_events = 20;
constexpr double shortest_rest = 1e-4, longest_rest = 0.1;

}  // namespace

bool VariableRun::wants_change(double t) {
  stage_->updates(t, next_);
  for (std::size_t k = 0; k < held_.size(); ++k)
    if (system_.discrete[k].every == 0.0 && !system_.discrete[k].external && differs(next_[k], held_[k]))
      return true;
  return false;
}

// A change may show in a stage inside the step and be gone at its end.
bool VariableRun::find_event() {
  const bool rested = begin_ < rest_until_;  // until now: this is the first instant at which it may change
  double theta = rested ? 1.0 : Esdirk::node[changing_stage_];
  if (!solve_inside(theta, row_.data()) || !wants_change(begin_ + theta * length_)) {
    theta = 1.0;
    if (!solve_inside(theta, row_.data()) || !wants_change(t_)) return false;
  }
  std::copy(row_.begin() + static_cast<long>(first_quantity_), row_.end(), high_.begin());
  if (!rested) theta = locate(theta);
  quick_events_ = rested || theta < quick ? quick_events_ + 1 : 0;
  if (theta < 1.0) t_ = begin_ + theta * length_;
  x_ = work_;
  stage_->iterates(iterates_);
  std::copy(row_.begin() + static_cast<long>(first_quantity_), row_.end(), quantities_.begin());
  pending_ = Pending::event;
  return true;
}

// The first instant, to a small part of the step, at which a discrete variable wants to change: there is none
// at the begin, and one at theta. The quantities that change their sign in between say where to look; on
// both sides of where they vanish, so that the interval shrinks from both.
double VariableRun::locate(double high) {
  double low = 0.0;
  const double resolution = std::max(event_resolution, 8.0 * rounding * t_ / length_);
  bool at_high = true, trusted = true, upper = true;
  for (int round = 0; high - low > resolution && round < 100; ++round) {
    double root = high;
    bool any = false;
    for (std::size_t k = 0; k < low_.size(); ++k)
      if ((low_[k] < 0.0) != (high_[k] < 0.0) && low_[k] != high_[k]) {
        root = std::min(root, low + (high - low) * low_[k] / (low_[k] - high_[k]));
        any = true;
      }
    const double width = high - low, aside = std::max(0.5 * resolution, 0.02 * width * width);
    double at = upper ? root + aside : root - aside;
    const bool middle = !any || !trusted || !(at > low && at < high);
    if (middle) at = 0.5 * (low + high);
    const bool solved = solve_inside(at, row_.data());
    const bool change = !solved || wants_change(begin_ + at * length_);
    Vector& side = change ? high_ : low_;
    (change ? high : low) = at;
    std::copy(row_.begin() + static_cast<long>(first_quantity_), row_.end(), side.begin());
    at_high = change && solved;
    trusted = middle || change == upper;  // the interval is now as small as it was thought to be
    upper = middle ? upper : !change;
  }
  if (!at_high) solve_inside(high, row_.data());
  return high;
}

// Discrete variables become what the last solution says.
bool VariableRun::take_over(Due due, bool& changed) {
  stage_->updates(t_, next_);
  changed = false;
  for (std::size_t k = 0; k < held_.size(); ++k) {
    const Discrete& d = system_.discrete[k];
    if (d.external || (d.every > 0.0 && !(due == Due::sampled && breakpoints_.is_due(k, t_)))) continue;
    if (due == Due::timed && !breakpoints_.is_timed(k)) continue;
    if (!differs(next_[k], held_[k])) continue;
    held_[k] = next_[k];
    last_changed_ = k;
    changed = true;
  }
  if (!changed) return false;
  fmus_.follow(held_);
  stage_->hold(held_);
  breakpoints_.held_changed();
  return problem_.stop_event >= 0 && held_[problem_.stop_event] != 0.0;
}

// Backward Euler from now, with sources as they are at t; values are left in work_, outputs in row_.
bool VariableRun::solve_instant(double length, double t) {
  set_alpha(1.0 / length);
  for (std::size_t k = 0; k < count_; ++k) history_[k] = -alpha_ * x_[k];
  stage_->set_iterates(iterates_);
  if (solve(t, work_, row_.data(), true)) return true;
  // In the shortest of steps differences of values are mostly rounding, and may never settle.
  stage_->set_iterates(iterates_);
  stage_->fixed_iterations = 20;
  const bool good = solve(t, work_, row_.data(), true);
  stage_->fixed_iterations = problem_.options.iterations;
  return good && std::all_of(work_.begin(), work_.end(), [](double v) { return std::isfinite(v); });
}

// The row of the last solution, but for its rates: over an instant they are differences of values that are
// nearly equal, and of a slow and large one (300 K) five digits are left, of a rate of a rate three. Over
// longer steps from there,
//
//   rate = alpha (value - last value) + last rate,
//
// the equations say what they are, and with every round the values are nearer to where they were.
bool VariableRun::sharpen_row(double t) {
  const Vector values = work_;
  Vector rates(count_);
  for (std::size_t k = 0; k < count_; ++k) rates[k] = alpha_ * work_[k] + history_[k];
  set_alpha(1.0 / (sharpening * typical_));
  bool good = true;
  for (int round = 0; good && round < 4; ++round) {
    for (std::size_t k = 0; k < count_; ++k) history_[k] = rates[k] - alpha_ * values[k];
    stage_->iterates(guessed_);
    stage_->set_iterates(guessed_);
    good = solve(t, work_, row_.data(), true);
    for (std::size_t k = 0; k < count_; ++k) rates[k] = alpha_ * work_[k] + history_[k];
  }
  work_ = values;
  return good;
}

// After an event or a jump: discrete variables until none wants to change, then values and rates to go on
// from.
bool VariableRun::begin_anew() {
  const double at = t_;
  const Pending why = pending_;
  const bool sampled = why != Pending::event && breakpoints_.samples(at);
  Vector last_row, jump_row;
  if (problem_.stop_event >= 0 && length_ > 0.0) {  // the run may end here, before the change
    solve_inside(std::min(1.0, (at - begin_) / length_), row_.data());
    last_row = row_;
  }
  const double shortest = std::max(64.0 * rounding * at, 1e-15 * interval_);
  double length = std::max(instant * typical_, shortest);
  const double now = at * (1 + 4.0 * rounding);
  bool any = false, changed = false;
  const auto settle = [&](double t) {
    return solve_instant(length, t) || (recover(t) && solve_instant(length, t));
  };
  const auto no_solution = [&] {
    return fail(fmt::format(
        "no solution was found after the event at t = {:.9g} s: {} keeps changing; tried were Newton's "
        "iteration from the values before it, and gmin and source stepping",
        at, stage_->still_changing()));
  };
  const bool row_due = row_time(rows_ + 1) <= (at + 2 * length) * (1 + 1e-12);
  for (int round = 0;; ++round) {
    // What changes back and forth may do so because states move on in the instant, while time does not.
    if (round > 0 && round % rounds_to_settle == 0) length = std::max(1e-3 * length, shortest);
    if (!settle(now)) return no_solution();
    if (round == 0 && row_due && !sharpen_row(now) && !settle(now)) return no_solution();
    if (round == 0) jump_row = row_;
    if (round > most_changes) {
      chatters(at);
      break;
    }
    const bool samples = sampled && round == 0;
    // Of several edges in one instant the last may be behind it, and is before what is sampled there.
    bool ends = samples && take_over(Due::timed, changed);
    if (samples && changed && !ends) {
      any = true;
      stage_->iterates(iterates_);
      if (!settle(now)) return no_solution();
    }
    ends = ends || take_over(samples ? Due::sampled : Due::followers, changed);
    if (ends) {
      ended_ = at;
      if (!last_row.empty()) row_ = last_row;
      return false;
    }
    if (!changed) break;
    any = true;
    stage_->iterates(iterates_);
  }
  // Storage that follows a source is to change by one instant in the next one, not by two.
  if (!problem_.storage.redundant.empty() && !settle(at + length)) return no_solution();
  x_ = work_;
  stage_->iterates(iterates_);
  t_ = at + 2 * length;
  if (!settle(t_)) return no_solution();
  for (std::size_t k = 0; k < count_; ++k) rate_[k] = alpha_ * work_[k] + history_[k];
  x_ = work_;
  stage_->iterates(iterates_);
  std::copy(row_.begin() + static_cast<long>(first_quantity_), row_.end(), quantities_.begin());
  if (followed_.active()) stage_->integrands(t_, followed_.at[0]);
  if (row_due && !sharpen_row(t_) && !settle(t_)) return no_solution();
  row_known_ = why == Pending::jump;
  // Sources have jumped, discrete variables have not changed yet. An edge may be as short as the instant: the
  // row is of its begin, but for storage that follows the source, whose rate is known in the instant only.
  if (row_known_ && (any || problem_.storage.redundant.empty())) row_ = jump_row;
  row_time_ = at;
  if (const double next = row_time(rows_ + 1); next > at * (1 + 1e-12) && next <= t_) {
    row_known_ = true;  // the instant passes over a row
    row_time_ = t_;
  }
  length_ = older_length_ = 0.0;
  breakpoints_.pass(at);
  pending_ = Pending::nothing;
  if (any || why == Pending::jump) ++statistics_.events;
  if (why == Pending::event) {
    // What changes back as soon as it has rested still chatters.
    if (at - rest_until_ > 100 * rest_) rest_ = 0.0;
    if (quick_events_ >= (rest_ > 0.0 ? 1 : chattering_events)) chatters(at);
  }
  const double remembered = std::min(h_, restart_step_);
  choose_first_step();
  h_ = std::max(h_, remembered);
  last_error_ = 1.0;
  return true;
}

// Discrete variables that change again and again rest for a while, as they do in a fixed step.
void VariableRun::chatters(double t) {
  if (statistics_.chatter.empty()) {
    statistics_.chatter = fmt::format("'{}' changes again and again from t = {:.6g} s on: it chatters",
                                      system_.discrete[last_changed_].name, t);
  }
  quick_events_ = 0;
  const double scale = std::min(interval_, 1e-3 * stop_);
  rest_ = std::clamp(4 * rest_, shortest_rest * scale, longest_rest * scale);
  rest_until_ = t + rest_;
}

// Everything but the states anew, at time t.
bool VariableRun::recover(double t) {
  if (!afresh_) {
    tableau_ = std::make_unique<Tableau>(system_);
    afresh_ = std::make_unique<SolutionAfresh>(*tableau_, problem_.storage);
  }
  InitialState state = problem_.initial;
  state.held = held_;
  tableau_->hold(held_);
  try {
    afresh_->find(t, std::span(x_).first(controlled_), state);
  } catch (const std::runtime_error&) {
    return false;
  }
  Vector found = stage_->iterates_of(state);
  if (found.size() != iterates_.size()) return false;
  iterates_ = std::move(found);
  std::copy(state.rates.begin(), state.rates.end(), rate_.begin());
  older_length_ = 0.0;
  choose_first_step();
  return true;
}

bool VariableRun::keep(Checkpoint& parts) {
  breakpoints_.keep(parts);
  dead_points_.keep(parts);
  stage_->keep(parts);
  parts(peak_, rounded_, t_, h_, alpha_, x_, rate_, iterates_, held_, quantities_, after_restart_, rejected_,
        last_error_, restart_step_, typical_);
  parts(begin_, length_, end_time_, before_, after_, changing_stage_, older_guess_, older_length_, pending_,
        jump_before_, forced_end_, row_, row_known_, row_time_, low_);
  for (auto* stages : {&k_, &guess_})
    for (Vector& values : *stages) parts(values);
  parts(rows_, looked_at_.steps, looked_at_.events, looked_at_.t, travelled_, quick_events_, last_changed_,
        rest_, rest_until_, ended_);
  dense_.keep(parts);
  parts(dense_begun_, bend_, bend_known_);
  tellegen::keep(parts, statistics_);
  return followed_.rows == 0 && delays_.empty();
}

void VariableRun::set_input(int input, double value) {
  held_[problem_.external[input]] = value;
  stage_->hold(held_);
  breakpoints_.held_changed();
  pending_ = Pending::event;
  row_known_ = false;
}

Statistics VariableRun::statistics() const {
  Statistics s = statistics_;
  s.executor = stage_->executor();
  return s;
}

Totals VariableRun::totals() const {
  if (count_ == controlled_) return followed_.totals(problem_.stride);
  return {.values = {x_.begin() + static_cast<long>(controlled_), x_.end()}};
}

}  // namespace tellegen
