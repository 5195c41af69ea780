#include "tellegen/simulate/network_integrator.h"

#include <fmt/format.h>

#include <cmath>

namespace tellegen {

NetworkIntegrator::NetworkIntegrator(const Problem& problem, Network network, StepListener* listener)
    : problem_(problem),
      network_(std::move(network)),
      plan_(plan_method(problem.options, problem.step)),
      state_(start_state(network_, problem.initial)),
      schedule_(*problem.system, problem.step),
      updates_(problem.system->discrete.size()),
      before_(problem.system->discrete.size()),
      listener_(listener),
      scheme_(plan_.scheme) {
  options_.record = listener != nullptr;
  options_.step = problem.step;
  options_.tolerance = problem.options.tolerance;
  options_.project = plan_.project;
  options_.refactor = problem.options.refactor;
  options_.events = !schedule_.empty();
  if (plan_.start_steps > 0 && !options_.events) {
    StepOptions starting = options_;
    starting.keep_all_past = true;
    start_ = std::make_unique<NetworkStep>(network_, problem.storage, trapezoidal(problem.step),
                                           problem.outputs, state_, starting);
  }
  step_ = std::make_unique<NetworkStep>(network_, problem.storage, plan_.scheme, problem.outputs, state_,
                                        options_);
  const bool compiled = problem.options.compile && step_->compile();
  if (options_.events && plan_.start_steps > 0) begin(trapezoidal(problem.step), plan_.start_steps);
  statistics_.unknowns = network_.size();
  statistics_.executor = compiled ? "kernels per kind, compiled" : "kernels per kind, interpreted";
}

void NetworkIntegrator::set_input(int input, double value) {
  state_.held[problem_.external[input]] = value;
  step_->hold(state_.held);
  if (start_) start_->hold(state_.held);
}

bool NetworkIntegrator::one_step(NetworkStep& step, double t) {
  const auto result = step.step(t, problem_.options.iterations, 50);
  if (!result.converged) {
    failure_ = fmt::format(
        "Newton's iteration did not converge in the step to t = {:.9g} s; the largest change is in {}", t,
        step.largest_change());
    return false;
  }
  statistics_.iterations += result.iterations;
  statistics_.factorisations += result.factorisations;
  statistics_.worst_iterations = std::max(statistics_.worst_iterations, result.iterations);
  return true;
}

std::int64_t NetworkIntegrator::advance(std::int64_t samples, double* rows) {
  const auto width = problem_.outputs.size();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t k = 0; k < problem_.stride; ++k) {
      const double t = problem_.step * static_cast<double>(statistics_.steps + 1);
      const bool starting = start_ && statistics_.steps < plan_.start_steps;
      NetworkStep& step = starting ? *start_ : *step_;
      if (listener_) listener_->before(step);
      if (!(options_.events ? step_with_events(t) : one_step(step, t))) return sample;
      ++statistics_.steps;
      if (listener_ && !options_.events)
        listener_->stepped(step, starting ? trapezoidal(problem_.step) : plan_.scheme, t, problem_.step);
      if (ended_) {
        step_->outputs(*ended_, rows);
        failure_ = not_finite(problem_, rows, *ended_);
        return sample;
      }
      if (k + 1 == problem_.stride) step.outputs(t, rows);
      if (starting) {
        start_->store(state_);
        if (statistics_.steps == plan_.start_steps) step_->load(state_);
      }
      if (options_.events) {
        // Only now: outputs still belong to the formula of this step.
        take_updates(statistics_.steps, t);
        if (changed_)
          begin(bdf(1, problem_.step), plan_.restart_steps);
        else if (starting_ > 0 && --starting_ == 0)
          begin(plan_.scheme, 0);
        changed_ = located_ = false;
      }
    }
    failure_ = not_finite(problem_, rows, problem_.step * static_cast<double>(statistics_.steps));
    if (!failure_.empty()) return sample;
    rows += width;
  }
  return samples;
}

void NetworkIntegrator::begin(const Scheme& scheme, int steps) {
  step_->set_scheme(scheme);
  scheme_ = scheme;
  starting_ = steps;
}

bool NetworkIntegrator::step_with_events(double t) {
  if (!one_step(*step_, t)) return false;
  if (event(t) && (problem_.options.event_bisections > 0 || ends())) return locate(t);
  if (listener_) listener_->stepped(*step_, scheme_, t, problem_.step);
  return true;
}

bool NetworkIntegrator::event(double t) {
  step_->updates(t, updates_);
  for (std::size_t k = 0; k < updates_.size(); ++k)
    if (problem_.system->discrete[k].every == 0.0 && updates_[k] != state_.held[k]) return true;
  return false;
}

bool NetworkIntegrator::ends() const {
  return problem_.stop_event >= 0 && updates_[problem_.stop_event] != 0.0;
}

// The step just done again with its events found by bisection. Backward Euler: no rates needed.
bool NetworkIntegrator::locate(double t) {
  step_->store(state_);
  state_.value[0] = state_.value[1];
  double at = t;
  const auto reach = [&](double from, double to) {
    step_->load(state_);
    step_->set_scheme(bdf(1, (to - from) * problem_.step));
    at = t - (1.0 - to) * problem_.step;
    return one_step(*step_, at);
  };
  double done = 0.0;  // of the step
  for (int events = 0; done < 1.0; ++events) {
    double to = 1.0;
    if (!reach(done, to)) return false;
    if (events < most_located && event(at)) {
      double before = done;
      for (int k = 0; k < problem_.options.event_bisections; ++k) {
        const double middle = 0.5 * (before + to);
        if (!reach(done, middle)) return false;
        (event(at) ? to : before) = middle;
      }
      if (!reach(done, to)) return false;
      located_ = true;
      if (listener_)
        listener_->stepped(*step_, bdf(1, (to - done) * problem_.step), at, (to - done) * problem_.step);
      if (event(at) && ends()) {
        ended_ = at;
        if (listener_) take_updates(statistics_.steps, at);
        return true;
      }
      if (to < 1.0) take_updates(statistics_.steps, at);  // before this step's number: nothing is sampled
    } else if (listener_) {
      located_ = false;
      listener_->stepped(*step_, bdf(1, (to - done) * problem_.step), at, (to - done) * problem_.step);
    }
    if (to < 1.0) step_->store(state_);
    done = to;
  }
  changed_ = true;
  return true;
}

void NetworkIntegrator::take_updates(std::int64_t index, double t) {
  step_->updates(t, updates_);
  std::copy(state_.held.begin(), state_.held.end(), before_.begin());
  const bool changed = schedule_.take(index, updates_, state_.held);
  if (listener_ && !schedule_.taken().empty())
    listener_->updated(t, schedule_.taken(), before_, state_.held, located_);
  if (!changed) return;
  step_->hold(state_.held);
  ++statistics_.events;
  changed_ = true;
}

Statistics NetworkIntegrator::statistics() const {
  Statistics s = statistics_;
  s.chatter = schedule_.chatter();
  return s;
}

}  // namespace tellegen
