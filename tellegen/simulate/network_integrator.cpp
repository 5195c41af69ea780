#include "tellegen/simulate/network_integrator.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

std::int64_t followed_steps_of_network(const Problem& problem) {
  const auto samples =
      static_cast<std::int64_t>(std::floor(problem.options.stop / problem.step * (1 + 1e-9))) /
      problem.stride;
  if (problem.options.balance == Balance::by_component) return samples * problem.stride;
  // Three in a hundred, and no fewer than sixty where there are as many.
  return problem.stride *
         std::min(samples, std::max((samples * 3 + 99) / 100, (60 + problem.stride - 1) / problem.stride));
}

NetworkIntegrator::NetworkIntegrator(const Problem& problem, Network network, StepListener* listener)
    : problem_(problem),
      network_(std::move(network)),
      plan_(plan_method(problem.options, problem.step)),
      state_(start_state(network_, problem.initial)),
      events_(problem, plan_, *this, state_),
      scheme_(plan_.scheme),
      listener_(listener),
      followed_(followed_steps_of_network(problem)) {
  options_.record = listener != nullptr;
  options_.step = problem.step;
  options_.followed_outputs = problem.followed_outputs;
  options_.tolerance = problem.options.tolerance;
  options_.project = plan_.project;
  options_.refactor = problem.options.refactor;
  options_.events = !events_.empty();
  if (plan_.start_steps > 0 && !options_.events) {
    StepOptions starting = options_;
    starting.keep_all_past = true;
    start_ = std::make_unique<NetworkStep>(network_, problem.storage, trapezoidal(problem.step),
                                           problem.outputs, state_, starting);
  }
  step_ = std::make_unique<NetworkStep>(network_, problem.storage, plan_.scheme, problem.outputs, state_,
                                        options_);
  compiled_ = problem.options.compile && step_->compile_for(steps_to_come(problem));
  if (options_.events) starting_ = plan_.start_steps;
  statistics_.unknowns = network_.size();
}

void NetworkIntegrator::set_input(int input, double value) {
  state_.held[problem_.external[input]] = value;
  step_->hold(state_.held);
  if (start_) start_->hold(state_.held);
}

bool NetworkIntegrator::keep(Checkpoint& parts) {
  if (listener_) return false;
  tellegen::keep(parts, state_);
  events_.keep(parts);
  if (start_) start_->keep(parts);
  step_->keep(parts);
  tellegen::keep(parts, statistics_);
  parts(scheme_, starting_, followed_);
  return true;
}

StepCode NetworkIntegrator::step_code() const {
  StepCode code;
  const NetworkCode last(*step_, problem_.options.iterations);
  if (options_.events) {
    code = events_.code();
    if (!code.refused.empty()) return code;
    code.events->start_steps = starting_;
    last.add_registers(*code.events);
  }
  code.refused = last.refused();
  if (start_ && code.refused.empty())
    code.refused = NetworkCode(*start_, problem_.options.iterations).refused();
  if (!code.refused.empty()) return code;
  const auto add = [&](const NetworkCode& step) {
    StepCode::Part part = step.part(problem_.step);
    const std::vector<std::int32_t> held = std::move(part.inputs);
    part.inputs.clear();
    for (const std::int32_t input : problem_.external) part.inputs.push_back(held[input]);
    code.parts.push_back(std::move(part));
  };
  if (start_) {
    const NetworkCode first(*start_, problem_.options.iterations);
    add(first);
    code.parts[0].steps = plan_.start_steps;
    code.parts[0].hand_over = first.hand_over(last);
  }
  add(last);
  return code;
}

std::vector<StepTables> NetworkIntegrator::step_tables() const {
  std::vector<StepTables> all;
  for (const auto* step : {start_.get(), step_.get()}) {
    if (!step) continue;
    StepTables tables = NetworkCode(*step, problem_.options.iterations).tables();
    const std::vector<char> factor = std::move(tables.factor);
    tables.factor.clear();
    for (const std::int32_t input : problem_.external) tables.factor.push_back(factor[input]);
    all.push_back(std::move(tables));
  }
  return all;
}

bool NetworkIntegrator::one_step(NetworkStep& step, double t) {
  const auto result = step.step(t, problem_.options.iterations, 50);
  if (!result.converged) {
    const std::string singular = step.singular_message();
    failure_ = singular.empty()
                   ? fmt::format(
                         "Newton's iteration did not converge in the step to t = {:.9g} s; the largest "
                         "change is in {}",
                         t, step.largest_change())
                   : fmt::format("in the step to t = {:.9g} s {}", t, singular);
    return false;
  }
  statistics_.iterations += result.iterations;
  statistics_.factorisations += result.factorisations;
  statistics_.worst_iterations = std::max(statistics_.worst_iterations, result.iterations);
  return true;
}

std::int64_t NetworkIntegrator::advance(std::int64_t samples, double* rows) {
  if (!failure_.empty()) return 0;
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
      if (events_.ended()) {
        step_->outputs(*events_.ended(), rows);
        failure_ = not_finite(problem_, rows, *events_.ended());
        return sample;
      }
      if (k + 1 == problem_.stride) step.outputs(t, rows, statistics_.steps <= followed_);
      if (starting) {
        start_->store(state_);
        if (statistics_.steps == plan_.start_steps) step_->load(state_);
      }
      // Only now: outputs still belong to the formula of this step.
      if (options_.events) events_.update(statistics_.steps, t);
      if (failure_ = events_.failure(); !failure_.empty()) return sample + (k + 1 == problem_.stride ? 1 : 0);
    }
    failure_ = not_finite(problem_, rows, problem_.step * static_cast<double>(statistics_.steps));
    if (!failure_.empty()) return sample;
    rows += width;
  }
  return samples;
}

bool NetworkIntegrator::step_with_events(double t) {
  if (events_.jumps(t)) {
    const Scheme scheme = starting_ > 0 ? trapezoidal(problem_.step) : plan_.scheme;
    starting_ = 0;
    return events_.jump(statistics_.steps + 1, scheme, t);
  }
  if (events_.restarting()) {
    starting_ = 0;
    if (!events_.restart(t)) return false;
  } else {
    const Scheme scheme = starting_ > 0 ? trapezoidal(problem_.step) : plan_.scheme;
    if (starting_ > 0) --starting_;
    if (!take(scheme, t, problem_.step)) return false;
  }
  return events_.again(t) ? events_.locate(statistics_.steps + 1, t) : events_.keep(scheme_, t);
}

bool NetworkIntegrator::take(const Scheme& scheme, double t, double) {
  if (!(scheme == scheme_)) step_->set_scheme(scheme);
  scheme_ = scheme;
  return one_step(*step_, t);
}

Statistics NetworkIntegrator::statistics() const {
  Statistics s = statistics_;
  s.executor = compiled_ ? "kernels per kind, compiled" : "kernels per kind, interpreted";
  s.events = events_.events();
  s.chatter = events_.chatter();
  return s;
}

}  // namespace tellegen
