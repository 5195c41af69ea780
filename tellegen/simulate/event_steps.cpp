#include "tellegen/simulate/event_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tellegen {
namespace {

constexpr double shortest_part = 1e-7;  // of a step
constexpr double look_ahead = 3e-4;     // likewise; shorter ones have rates of rounding

}  // namespace

MethodPlan plan_method(const SimulationOptions& options, double step) {
  MethodPlan plan;
  const MethodTraits& traits = traits_of(options.method);
  if (traits.formula == MethodTraits::Formula::trapezoidal) {
    plan.scheme = trapezoidal(step);
    plan.project = traits.projects;
    // A source that jumps across a storage leaves an impulse in the rate of the step behind it, and nothing
    // but a step that does not look at rates takes it out again.
    if (!plan.project) plan.restart_steps = 2;
    return plan;
  }
  plan.order = traits.order;
  plan.scheme = bdf(plan.order, step);
  plan.restart_steps = std::max(1, plan.order - 1);
  if (options.start == "trapezoidal")
    plan.start_steps = options.start_steps > 0 ? options.start_steps : plan.order - 1;
  return plan;
}

EventSteps::EventSteps(const Problem& problem, const MethodPlan& plan, StepExecutor& executor,
                       StepState& state)
    : problem_(problem),
      plan_(plan),
      executor_(executor),
      state_(state),
      begin_(state),
      schedule_(*problem.system, problem.step),
      jumps_(*problem.system, problem.step, problem.options.stop),
      updates_(problem.system->discrete.size()),
      before_(updates_.size()) {
  for (const Discrete& d : problem.system->discrete) follows_ = follows_ || (d.every == 0.0 && !d.external);
  taken_.reserve(updates_.size());
  find_timed();
}

void EventSteps::find_timed() {
  const EquationSystem& system = *problem_.system;
  Pool& pool = *system.model->pool;
  const Expr t = pool.symbol("t");
  std::vector<ProgramRoot> roots;
  std::vector<Expr> formulas;
  is_timed_.assign(system.discrete.size(), 0);
  for (std::size_t k = 0; k < system.discrete.size(); ++k) {
    const Discrete& d = system.discrete[k];
    if (d.every != 0.0 || d.external || !depends_on(d.update, t)) continue;
    const auto symbols = symbols_of(std::span(&d.update, 1));
    if (!std::all_of(symbols.begin(), symbols.end(),
                     [&](Expr s) { return s == t || discrete_of(system, s) >= 0; }))
      continue;
    is_timed_[k] = 1;
    roots.push_back({d.update, 0});
    formulas.push_back(d.update);
    timed_of_.push_back(static_cast<int>(k));
  }
  if (roots.empty()) return;
  std::vector<ProgramInput> inputs{{t, 0}};
  for (Expr s : symbols_of(formulas))
    if (s != t) {
      inputs.push_back({s, 0});
      timed_inputs_.push_back(discrete_of(system, s));
    }
  // Behind the updates, what decides them.
  for (Expr q : switching_quantities(formulas)) roots.push_back({q, 0});
  timed_low_.resize(roots.size() - timed_of_.size());
  timed_high_ = timed_between_ = timed_low_;
  timed_ = make_program(pool, inputs, {}, roots, 1);
  timed_registers_.resize(timed_.registers);
}

bool EventSteps::timed_change(double t) {
  if (timed_of_.empty()) return false;
  timed_registers_[0] = t;
  for (std::size_t i = 0; i < timed_inputs_.size(); ++i)
    timed_registers_[i + 1] = state_.held[timed_inputs_[i]];
  interpret(timed_, 0, timed_registers_.data());
  for (std::size_t i = 0; i < timed_of_.size(); ++i)
    if (differs(timed_registers_[timed_.roots[i]], state_.held[timed_of_[i]])) return true;
  return false;
}

