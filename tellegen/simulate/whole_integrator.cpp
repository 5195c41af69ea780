#include "tellegen/simulate/whole_integrator.h"

#include <fmt/format.h>

namespace tellegen {

MethodPlan plan_method(const SimulationOptions& options, double step) {
  MethodPlan plan;
  if (options.method == "tr" || options.method == "trnp") {
    plan.scheme = trapezoidal(step);
    plan.project = options.method == "tr";
    return plan;
  }
  const int order = options.method.back() - '0';
  plan.scheme = bdf(order, step);
  if (options.start == "trapezoidal")
    plan.start_steps = options.start_steps > 0 ? options.start_steps : order - 1;
  return plan;
}

WholeIntegrator::WholeIntegrator(const Problem& problem, Network network)
    : problem_(problem),
      network_(std::move(network)),
      plan_(plan_method(problem.options, problem.step)),
      state_(start_state(network_, problem.initial)) {
  StepOptions options;
  options.step = problem.step;
  options.tolerance = problem.options.tolerance;
  options.project = plan_.project;
  options.refactor = problem.options.refactor;
  if (plan_.start_steps > 0) {
    // A handful of steps: not worth a compiler's time.
    StepOptions starting = options;
    starting.keep_all_past = true;
    start_ = std::make_unique<WholeStep>(network_, problem.storage, trapezoidal(problem.step),
                                         problem.outputs, state_, starting);
  }
  step_ =
      std::make_unique<WholeStep>(network_, problem.storage, plan_.scheme, problem.outputs, state_, options);
  if (problem.options.compile) step_->loop().compile();
  control_.step = problem.step;
  control_.stride = problem.stride;
  control_.fixed_iterations = problem.options.iterations;
}

bool WholeIntegrator::run(WholeStep& step, std::int64_t steps) {
  control_.steps = steps;
  if (step.loop().run(control_)) return true;
  failure_ = fmt::format(
      "Newton's iteration did not converge in the step to t = {:.9g} s ({} iterations); still changing: {}",
      control_.step * static_cast<double>(control_.index + 1), control_.max_iterations,
      step.still_changing(network_));
  return false;
}

std::int64_t WholeIntegrator::advance(std::int64_t samples, double* rows) {
  control_.rows = rows;
  const std::int64_t first = control_.index;
  std::int64_t steps = samples * problem_.stride;
  const auto width = static_cast<std::int64_t>(problem_.outputs.size());
  bool good = true;
  if (control_.index < plan_.start_steps) {
    const std::int64_t starting = std::min<std::int64_t>(steps, plan_.start_steps - control_.index);
    good = run(*start_, starting);
    steps -= starting;
    if (good && control_.index == plan_.start_steps) {
      start_->store(state_);
      step_->load(state_);
      control_.renew = 1;
    }
  }
  if (good && steps > 0) good = run(*step_, steps);
  const std::int64_t done = (control_.index - first) / problem_.stride;
  for (std::int64_t row = 0; row < done; ++row) {
    const std::string wrong =
        not_finite(problem_, rows + row * width,
                   control_.step * static_cast<double>(first + (row + 1) * problem_.stride));
    if (wrong.empty()) continue;
    failure_ = wrong;
    return row;
  }
  return done;
}

Statistics WholeIntegrator::statistics() const {
  Statistics s;
  s.steps = control_.index;
  s.iterations = control_.iterations;
  s.worst_iterations = control_.worst;
  s.unknowns = network_.size();
  s.executor = step_->loop().compiled() ? "whole step, compiled" : "whole step, interpreted";
  return s;
}

}  // namespace tellegen
