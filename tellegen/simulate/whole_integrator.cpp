#include "tellegen/simulate/whole_integrator.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

// Totals stand behind the differentiated variables.
void start_with_totals(const Network& network, const Problem& problem, StepState& state) {
  put_start_state(network, problem.initial, state);
  for (auto& values : state.value) values.resize(values.size() + problem.totals.size(), 0.0);
  state.rate.insert(state.rate.end(), problem.totals_start.begin(), problem.totals_start.end());
}
StepState start_with_totals(const Network& network, const Problem& problem) {
  StepState state;
  start_with_totals(network, problem, state);
  return state;
}

}  // namespace

WholeIntegrator::WholeIntegrator(const Problem& problem, Network network)
    : problem_(problem),
      network_(std::move(network)),
      plan_(plan_method(problem.options, problem.step)),
      state_(start_with_totals(network_, problem)),
      events_(std::make_unique<EventSteps>(problem, plan_, static_cast<StepExecutor&>(*this), state_)),
      followed_(followed_steps(problem)),
      scheme_(plan_.scheme),
      aside_(problem.outputs.size()),
      values_(state_.value[0].size()) {
  StepOptions options;
  options.step = problem.step;
  options.tolerance = problem.options.tolerance;
  options.project = plan_.project;
  options.refactor = problem.options.refactor;
  options.restarts = problem.options.restarts;
  options.events = !events_->empty();
  options.followed_outputs = problem.followed_outputs;
  if (plan_.start_steps > 0 && !options.events) {
    // A handful of steps: not worth a compiler's time.
    StepOptions starting = options;
    starting.keep_all_past = true;
    start_ = std::make_unique<WholeStep>(network_, problem.storage, trapezoidal(problem.step),
                                         problem.outputs, state_, starting, problem.totals);
  }
  step_ = std::make_unique<WholeStep>(network_, problem.storage, plan_.scheme, problem.outputs, state_,
                                      options, problem.totals);
  if (problem.options.compile) step_->loop().compile_for(steps_to_come(problem));
  begin();
}

void WholeIntegrator::begin() {
  if (!events_->empty()) starting_ = plan_.start_steps;
  control_ = {};
  control_.step = problem_.step;
  control_.stride = problem_.stride;
  control_.fixed_iterations = problem_.options.iterations;
  failure_.clear();
}

bool WholeIntegrator::restart() {
  if (!problem_.totals.empty()) return false;  // nobody asks for it
  if (events_->has_fmus()) return false;       // they begin anew, with the numbers of a model just read
  start_with_totals(network_, problem_, state_);
  if (!events_->always_empty()) {
    // When sources jump follows from numbers too.
    const bool had_events = !events_->empty();
    events_ = std::make_unique<EventSteps>(problem_, plan_, static_cast<StepExecutor&>(*this), state_);
    if (events_->empty() == had_events) return false;
  }
  if (start_ && !start_->restart(network_, state_)) return false;
  if (!step_->restart(network_, state_)) return false;
  scheme_ = plan_.scheme;
  begin();
  return true;
}

bool WholeIntegrator::keep(Checkpoint& parts) {
  control_.rows = nullptr;
  tellegen::keep(parts, state_);
  events_->keep(parts);
  if (start_) start_->keep(parts);
  step_->keep(parts);
  parts(followed_, control_, scheme_, starting_);
  return true;
}

StepCode WholeIntegrator::step_code() const {
  StepCode code;
  if (!events_->empty()) {
    code = events_->code();
    if (!code.refused.empty()) return code;
    code.events->start_steps = starting_;
    step_->add_registers(*code.events);
  }
  const auto add = [&](const WholeStep& step) {
    StepCode::Part part = step.part(*problem_.system, control_);
    for (const std::int32_t input : problem_.external) part.inputs.push_back(part.held[input]);
    code.parts.push_back(std::move(part));
  };
  if (start_) {
    add(*start_);
    code.parts[0].steps = plan_.start_steps;
    code.parts[0].hand_over = start_->hand_over(*step_);
  }
  add(*step_);
  return code;
}

void WholeIntegrator::set_input(int input, double value) {
  state_.held[problem_.external[input]] = value;
  step_->hold(state_.held);
  if (start_) start_->hold(state_.held);
  control_.renew = 1;
}

bool WholeIntegrator::run(WholeStep& step, StepLoopControl& control, std::int64_t steps) {
  control.steps = steps;
  if (step.loop().run(control)) return true;
  failure_ = fmt::format(
      "Newton's iteration did not converge in the step to t = {:.9g} s ({} iterations); still changing: {}",
      control.origin + control.step * static_cast<double>(control.index + 1), control.max_iterations,
      step.still_changing(network_));
  return false;
}

bool WholeIntegrator::run_plain(std::int64_t steps) {
  if (control_.index < plan_.start_steps) {
    const std::int64_t starting =
        until_unfollowed(std::min<std::int64_t>(steps, plan_.start_steps - control_.index));
    if (!run(*start_, control_, starting)) return false;
    steps -= starting;
    if (control_.index == plan_.start_steps) {
      start_->store(state_);
      step_->load(state_);
      control_.renew = 1;
    }
  }
  while (steps > 0) {
    const std::int64_t alike = until_unfollowed(steps);
    if (!run(*step_, control_, alike)) return false;
    steps -= alike;
  }
  return true;
}

void WholeIntegrator::use(const Scheme& scheme, double length) {
  if (scheme == scheme_) return;
  step_->set_scheme(scheme, length);
  scheme_ = scheme;
  control_.renew = 1;
}