// In parts of the step to t: where timed variables first want to change, not at `before`, at `to`. What
// decides them is mostly a straight line in time, so its zero is looked at on both sides; else the middle is.
double EventSteps::first_timed(double t, double before, double to) {
  const double h = problem_.step;
  const double resolution = std::max(1e-12, 8.0 * std::numeric_limits<double>::epsilon() * t / h);
  const auto look = [&](double part, std::vector<double>& quantities) {
    const bool change = timed_change(t - (1.0 - part) * h);
    for (std::size_t k = 0; k < quantities.size(); ++k)
      quantities[k] = timed_registers_[timed_.roots[timed_of_.size() + k]];
    return change;
  };
  look(before, timed_low_);
  look(to, timed_high_);
  bool upper = true, trusted = true;
  double width = 1.0;
  for (int round = 0; to - before > resolution && round < 100; ++round) {
    double zero = to;
    for (std::size_t k = 0; k < timed_low_.size(); ++k) {
      const double low = timed_low_[k], high = timed_high_[k];
      if ((low < 0.0) != (high < 0.0) && low != high)
        zero = std::min(zero, before + (to - before) * low / (low - high));
    }
    // A straight line is where it is thought to be; of a curve the interval shrinks as it does near a zero.
    const double aside = std::max(0.4 * resolution, round < 2 ? 0.0 : 0.02 * width * width);
    double at = upper ? zero + aside : zero - aside;
    const bool middle = !trusted || !(at > before && at < to);
    if (middle) at = 0.5 * (before + to);
    const bool change = look(at, timed_between_);
    (change ? timed_high_ : timed_low_).swap(timed_between_);
    (change ? to : before) = at;
    trusted = middle || change == upper;
    upper = middle ? upper : !change;
    width = to - before;
  }
  return to;
}

bool EventSteps::wants_change(double t) {
  executor_.updates(t, updates_);
  for (std::size_t k = 0; k < updates_.size(); ++k)
    if (problem_.system->discrete[k].every == 0.0 && differs(updates_[k], state_.held[k])) return true;
  return false;
}

bool EventSteps::ends() const { return problem_.stop_event >= 0 && updates_[problem_.stop_event] != 0.0; }

bool EventSteps::again(double t) {
  located_ = false;
  return wants_change(t) && (problem_.options.event_bisections > 0 || ends() || timed_change(t));
}

std::int64_t EventSteps::next_due() const {
  const std::int64_t due = schedule_.next_due();
  const double steps = std::ceil(jumps_.next() / problem_.step - shortest_part) - 1.0;  // before the jump's
  return steps < static_cast<double>(due) ? static_cast<std::int64_t>(steps) : due;
}

bool EventSteps::jumps(double t) {
  while (jumps_.next() <= t + shortest_part * problem_.step) {
    if (jumps_.jumps()) return true;
    jumps_.pass();
  }
  return false;
}

bool EventSteps::jump(std::int64_t index, const Scheme& scheme, double t) {
  if (jumps_.next() < t - shortest_part * problem_.step) {
    executor_.store(state_);
    staged_ = restarted_ = false;
    return in_parts(index, t);
  }
  // At the end of the step: an ordinary one, but for the sources.
  jumped_ = true;
  const double left = jumps_.before(t);
  while (jumps(t)) jumps_.pass();
  if (!(restarting() ? restart(left) : executor_.take(scheme, left, problem_.step))) return false;
  if (!(again(left) ? locate(index, t) : keep(scheme, left))) return false;
  restarting_ = plan_.restart_steps;
  return ended_ || look_behind_jump(t);
}

bool EventSteps::locate(std::int64_t index, double t) {
  executor_.store(state_);
  state_.value[0] = staged_ ? begin_.value[0] : state_.value[1];
  staged_ = restarted_ = false;
  return in_parts(index, t);
}

bool EventSteps::in_parts(std::int64_t index, double t) {
  const double h = problem_.step;
  double at = t, jump = 2.0;  // where the next source jumps, in parts of the step
  double reached = 0.0;
  const auto reach = [&](double from, double to) {
    reached = to;
    executor_.load(state_);
    at = t - (1.0 - to) * h;
    if (to >= jump || (to == 1.0 && jumped_)) at = jumps_.before(at);
    return executor_.take(bdf(1, (to - from) * h), at, (to - from) * h);
  };
  double done = 0.0;  // of the step
  bool any = false;   // of events
  for (int events = 0; done < 1.0; ++events) {
    jump = jumps(t - shortest_part * h) ? std::max(1.0 - (t - jumps_.next()) / h, done + shortest_part) : 2.0;
    double to = std::min(jump, 1.0);
    if (events < most_located && timed_change(t - (1.0 - to) * h)) to = first_timed(t, done, to);
    if (!reach(done, to)) return false;
    located_ = events < most_located && wants_change(at);
    any = any || located_;
    if (located_) {
      bool others = false;  // that need solutions to be found
      for (std::size_t k = 0; k < updates_.size(); ++k)
        others = others || (problem_.system->discrete[k].every == 0.0 && !is_timed_[k] &&
                            differs(updates_[k], state_.held[k]));
      double before = done;
      for (int k = 0; others && k < problem_.options.event_bisections; ++k) {
        const double middle = 0.5 * (before + to);
        if (!reach(done, middle)) return false;
        (wants_change(at) ? to : before) = middle;
      }
      to = std::max(to, done + shortest_part);
      if (to > 1.0 - shortest_part) to = 1.0;
      if (to != reached && !reach(done, to)) return false;
    }
    executor_.kept(bdf(1, (to - done) * h), at, (to - done) * h);
    if (to >= jump) jumps_.pass();
    if (wants_change(at) && ends()) {
      ended_ = at;
      if (take_updates(index - 1, at)) tell(at);
      return true;
    }
    done = to;
    if (done == 1.0) break;                            // the end of the step itself is for update()
    const bool changed = take_updates(index - 1, at);  // before the step's own number: nothing is sampled
    executor_.store(state_);
    if (changed) follow(at);
  }
  first_order_ = any;
  restarting_ = plan_.restart_steps;
  return true;
}

