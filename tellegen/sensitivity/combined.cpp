#include "tellegen/sensitivity/combined.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tellegen/equations/sensitivity_graph.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/jump_watch.h"
#include "tellegen/simulate/initial.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/start_derivatives.h"

namespace tellegen {
namespace {

void refuse(const Model& model, const std::string& what, const std::string& advice) {
  throw ModelError({{model.file.string(), 0}, "T341", what, {advice}});
}

std::vector<std::string> names_of(const Model& model, std::span<const int> wrt) {
  std::vector<std::string> names;
  for (int p : wrt) names.push_back(model.parameters[p].name);
  return names;
}

bool changes(const Model& model) {
  return std::any_of(model.components.begin(), model.components.end(), [&](const Component& c) {
    const auto& discrete = model.kinds[c.kind].discrete;
    return std::any_of(discrete.begin(), discrete.end(), [](const KindDiscrete& d) {
      return d.update != d.held;
    });  // not an input from outside
  });
}

bool begins_by_conditions(const Model& model) {
  return !model.steady.empty() ||
         std::any_of(model.initial.begin(), model.initial.end(), [](const auto& i) { return i.condition; });
}

// Where states begin by conditions, so do their sensitivities: by the derivatives of those, as numbers. Where
// storages are bound to each other and some initial values give way, the same ones do beside sensitivities:
// all begin with what they are in the model alone.
void begin_consistently(const Model& model, std::span<const int> wrt, Model& combined) {
  const EquationSystem system = build_system(model);
  const Storage storage = analyse_storage(system);
  const bool bound = !storage.redundant.empty();
  if (!begins_by_conditions(model) && !bound) return;
  Tableau tableau(system);
  const InitialState start = find_initial_state(tableau, storage);
  std::vector<double> x, rates, held(start.held.size() * wrt.size(), 0.0);
  StartDerivatives(tableau, storage, start, wrt).forward(held, x, rates);
  const auto n = static_cast<std::size_t>(system.size());
  const auto begin_with = [&](const std::string& name, double value) {
    std::erase_if(combined.initial, [&](const ModelInitial& i) { return i.variable == name; });
    combined.initial.push_back({name, model.pool->number(value), {model.file.string(), 0}});
  };
  for (std::int32_t k = 0; k < tableau.rate_count(); ++k) {
    if (!storage.is_state[k] && !bound) continue;
    const std::string name = rate_name(system, k);
    if (bound) begin_with(name, tableau.rate_value(start.x, k));
    for (std::size_t p = 0; p < wrt.size(); ++p)
      begin_with(sensitivity_name(name, model.parameters[wrt[p]].name),
                 tableau.rate_value(std::span(x).subspan(n * p, n), k));
  }
}

// Do other initial values give way beside sensitivities than in the model alone?
bool begins_otherwise(const Model& model, const Model& combined) {
  const EquationSystem system = build_system(model), both = build_system(combined);
  const Storage storage = analyse_storage(system);
  if (storage.redundant.empty()) return false;
  Tableau alone(system), beside(both);
  const InitialState one = find_initial_state(alone, storage),
                     two = find_initial_state(beside, analyse_storage(both));
  std::map<std::string, double> begins;
  for (std::int32_t k = 0; k < beside.rate_count(); ++k)
    begins[rate_name(both, k)] = beside.rate_value(two.x, k);
  for (std::int32_t k = 0; k < alone.rate_count(); ++k) {
    const double value = alone.rate_value(one.x, k);
    if (std::abs(begins[rate_name(system, k)] - value) > 1e-9 * (1.0 + std::abs(value))) return true;
  }
  return false;
}

// The sensitivities of slow states take the long steps of these: so they are those of the run that is made.
void slow_sensitivities(const Model& model, const std::vector<std::string>& parameters, const Model& combined,
                        SimulationOptions& options) {
  if (options.slow_steps <= 1) return;
  const EquationSystem system = build_system(model), both = build_system(combined);
  const Storage storage = analyse_storage(both);
  std::set<std::string> states;
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(both.rates.size()); ++k)
    if (storage.is_state[k]) states.insert(rate_name(both, k));
  const std::set<std::string> slow(options.slow.begin(), options.slow.end());
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.rates.size()); ++k) {
    const std::string name = rate_name(system, k);
    if (!slow.contains(name) && !slow.contains(rate_domain(system, k))) continue;
    for (const std::string& parameter : parameters)
      if (const std::string of = sensitivity_name(name, parameter); states.contains(of))
        options.slow.push_back(of);
  }
}

}  // namespace

Model combined_model(const Model& model, std::span<const int> wrt) {
  Model combined = with_sensitivities(model, names_of(model, wrt));
  begin_consistently(model, wrt, combined);
  return combined;
}

