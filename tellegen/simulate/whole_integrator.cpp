#include "tellegen/simulate/whole_integrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tellegen {
namespace {

constexpr std::int64_t long_run = 200000;  // steps

// So many of a long run's steps keep its totals: whole samples, and whole turns between the renewals of its
// sines, so that the change to another program leaves no trace. 0: all.
std::int64_t followed_of(const Problem& problem, const Network& network, bool events) {
  const double steps = problem.options.stop / problem.step;
  if (problem.totals.empty() || events || network.iterative() || steps <= long_run) return 0;
  const std::int64_t turn = std::lcm<std::int64_t>(64, problem.stride);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(0.001 * steps) / turn) * turn;
}

}  // namespace

MethodPlan plan_method(const SimulationOptions& options, double step) {
  MethodPlan plan;
  if (options.method == "tr" || options.method == "trnp") {
    plan.scheme = trapezoidal(step);
    plan.project = options.method == "tr";
    return plan;
  }
  const int order = options.method.back() - '0';
  plan.scheme = bdf(order, step);
  plan.restart_steps = std::max(1, order - 1);
  if (options.start == "trapezoidal")
    plan.start_steps = options.start_steps > 0 ? options.start_steps : order - 1;
  return plan;
}

WholeIntegrator::WholeIntegrator(const Problem& problem, Network network)
    : problem_(problem),
      network_(std::move(network)),
      plan_(plan_method(problem.options, problem.step)),
      state_(start_state(network_, problem.initial)),
      schedule_(*problem.system, problem.step),
      updates_(problem.system->discrete.size()) {
  StepOptions options;
  options.step = problem.step;
  options.tolerance = problem.options.tolerance;
  options.project = plan_.project;
  options.refactor = problem.options.refactor;
  options.events = !schedule_.empty();
  for (auto& values : state_.value) values.resize(values.size() + problem.totals.size(), 0.0);
  state_.rate.insert(state_.rate.end(), problem.totals_start.begin(), problem.totals_start.end());
  followed_steps_ = followed_of(problem, network_, options.events);
  if (plan_.start_steps > 0 && !options.events) {
    // A handful of steps: not worth a compiler's time.
    StepOptions starting = options;
    starting.keep_all_past = true;
    start_ = std::make_unique<WholeStep>(network_, problem.storage, trapezoidal(problem.step),
                                         problem.outputs, state_, starting, problem.totals);
  }
  const auto make = [&](std::span<const Expr> totals) {
    return std::make_unique<WholeStep>(network_, problem.storage, plan_.scheme, problem.outputs, state_,
                                       options, totals);
  };
  if (followed_steps_ > 0) followed_ = make(problem.totals);
  step_ = make(followed_ ? std::span<const Expr>() : problem.totals);
  if (problem.options.compile) step_->loop().compile();
  if (options.events && plan_.start_steps > 0) begin(trapezoidal(problem.step), plan_.start_steps);
  control_.step = problem.step;
  control_.stride = problem.stride;
  control_.fixed_iterations = problem.options.iterations;
}

void WholeIntegrator::set_input(int input, double value) {
  state_.held[problem_.external[input]] = value;
  step_->hold(state_.held);
  if (start_) start_->hold(state_.held);
}

bool WholeIntegrator::run(WholeStep& step, StepLoopControl& control, std::int64_t steps) {
  control.steps = steps;
  control.event = 0;
  if (step.loop().run(control)) return true;
  failure_ = fmt::format(
      "Newton's iteration did not converge in the step to t = {:.9g} s ({} iterations); still changing: {}",
      control.origin + control.step * static_cast<double>(control.index + 1), control.max_iterations,
      step.still_changing(network_));
  return false;
}

bool WholeIntegrator::run_plain(std::int64_t steps) {
  if (control_.index < plan_.start_steps) {
    const std::int64_t starting = std::min<std::int64_t>(steps, plan_.start_steps - control_.index);
    if (!run(*start_, control_, starting)) return false;
    steps -= starting;
    if (control_.index == plan_.start_steps) {
      start_->store(state_);
      (followed_ ? followed_ : step_)->load(state_);
      control_.renew = 1;
    }
  }
  if (followed_ && steps > 0 && control_.index < followed_steps_) {
    const std::int64_t following = std::min(steps, followed_steps_ - control_.index);
    if (!run(*followed_, control_, following)) return false;
    steps -= following;
    if (control_.index == followed_steps_) {
      followed_->store(state_);
      step_->load(state_);
      control_.renew = 1;
    }
  }
  return steps == 0 || run(*step_, control_, steps);
}

void WholeIntegrator::begin(const Scheme& scheme, int steps) {
  step_->set_scheme(scheme, problem_.step);
  starting_ = steps;
  control_.renew = 1;
}

