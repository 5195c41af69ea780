#include "tellegen/sensitivity/fixed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tellegen/sensitivity/extremes.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/source_jumps.h"

namespace tellegen {
namespace {

Problem problem_of(const EquationSystem& system, const RunRequest& request) {
  SimulationOptions options = request.simulation;
  if (!system.discrete.empty())
    options.event_bisections = std::max(options.event_bisections, event_bisections);
  std::vector<OutputColumn> outputs = request.trajectories;
  for (const Observed& o : request.observed)
    outputs.push_back(
        {"", "", o.what == Observed::What::time_when ? system.model->pool->number(0) : o.value});
  return prepare_problem(system, options, outputs);
}

Expr update_in_full_names(const EquationSystem& system, const Discrete& d) {
  const int c = system.groups[d.group].components[d.member];
  const Kind& kind = system.model->kinds[system.model->components[c].kind];
  return in_full_names(*system.model, c, kind.discrete[d.held].update);
}

}  // namespace

FixedRun::FixedRun(const Model& model, const RunRequest& request)
    : request(request),
      parameters(static_cast<int>(request.wrt.size())),
      system(build_system(model)),
      problem(problem_of(system, request)),
      plan(plan_method(problem.options, problem.step)),
      events(!Schedule(system, problem.step).empty() ||
             !SourceJumps(system, problem.step, problem.options.stop).empty()),
      jumps(system, request.wrt),
      tableau(system) {
  const std::span<const int> wrt = request.wrt;
  std::vector<ColumnValue> formulas;
  for (const OutputColumn& o : request.trajectories) formulas.push_back(column_value(system, o.value, wrt));
  for (const Observed& o : request.observed)
    formulas.push_back(o.what == Observed::What::time_when ? ColumnValue{model.pool->number(0), {}}
                                                           : column_value(system, o.value, wrt));
  outputs = std::make_unique<DifferentiatedFormulas>(system, formulas);
  formulas.clear();
  std::vector<ColumnValue> zeros;
  for (const Discrete& d : system.discrete) {
    const Expr update = update_in_full_names(system, d);
    formulas.push_back(column_value(system, update, wrt));
    quantities_of.emplace_back();
    if (d.every > 0.0 || d.external) continue;
    const Expr written = expand_names(model, update);
    for (Expr q : switching_quantities(std::span(&written, 1))) {
      quantities_of.back().push_back(static_cast<int>(zeros.size()));
      zeros.push_back(column_value(system, q, wrt));
    }
  }
  updates = std::make_unique<DifferentiatedFormulas>(system, formulas);
  quantities = std::make_unique<DifferentiatedFormulas>(system, zeros);
  column_index.assign(system.size(), -1);
  for (const auto* list : {outputs.get(), updates.get(), quantities.get()})
    for (std::int32_t c : list->columns())
      if (column_index[c] < 0) {
        column_index[c] = static_cast<std::int32_t>(columns.size());
        columns.push_back(c);
      }
  derivative = std::make_unique<StepDerivative>(system, wrt, columns);
  if (problem.options.compile) derivative->compile(steps_to_come(problem));
  recorded = columns;
  const auto rates = static_cast<std::int32_t>(system.rates.size());
  for (std::int32_t used : derivative->used_of_point())
    if (used < system.size())
      recorded.push_back(used);
    else if (used < system.size() + rates)
      recorded_rates.push_back(used - system.size());
  const bool projects = plan.project && !problem.storage.redundant.empty();
  const bool any_rate = events || projects || model.simulation.stop_formula;
  if (any_rate || 8 * recorded_rates.size() > system.rates.size()) {
    recorded_rates.resize(rates);
    std::iota(recorded_rates.begin(), recorded_rates.end(), 0);
  }
  if (model.simulation.stop_formula || jumps.looks()) {  // these may look at any
    recorded.resize(system.size());
    std::iota(recorded.begin(), recorded.end(), 0);
  }
  tableau.hold(problem.initial.held);
  start = std::make_unique<StartDerivatives>(tableau, problem.storage, problem.initial, wrt);
  find_held_start();
}

void FixedRun::formula_rates(NetworkStep& step, std::span<double> rates) const {
  if (recorded_rates.size() == system.rates.size())
    step.formula_rates(rates);
  else
    step.formula_rates(recorded_rates, rates);
}

// Discrete variables are taken over at the start: those that follow at once, then the sampled ones once, then
// the others again (find_initial_state). Their derivatives go the same way.
void FixedRun::find_held_start() {
  const std::size_t count = system.discrete.size();
  held_start.assign(count * parameters, 0.0);
  if (count == 0) return;
  const ParameterSlopes slopes(*system.model, request.wrt);
  for (std::size_t k = 0; k < count; ++k) {
    const Discrete& d = system.discrete[k];
    const int c = system.groups[d.group].components[d.member];
    const Component& component = system.model->components[c];
    const Kind& kind = system.model->kinds[component.kind];
    ExprMap<Expr> values;
    for (std::size_t i = 0; i < kind.parameters.size(); ++i)
      if (component.values[i].value)
        values[system.model->pool->symbol(kind.parameters[i].name)] = component.values[i].value;
    for (const auto& [p, slope] : slopes.of(substitute(kind.discrete[d.held].start, values)))
      held_start[k * parameters + p] = slope;
  }
  std::vector<double> x, rates;
  for (const int round : {0, 1, 2}) {
    const bool sampled = round == 1;
    updates->evaluate(round < 2 ? problem.initial.x_sampled : problem.initial.x, 0.0);
    start->forward(held_start, x, rates);
    std::vector<double> next(held_start.size(), 0.0);
    for (const auto& s : updates->by_column())
      for (int p = 0; p < parameters; ++p)
        next[static_cast<std::size_t>(s.formula) * parameters + p] +=
            s.value * x[static_cast<std::size_t>(p) * system.size() + s.of];
    for (const auto& s : updates->by_parameter())
      next[static_cast<std::size_t>(s.formula) * parameters + s.of] += s.value;
    for (std::size_t k = 0; k < count; ++k)
      if ((system.discrete[k].every > 0.0) == sampled && !system.discrete[k].external)
        std::copy_n(next.begin() + static_cast<long>(k) * parameters, parameters,
                    held_start.begin() + static_cast<long>(k) * parameters);
  }
}

std::vector<double> FixedRun::column_rates(std::span<const double> x, std::span<const double> rates,
                                           std::span<const double> held, double t) {
  tableau.hold(held);
  ConsistentDirections directions(tableau, problem.storage, ConsistentDirections::At::event);
  InitialState state;
  state.x.assign(x.begin(), x.end());
  state.rates.assign(rates.begin(), rates.end());
  if (!directions.factor(state, t)) return {};
  std::vector<double> b(directions.size(), 0.0), by_time(system.size());
  tableau.by_time(x, rates, t, by_time);
  for (std::int32_t i = 0; i < system.size(); ++i) b[i] = -by_time[i];
  for (std::size_t k = 0; k < rates.size(); ++k)
    if (directions.is_state(static_cast<std::int32_t>(k))) b[system.size() + k] = rates[k];
  directions.solve(b);
  b.resize(system.size());
  return b;
}

int FixedRun::vanishing(std::span<const int> taken, std::span<const double> slopes) const {
  int best = -1;
  double nearest = 1e-6 * problem.step;  // bisection has come far closer than this
  for (int k : taken)
    for (int q : quantities_of[k]) {
      const double distance = std::abs(quantities->values()[q] / slopes[q]);
      if (distance <= nearest) nearest = distance, best = q;
    }
  return best;
}

void FixedRun::add_warnings(const std::string& chatter, std::vector<std::string>& warnings) const {
  const Model& model = *system.model;
  const ParameterSlopes slopes(model, request.wrt);
  for (const Discrete& d : system.discrete) {
    if (d.every <= 0.0) continue;
    const int c = system.groups[d.group].components[d.member];
    const Expr every = model.kinds[model.components[c].kind].discrete[d.held].every;
    for (const auto& [p, slope] : slopes.of(in_full_names(model, c, every)))
      if (slope != 0.0)
        warnings.push_back(fmt::format(
            "parameter '{}' moves the sample times of '{}': derivatives of fixed steps leave that "
            "out; method adaptive has it",
            model.parameters[request.wrt[p]].name, d.name));
  }
  if (!chatter.empty())
    warnings.push_back(chatter + "; where it does, derivatives are those of the steps, not of the solution");
}

std::vector<int> FixedRun::followers(std::span<const int> taken, std::span<const double> after) const {
  std::vector<int> list;
  for (int k : taken)
    if (system.discrete[k].every == 0.0 && differs(updates->values()[k], after[k])) list.push_back(k);
  return list;
}

std::vector<double> FixedRun::followed_point(std::span<const double> x, int follower,
                                             std::span<const double> after) const {
  std::vector<double> point(x.begin(), x.end());
  const Discrete& own = system.discrete[follower];
  for (std::size_t k = 0; k < after.size(); ++k)
    if (const Discrete& d = system.discrete[k];
        d.column >= 0 && (d.group != own.group || d.member != own.member))
      point[d.column] = after[k];
  return point;
}

std::string FixedRun::unmoved_event(double t) const {
  return fmt::format(
      "the event at t = {:.9g} s has no condition that vanishes there; its time is taken as fixed", t);
}

std::string FixedRun::event_at_end(std::span<const double> slopes, double t) const {
  bool end_moves = false;
  if (system.model->simulation.stop_formula && !request.fixed_end_time)
    for (const auto& [p, slope] :
         ParameterSlopes(*system.model, request.wrt).of(system.model->simulation.stop_formula))
      end_moves = end_moves || slope != 0.0;
  for (const Discrete& d : system.discrete)
    if (const double due = d.every > 0.0 ? std::round(t / d.every) * d.every : 0.0;
        end_moves && due > 0.0 && std::abs(t - due) <= 1e-6 * problem.step)
      return tellegen::event_at_end(d.name, t);
  std::vector<char> moves(slopes.size(), end_moves);
  for (const auto& s : quantities->by_column()) moves[s.formula] = moves[s.formula] || s.value != 0.0;
  for (const auto& s : quantities->by_parameter()) moves[s.formula] = moves[s.formula] || s.value != 0.0;
  for (std::size_t k = 0; k < quantities_of.size(); ++k)
    for (int q : quantities_of[k])
      if (moves[q] && std::abs(quantities->values()[q]) <= 1e-6 * problem.step * std::abs(slopes[q]))
        return tellegen::event_at_end(system.discrete[k].name, t);
  return "";
}

int FixedRun::watch_time(const Observed& observed) const {
  const std::string name = observed.value.name() + ".time";
  for (std::size_t k = 0; k < system.discrete.size(); ++k)
    if (system.discrete[k].name == name) return static_cast<int>(k);
  return -1;
}

}  // namespace tellegen
