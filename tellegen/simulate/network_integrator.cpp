#include "tellegen/simulate/network_integrator.h"

#include <fmt/format.h>

#include <cmath>

namespace tellegen {

NetworkIntegrator::NetworkIntegrator(const Problem& problem, Network network)
    : problem_(problem),
      network_(std::move(network)),
      plan_(plan_method(problem.options, problem.step)),
      state_(start_state(network_, problem.initial)) {
  options_.tolerance = problem.options.tolerance;
  options_.project = plan_.project;
  options_.refactor = problem.options.refactor;
  if (plan_.start_steps > 0) {
    StepOptions starting = options_;
    starting.keep_all_past = true;
    start_ = std::make_unique<NetworkStep>(network_, problem.storage, trapezoidal(problem.step),
                                           problem.outputs, state_, starting);
  }
  step_ = std::make_unique<NetworkStep>(network_, problem.storage, plan_.scheme, problem.outputs, state_,
                                        options_);
  const bool compiled = problem.options.compile && step_->compile();
  statistics_.unknowns = network_.size();
  statistics_.executor = compiled ? "kernels per kind, compiled" : "kernels per kind, interpreted";
}

std::int64_t NetworkIntegrator::advance(std::int64_t samples, double* rows) {
  const auto width = problem_.outputs.size();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t k = 0; k < problem_.stride; ++k) {
      const bool starting = statistics_.steps < plan_.start_steps;
      NetworkStep& step = starting ? *start_ : *step_;
      const double t = problem_.step * static_cast<double>(statistics_.steps + 1);
      const auto result = step.step(t, problem_.options.iterations, 50);
      if (!result.converged) {
        failure_ = fmt::format(
            "Newton's iteration did not converge in the step to t = {:.9g} s; the largest change is in '{}'",
            t, step.largest_change());
        return sample;
      }
      ++statistics_.steps;
      statistics_.iterations += result.iterations;
      statistics_.factorisations += result.factorisations;
      statistics_.worst_iterations = std::max(statistics_.worst_iterations, result.iterations);
      if (k + 1 == problem_.stride) step.outputs(t, rows);
      if (starting) {
        start_->store(state_);
        if (statistics_.steps == plan_.start_steps) step_->load(state_);
      }
    }
    failure_ = not_finite(problem_, rows, problem_.step * static_cast<double>(statistics_.steps));
    if (!failure_.empty()) return sample;
    rows += width;
  }
  return samples;
}

}  // namespace tellegen
