#include "tellegen/sweep/runner.h"

#include <stdexcept>

#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/interruption.h"

namespace tellegen {
SampleRunner::SampleRunner(Model model, std::vector<int> parameters, SimulationOptions options,
                           std::vector<OutputColumn> outputs)
    : model_(std::move(model)), parameters_(std::move(parameters)), compile_(options.compile) {
  options.restarts = true;
  options.compile = false;
  // Exact at any step, and only the end is asked for: one will do.
  if (traits_of(options.method).steps == MethodTraits::Steps::samples && !model_.simulation.stop_formula &&
      options.stop_watch.empty())
    options.sample = options.stop;
  simulation_.emplace(model_, options, std::move(outputs));
  probe();
}

// All numbers a little different: what cannot do with that cannot do with any.
void SampleRunner::probe() {
  std::vector<double> nominal, beside;
  for (const int p : parameters_) nominal.push_back(model_.parameters[p].number);
  bool fits = false;
  for (const double factor : {1 - 1e-7, 1 + 1e-7}) {  // one side may be beyond a bound
    beside.clear();
    for (const double number : nominal) beside.push_back(number == 0.0 ? factor - 1 : number * factor);
    try {
      set_parameters(model_, parameters_, beside);
    } catch (const ModelError&) {
      continue;
    }
    fits = simulation_->restart(simulation_->problem().options.stop);
    break;
  }
  if (!fits) throw NeedsOtherEquations{};
}

std::optional<std::vector<double>> SampleRunner::final_values(std::span<const double> numbers) {
  set_parameters(model_, parameters_, numbers);
  const double stop =
      model_.simulation.stop_formula ? *model_.simulation.stop : simulation_->problem().options.stop;
  if (!simulation_->restart(stop)) return std::nullopt;
  const SimulationResult result =
      simulation_->run(long_ ? Progress([](double) { InterruptionWatch::ask(); }) : Progress());
  long_ = result.loop_seconds > InterruptionWatch::worth_asking;
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  interpreted_seconds_ += result.loop_seconds;
  if (compile_ && watch_.due(interpreted_seconds_)) simulation_->integrator().compile(interpreted_seconds_);
  return std::vector<double>(result.values.end() - static_cast<std::ptrdiff_t>(result.names.size()),
                             result.values.end());
}

std::unique_ptr<SampleRunner> SampleRunners::take(
    const std::function<std::unique_ptr<SampleRunner>()>& make) {
  {
    const std::lock_guard lock(mutex_);
    if (none_) return nullptr;
    if (!free_.empty()) {
      std::unique_ptr<SampleRunner> runner = std::move(free_.back());
      free_.pop_back();
      return runner;
    }
  }
  std::unique_ptr<SampleRunner> runner = make();
  if (!runner) {
    const std::lock_guard lock(mutex_);
    none_ = true;
  }
  return runner;
}

void SampleRunners::give_back(std::unique_ptr<SampleRunner> runner) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(runner));
}

}  // namespace tellegen