bool WholeIntegrator::run_with_events(std::int64_t steps) {
  const std::int64_t last = control_.index + steps;
  while (control_.index < last) {
    std::int64_t wanted = std::min(last, schedule_.next_due()) - control_.index;
    if (starting_ > 0) wanted = std::min<std::int64_t>(wanted, starting_);
    const std::int64_t before = control_.index;
    if (!run(*step_, control_, wanted)) return false;
    if (starting_ > 0 && (starting_ -= static_cast<int>(control_.index - before)) == 0)
      begin(plan_.scheme, 0);
    const bool again = control_.event && (problem_.options.event_bisections > 0 || ends());
    if (again && !locate()) return false;
    if (ended_) return true;
    if (take_updates(control_.index) || again) begin(bdf(1, problem_.step), plan_.restart_steps);
  }
  return true;
}

bool WholeIntegrator::take_updates(std::int64_t index) {
  step_->updates(updates_);
  if (!schedule_.take(index, updates_, state_.held)) return false;
  step_->hold(state_.held);
  ++events_;
  return true;
}

bool WholeIntegrator::ends() {
  if (problem_.stop_event < 0) return false;
  step_->updates(updates_);
  return updates_[problem_.stop_event] != 0.0;
}

// The step just done again with its events found by bisection. Backward Euler: no rates needed.
bool WholeIntegrator::locate() {
  step_->store(state_);
  state_.value[0] = state_.value[1];
  StepLoopControl part = control_;
  // Every part writes the row of the coming sample; the last one stays.
  const bool sampled = control_.phase == 0;
  part.stride = 1;
  const auto reach = [&](double from, double to) {
    step_->load(state_);
    part.step = (to - from) * problem_.step;
    part.origin = problem_.step * (static_cast<double>(control_.index - 1) + from);
    part.index = part.phase = 0;
    part.rows = sampled ? control_.rows - problem_.outputs.size() : control_.rows;
    part.renew = 1;
    // In the tiniest steps differences of values are mostly rounding, and never settle.
    part.fixed_iterations = to - from < 1e-6 ? 20 : control_.fixed_iterations;
    step_->set_scheme(bdf(1, part.step), part.step);
    return run(*step_, part, 1);
  };
  double done = 0.0;  // of the step
  for (int events = 0; done < 1.0; ++events) {
    double to = 1.0;
    if (!reach(done, to)) return false;
    if (part.event && events < most_located) {
      double before = done;
      for (int k = 0; k < problem_.options.event_bisections; ++k) {
        const double middle = 0.5 * (before + to);
        if (!reach(done, middle)) return false;
        (part.event ? to : before) = middle;
      }
      if (!reach(done, to)) return false;
      if (to < 1.0 && !ends())
        take_updates(control_.index - 1);  // before the step's own number: nothing is sampled
    }
    if (ends()) {
      ended_ = part.origin + part.step;
      done = 1.0;
    }
    step_->store(state_);
    done = std::max(done, to);
  }
  control_.iterations = part.iterations;
  control_.worst = part.worst;
  return true;
}

std::int64_t WholeIntegrator::advance(std::int64_t samples, double* rows) {
  control_.rows = rows;
  const std::int64_t first = control_.index, steps = samples * problem_.stride;
  const auto width = static_cast<std::int64_t>(problem_.outputs.size());
  schedule_.empty() ? run_plain(steps) : run_with_events(steps);  // failure_ says why they stop
  const std::int64_t done = (control_.index - (ended_ ? 1 : 0) - first) / problem_.stride;
  for (std::int64_t row = 0; row < done + (ended_ ? 1 : 0); ++row) {
    const std::string wrong =
        not_finite(problem_, rows + row * width,
                   control_.step * static_cast<double>(first + (row + 1) * problem_.stride));
    if (wrong.empty()) continue;
    failure_ = wrong;
    return row;
  }
  return done;
}

Totals WholeIntegrator::totals() const {
  Totals totals;
  if (problem_.totals.empty()) return totals;
  const bool still = followed_ && control_.index < followed_steps_;
  StepState now = state_;  // where others went on without totals: as it was handed over
  if (control_.index < plan_.start_steps && start_)
    start_->store(now);
  else if (!followed_)
    step_->store(now);
  else if (still)
    followed_->store(now);
  totals.values.assign(now.value[0].end() - static_cast<long>(problem_.totals.size()), now.value[0].end());
  if (followed_ && !still) totals.steps = followed_steps_;
  return totals;
}

Statistics WholeIntegrator::statistics() const {
  Statistics s;
  s.steps = control_.index;
  s.iterations = control_.iterations;
  s.worst_iterations = control_.worst;
  s.unknowns = network_.size();
  s.events = events_;
  s.chatter = schedule_.chatter();
  s.executor = step_->loop().compiled() ? "whole step, compiled" : "whole step, interpreted";
  return s;
}

}  // namespace tellegen