bool EventSteps::update(std::int64_t index, double t) {
  const bool jumped = std::exchange(jumped_, false);
  const bool changed = take_updates(index, t);
  if (jumped) executor_.load(state_);
  if (staged_)
    forget_stage();
  else if (changed && follows_)
    executor_.store(state_);
  if (changed) {
    follow(t);
    restarting_ = plan_.restart_steps;
  } else if (!taken_.empty()) {
    tell(t);
  }
  located_ = false;
  return changed;
}

// The row at a jump, and what is sampled there, is of the values after it; update() comes back from there.
bool EventSteps::look_behind_jump(double t) {
  const double moment = look_ahead * problem_.step;
  if (staged_)
    forget_stage();
  else
    executor_.store(state_);
  const double at = t + 4.0 * std::numeric_limits<double>::epsilon() * t;
  return executor_.take(bdf(1, moment), at, moment) && executor_.take(sharpened(problem_.step), at, moment);
}

// The first stage is no part of the past.
void EventSteps::forget_stage() {
  staged_ = false;
  executor_.store(state_);
  state_.value[1] = begin_.value[0];
  state_.value[2] = begin_.value[1];
  executor_.load(state_);
}

bool EventSteps::take_updates(std::int64_t index, double t) {
  executor_.updates(t, updates_);
  std::copy(state_.held.begin(), state_.held.end(), before_.begin());
  const bool changed = schedule_.take(index, updates_, state_.held);
  taken_.assign(schedule_.taken().begin(), schedule_.taken().end());
  if (!changed) return false;
  executor_.hold(state_.held);
  ++events_;
  return true;
}

// What wants to change because something else has: looked at just after the event, before time goes on.
void EventSteps::follow(double t) {
  const double moment = shortest_part * problem_.step;
  for (int round = 0; follows_ && round < most_followed; ++round) {
    executor_.load(state_);
    if (!executor_.take(bdf(1, moment), t + moment, moment) || !wants_change(t + moment)) break;
    for (std::size_t k = 0; k < updates_.size(); ++k) {
      if (problem_.system->discrete[k].every != 0.0 || !differs(updates_[k], state_.held[k])) continue;
      state_.held[k] = updates_[k];
      if (std::find(taken_.begin(), taken_.end(), static_cast<int>(k)) == taken_.end())
        taken_.push_back(static_cast<int>(k));
    }
    executor_.hold(state_.held);
    ++events_;
  }
  if (follows_) executor_.load(state_);
  tell(t);
}

void EventSteps::tell(double t) { executor_.changed(t, taken_, before_, state_.held, located_); }

bool EventSteps::restart(double t) {
  --restarting_;
  restarted_ = true;
  executor_.store(begin_);
  if (plan_.order > 1 && !first_order_) {
    staged_ = true;
    return take_stages(t, false);
  }
  return executor_.take(bdf(1, problem_.step), t, problem_.step);
}

bool EventSteps::take_stages(double t, bool keep) {
  const double h = problem_.step;
  for (const int stage : {1, 2}) {
    const Scheme scheme = sdirk(stage, h);
    const double at = stage == 1 ? t - (1.0 - sdirk_node) * h : t;
    if (!executor_.take(scheme, at, h)) return false;
    if (keep) executor_.kept(scheme, at, h);
  }
  return true;
}

bool EventSteps::keep(const Scheme& scheme, double t) {
  const bool restarted = std::exchange(restarted_, false);
  first_order_ = false;
  if (!executor_.watched()) return true;
  if (!staged_) {
    executor_.kept(restarted ? bdf(1, problem_.step) : scheme, t, problem_.step);
    return true;
  }
  // Both stages once more, to be looked at one by one.
  executor_.load(begin_);
  if (!take_stages(t, true)) return false;
  executor_.staged();
  return true;
}

}  // namespace tellegen