CombinedRun::CombinedRun(const Model& model, const RunRequest& request)
    : names_(names_of(model, request.wrt)),
      observed_(request.observed),
      shown_(request.trajectories.size()),
      can_restart_(!begins_by_conditions(model)) {
  const std::string& method = request.simulation.method;
  const std::string advice = "choose one of the bdf methods, tr, or adaptive";
  if (changes(model))
    refuse(model, fmt::format("derivatives across events are not available with method '{}'", method),
           advice);
  if (model.simulation.stop_formula &&
      !ParameterSlopes(model, request.wrt).of(model.simulation.stop_formula).empty())
    refuse(model, fmt::format("with method '{}' the end of the run cannot move with a parameter", method),
           advice);
  combined_ = combined_model(model, request.wrt);
  std::vector<ParameterDerivative> by;
  for (const std::string& name : names_) {
    by.emplace_back(model, find_parameter(model, name));
    parameters_.push_back(study_parameter(combined_, name));
  }
  // Every value, and after it its derivatives.
  RunRequest plain;
  plain.simulation = request.simulation;
  slow_sensitivities(model, names_, combined_, plain.simulation);
  const auto add = [&](Expr value) {
    plain.trajectories.push_back({"", "", value});
    for (ParameterDerivative& d : by) plain.trajectories.push_back({"", "", d.of(value)});
  };
  for (const OutputColumn& o : request.trajectories) add(o.value);
  for (const Observed& o : request.observed) add(o.value);
  plain_.emplace(combined_, plain);
  method_ = fmt::format("forward, the sensitivity graph beside the model, {}", method);
  for (const std::string& choice : JumpWatch(build_system(model), request.wrt).names())
    warnings_.push_back(fmt::format(
        "where {} switches, derivatives of method '{}' leave out that parameters move the time of "
        "it; method adaptive has it",
        choice, method));
}

bool CombinedRun::restart(std::span<const double> numbers) {
  if (!can_restart_) return false;
  set_parameters(combined_, parameters_, numbers);
  return plain_->restart();
}

RunDerivatives CombinedRun::run() {
  const std::size_t shown = shown_, count = names_.size(), stride = 1 + count;
  const RunDerivatives run = plain_->run();
  RunDerivatives result;
  result.method = method_;
  result.failure = run.failure;
  result.loop_seconds = run.loop_seconds;
  result.t = run.t;
  result.warnings = warnings_;
  if (!run.failure.empty()) return result;
  result.end_time = run.end_time;
  result.end_time_gradient.assign(count, 0.0);
  const std::size_t width = stride * (shown + observed_.size()), rows = run.t.size();
  const auto at = [&](std::size_t row, std::size_t value) {
    return &run.trajectories[row * width + stride * value];
  };
  result.trajectories.reserve(rows * shown);
  result.by_parameter.reserve(rows * shown * count);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < shown; ++k) {
      result.trajectories.push_back(*at(row, k));
      result.by_parameter.insert(result.by_parameter.end(), at(row, k) + 1, at(row, k) + stride);
    }
  for (std::size_t k = 0; k < observed_.size(); ++k) {
    std::size_t best = rows - 1;
    for (std::size_t row = 0; row < rows; ++row) {
      const double value = *at(row, shown + k), so_far = *at(best, shown + k);
      if ((observed_[k].what == Observed::What::maximum && value > so_far) ||
          (observed_[k].what == Observed::What::minimum && value < so_far))
        best = row;
    }
    const double* found = at(best, shown + k);
    result.values.push_back(*found);
    result.gradient.insert(result.gradient.end(), found + 1, found + stride);
  }
  return result;
}

RunDerivatives combined_forward_run(const Model& model, const RunRequest& request) {
  refuse_fmus(model, "derivatives go through equations");
  std::optional<CombinedRun> run;
  try {
    return run.emplace(model, request).run();
  } catch (const SimulationError& error) {
    RunDerivatives failed;
    failed.method = "forward, the sensitivity graph beside the model, " + request.simulation.method;
    failed.failure = error.what();
    return failed;
  }
}

RunDerivatives second_order_run(const Model& model, const RunRequest& request) {
  refuse_fmus(model, "derivatives go through equations");
  for (const Observed& o : request.observed)
    if (o.what != Observed::What::end)
      refuse(model, "second derivatives are those of values at the end of a run and of integrals",
             "leave out times of events, extremes and formulas");
  if (!request.simulation.stop_watch.empty() || model.simulation.stop_formula || changes(model))
    refuse(model, "second derivatives are those of a run without events that ends at a fixed time",
           "give a stop that is a number, and no stop_when");
  if (begins_by_conditions(model))
    refuse(model, "second derivatives are those of a run that begins with given values",
           "write numbers in [initial] in place of 'steady' and 'such_that'");
  const std::vector<std::string> names = names_of(model, request.wrt);
  Model combined = with_sensitivities(model, names);
  if (begins_otherwise(model, combined))
    refuse(model, "second derivatives are those of a run whose initial values do not contradict each other",
           "give storages that are bound to each other initial values that agree");
  RunRequest second;
  second.simulation = request.simulation;
  for (const std::string& name : names) second.wrt.push_back(study_parameter(combined, name));
  std::vector<ParameterDerivative> by;
  for (const std::string& name : names) by.emplace_back(model, find_parameter(model, name));
  for (const Observed& o : request.observed)
    for (ParameterDerivative& d : by) second.observed.push_back({Observed::What::end, d.of(o.value)});
  return forward_run(combined, second);
}

}  // namespace tellegen