bool WholeIntegrator::run_with_events(std::int64_t steps) {
  const std::int64_t last = control_.index + steps;
  const auto width = static_cast<std::int64_t>(problem_.outputs.size());
  const auto time = [&](std::int64_t index) { return problem_.step * static_cast<double>(index); };
  while (control_.index < last) {
    const std::int64_t alike = until_unfollowed(last - control_.index);
    row_ = control_.rows;
    const auto count_step = [&] {
      starting_ = 0;
      ++control_.index;
      if (++control_.phase == control_.stride) {
        control_.phase = 0;
        control_.rows += width;
      }
    };
    if (const double to = time(control_.index + 1); events_->jumps(to)) {
      const Scheme scheme = starting_ > 0 ? trapezoidal(problem_.step) : plan_.scheme;
      if (!events_->jump(control_.index + 1, scheme, to)) return false;
      count_step();
      if (events_->ended()) return true;
      row_ = aside_.data();
      events_->update(control_.index, to);
      failure_ = events_->failure();
      if (!failure_.empty()) return false;
      continue;
    }
    if (events_->restarting()) {
      if (!events_->restart(time(control_.index + 1))) return false;
      count_step();
    } else {
      use(starting_ > 0 ? trapezoidal(problem_.step) : plan_.scheme, problem_.step);
      std::int64_t wanted = std::min(alike, events_->next_due() - control_.index);
      if (starting_ > 0) wanted = std::min<std::int64_t>(wanted, starting_);
      const std::int64_t before = control_.index;
      if (!run(*step_, control_, wanted)) return false;
      starting_ = std::max(0, starting_ - static_cast<int>(control_.index - before));
    }
    const double t = time(control_.index);
    if (events_->again(t)) {
      // Every part writes the row of this sample, or of the coming one; the last one stays.
      row_ = control_.phase == 0 ? control_.rows - width : control_.rows;
      if (!events_->locate(control_.index, t)) {
        --control_.index;  // nothing was finished
        return false;
      }
      if (events_->ended()) return true;
    } else {
      events_->keep(scheme_, t);
    }
    row_ = aside_.data();
    events_->update(control_.index, t);
    failure_ = events_->failure();  // what only looked ahead may fail
    if (!failure_.empty()) return false;
  }
  return true;
}

bool WholeIntegrator::take(const Scheme& scheme, double t, double length) {
  use(scheme, length);
  StepLoopControl one = control_;
  one.origin = t;
  one.step = 0.0;
  one.index = one.phase = 0;
  one.stride = one.renew = 1;
  one.rows = row_;
  bool good = run(*step_, one, 1);
  if (!good && length < 1e-6 * problem_.step && one.fixed_iterations == 0) {
    // In the tiniest steps differences of values are mostly rounding, and may never settle.
    one.fixed_iterations = 20;
    good = run(*step_, one, 1);
  }
  if (good) failure_.clear();
  control_.iterations = one.iterations;
  control_.worst = one.worst;
  control_.renew = 1;
  return good;
}

std::int64_t WholeIntegrator::advance(std::int64_t samples, double* rows) {
  if (!failure_.empty()) return 0;
  control_.rows = rows;
  const std::int64_t first = control_.index, steps = samples * problem_.stride;
  const auto width = static_cast<std::int64_t>(problem_.outputs.size());
  events_->empty() ? run_plain(steps) : run_with_events(steps);  // failure_ says why they stop
  const std::int64_t done = (control_.index - (ended() ? 1 : 0) - first) / problem_.stride;
  for (std::int64_t row = 0; row < done + (ended() ? 1 : 0); ++row) {
    const std::string wrong =
        not_finite(problem_, rows + row * width,
                   control_.step * static_cast<double>(first + (row + 1) * problem_.stride));
    if (wrong.empty()) continue;
    failure_ = wrong;
    return row;
  }
  return done;
}

bool WholeIntegrator::has_totals() {
  step_->values(values_);
  return std::any_of(values_.end() - static_cast<long>(problem_.totals.size()), values_.end(),
                     [](double total) { return total != 0.0; });
}

// No more than so many steps are followed, or not, like the next.
std::int64_t WholeIntegrator::until_unfollowed(std::int64_t steps) {
  // As long as nothing has happened there is nothing to account for.
  if (control_.index == followed_ && followed_ > 0 && !problem_.totals.empty() && !has_totals())
    followed_ *= 2;
  control_.follow = control_.index < followed_;
  return control_.follow ? std::min(steps, followed_ - control_.index) : steps;
}

Totals WholeIntegrator::totals() const {
  Totals totals;
  if (followed_ < control_.index) {
    totals.steps = followed_;
    totals.rows = followed_ / problem_.stride;
  }
  if (problem_.totals.empty()) return totals;
  StepState now = state_;
  (control_.index < plan_.start_steps && start_ ? start_ : step_)->store(now);
  totals.values.assign(now.value[0].end() - static_cast<long>(problem_.totals.size()), now.value[0].end());
  return totals;
}

Statistics WholeIntegrator::statistics() const {
  Statistics s;
  s.steps = control_.index;
  s.iterations = control_.iterations;
  s.worst_iterations = control_.worst;
  s.unknowns = network_.size();
  s.events = events_->events();
  s.chatter = events_->chatter();
  s.executor = step_->loop().compiled() ? "whole step, compiled" : "whole step, interpreted";
  return s;
}

}  // namespace tellegen
