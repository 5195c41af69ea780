#include "tellegen/simulate/simulate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "tellegen/equations/renumber.h"
#include "tellegen/graph/faults.h"
#include "tellegen/model/observers.h"
#include "tellegen/model/units.h"
#include "tellegen/simulate/algebraic.h"
#include "tellegen/simulate/delays.h"
#include "tellegen/simulate/denormals.h"
#include "tellegen/simulate/equilibrium.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/linear_start.h"
#include "tellegen/simulate/stop.h"
#include "tellegen/symbolic/nearest.h"

namespace tellegen {
namespace {

// Whether no output leaves its first value by more than rounding does.
bool is_at_rest(const SimulationResult& result) {
  constexpr double moved = 1e-5;  // more than the search for the start leaves over
  const std::size_t width = result.names.size();
  if (width == 0 || result.t.size() < 2) return false;
  for (std::size_t c = 0; c < width; ++c) {
    const double first = result.values[c];
    for (std::size_t k = c; k < result.values.size(); k += width)
      if (!(std::abs(result.values[k] - first) <= moved * (std::abs(first) + moved))) return false;
  }
  return true;
}

// Rows are kept in memory until they are written.
void check_size(const Model& model, std::int64_t rows, std::int64_t width) {
  const double needed = 8.0 * static_cast<double>(rows) * static_cast<double>(width + 1);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed < 0.8 * memory) return;
  throw ModelError(
      {{model.file.string(), 0},
       "T310",
       fmt::format("{} rows of {} outputs take {:.3g} GB, and this machine has {:.3g} GB of memory", rows,
                   width, 1e-9 * needed, 1e-9 * memory),
       {"give a longer sample interval (--sample), or fewer outputs (--outputs)"}});
}

bool has_conditions(const Model& model) {
  return std::any_of(model.initial.begin(), model.initial.end(),
                     [](const ModelInitial& initial) { return static_cast<bool>(initial.condition); });
}

}  // namespace

std::vector<OutputColumn> default_outputs(const EquationSystem& system, bool all) {
  const Model& model = *system.model;
  std::vector<OutputColumn> columns;
  if (!all)
    for (const ModelOutput& o : model.outputs) columns.push_back({o.name, o.unit, o.value});
  for (OutputColumn& c : columns)
    if (c.unit.empty() && c.value.is_symbol())
      if (const auto ref = find_variable(model, c.value.name())) c.unit = variable_unit(model, *ref);
  if (columns.empty())
    for (std::int32_t c = 0; c < system.size(); ++c) {
      const int owner = owner_of(system, c).component;
      if (owner >= 0 && is_observer(model.kinds[model.components[owner].kind])) continue;
      const std::string name = column_name(system, c);
      if (name.find('~') != std::string::npos)
        continue;  // of an imported FMU, and none that a file could name
      columns.push_back({name, column_unit(system, c), model.pool->symbol(name)});
    }
  return columns;
}

SimulationOptions complete_options(const Model& model, SimulationOptions given) {
  const SimulationDefaults& said = model.simulation;
  const SimulationOptions unset;
  std::vector<Fault> faults;
  const auto wrong = [&](std::string message, std::vector<std::string> details) {
    Place place = said.place;
    if (place.file.empty()) place.file = model.file.string();
    faults.push_back({place, "T310", std::move(message), std::move(details)});
  };
  if (given.stop == 0.0) given.stop = said.stop.value_or(0.0);
  if (given.step == 0.0) given.step = said.step.value_or(0.0);
  if (given.sample == 0.0) given.sample = said.sample.value_or(0.0);
  if (given.iterations == 0) given.iterations = said.iterations.value_or(0);
  if (given.event_bisections == 0) given.event_bisections = said.event_bisections.value_or(0);
  if (given.slow.empty()) given.slow = said.slow;
  if (given.slow_steps == 0) given.slow_steps = said.slow_steps.value_or(1);
  if (given.tolerance == unset.tolerance) given.tolerance = said.tolerance.value_or(unset.tolerance);
  if (given.method.empty()) given.method = said.method.value_or(given.step > 0.0 ? "bdf3" : "adaptive");
  if (given.form.empty()) given.form = said.form.value_or("auto");
  if (given.start.empty()) given.start = said.start.value_or("trapezoidal");

  const auto choose = [&](const char* what, const std::string& value, std::vector<std::string> known) {
    if (std::find(known.begin(), known.end(), value) != known.end()) return;
    std::string list;
    for (const auto& k : known) list += (list.empty() ? "" : ", ") + k;
    std::vector<std::string> details{fmt::format("known: {}", list)};
    if (const auto near = nearest(value, known); !near.empty())
      details.insert(details.begin(), fmt::format("did you mean '{}'?", near));
    wrong(fmt::format("there is no {} '{}'", what, value), details);
  };
  std::vector<std::string> methods;
  for (const IntegratorEntry& e : integrators()) methods.emplace_back(e.name);
  choose("method", given.method, methods);
  choose("form", given.form, {"auto", "tableau", "minimal"});
  choose("start", given.start, {"trapezoidal", "constant"});
  const auto positive = [&](const char* what, double value) {
    if (!(value > 0.0) || (!std::isfinite(value) && what != std::string_view("stop")))
      wrong(fmt::format("{} must be a positive time, it is {:g} s", what, value),
            {fmt::format("give --{0} on the command line or {0} in [simulation]", what)});
  };
  positive("stop", given.stop);
  const bool known = std::find(methods.begin(), methods.end(), given.method) != methods.end();
  const MethodTraits traits = known ? traits_of(given.method) : MethodTraits{};
  const bool variable = traits.steps == MethodTraits::Steps::variable;
  if (variable && given.sample == 0.0 && given.step == 0.0) given.sample = given.stop / 500;
  if (!variable) positive("step", given.step);
  if (given.sample != 0.0) positive("sample", given.sample);
  if (given.event_bisections < 0 || given.event_bisections > 40)
    wrong("event_bisections must be from 0 to 40", {"20 find an event to a millionth of the step"});
  if (given.slow_steps > 1 && given.slow.empty())
    wrong("slow_steps without anything that is slow", {"name domains or states: slow = [\"thermal\"]"});
  if (given.slow_steps > 1 && !traits.multirate)
    wrong(fmt::format("parts of a model can be stepped less often by rk4 only, not by {}", given.method),
          {"choose method rk4, or leave out slow_steps"});
  if (given.slow_steps > 1 && given.event_bisections > 1)
    wrong("events are not looked for within steps where parts of a model are stepped less often",
          {"leave out event_bisections, or slow_steps"});
  if (given.iterations < 0) wrong("iterations must not be negative", {});
  if (!(given.tolerance > 0.0)) wrong("tolerance must be positive", {});
  if (given.sample > given.stop && given.stop > 0.0)
    wrong("the sample interval is longer than the simulation", {});
  if (given.step > given.stop * (1 + 1e-9) && given.stop > 0.0)
    wrong(fmt::format("the step of {:g} s is longer than the simulation of {:g} s", given.step, given.stop),
          {"shorten the step, or leave it out: without one the method is adaptive and chooses its steps"});
  if (!faults.empty()) throw ModelError(std::move(faults));
  return given;
}

std::string SimulationResult::brief() const {
  const double simulated = t.empty() ? 0.0 : t.back();
  const std::string iterations =
      statistics.iterations == 0
          ? "constant tangent"
          : fmt::format("{:.2f} iterations a step",
                        static_cast<double>(statistics.iterations) /
                            static_cast<double>(std::max<std::int64_t>(1, statistics.steps)));
  return fmt::format("{} steps of {}{:.6g} s in {:.3g} ms ({:.3g} x real time), {}, {}", statistics.steps,
                     statistics.variable_step ? "on average " : "", step, 1e3 * loop_seconds,
                     loop_seconds > 0 ? simulated / loop_seconds : 0.0, iterations, statistics.executor) +
         (statistics.events > 0 ? fmt::format(", {} events", statistics.events) : "") +
         (ended ? fmt::format(", ended by its stop condition at t = {:.9g} s", *ended) : "") +
         (note.empty() ? "" : "\n" + note) + (balance ? "\n" + balance->brief() : "") +
         (statistics.chatter.empty() ? "" : "\n" + statistics.chatter) +
         (statistics.warning.empty() ? "" : "\nwarning: " + statistics.warning) +
         (balance && !balance->warning().empty() ? "\nwarning: " + balance->warning() : "");
}

std::vector<std::string> SimulationResult::warnings() const {
  std::vector<std::string> all;
  for (const std::string& text :
       {statistics.chatter, statistics.warning, balance ? balance->warning() : std::string()})
    if (!text.empty()) all.push_back(text);
  return all;
}

Simulation::Simulation(const Model& model, const SimulationOptions& options,
                       std::vector<OutputColumn> outputs)
    : owned_(std::make_unique<EquationSystem>(build_system(model))), outputs_(std::move(outputs)) {
  prepare(*owned_, options);
}

Simulation::Simulation(const EquationSystem& system, const SimulationOptions& options,
                       std::vector<OutputColumn> outputs)
    : outputs_(std::move(outputs)) {
  prepare(system, options);
}

Simulation::~Simulation() = default;

Problem problem_without_start(const EquationSystem& system, const SimulationOptions& options,
                              const std::vector<OutputColumn>& outputs) {
  Problem problem;
  problem.system = &system;
  auto faults = topology_faults(*system.model, system.graph, system.tree);
  if (!faults.empty()) throw ModelError(std::move(faults));
  for (const OutputColumn& o : outputs) {
    problem.outputs.push_back(in_columns(system, o.value));
    problem.output_names.push_back(o.name);
  }
  for (const Expr formula : options.recorded) problem.recorded.push_back(in_columns(system, formula));
  refuse_delays(system, options.method, problem.outputs);
  problem.options = options;
  // A whole number of steps in every sample interval: results are exact at the samples, never interpolated.
  const double sample = options.sample > 0.0 ? options.sample : options.step;
  problem.stride =
      options.step > 0.0 ? static_cast<std::int64_t>(std::ceil(sample / options.step * (1 - 1e-9))) : 1;
  problem.step = sample / static_cast<double>(problem.stride);
  if (traits_of(options.method).steps != MethodTraits::Steps::fixed)
    problem.stride = 1, problem.step = sample;
  for (const std::string& input : options.external) {
    const auto is_it = [&](const Discrete& d) {
      const ModelInput* found = nullptr;
      for (const ModelInput& i : system.model->inputs)
        if (i.name == input) found = &i;
      return found && d.external && found->value == system.model->pool->symbol(d.name);
    };
    const auto found = std::find_if(system.discrete.begin(), system.discrete.end(), is_it);
    if (found == system.discrete.end())
      throw ModelError(
          {{system.model->file.string(), 0},
           "T131",
           fmt::format("input '{}' was not made external before the equations were built", input),
           {}});
    problem.external.push_back(static_cast<std::int32_t>(found - system.discrete.begin()));
  }
  if (!options.stop_watch.empty()) problem.stop_event = watch_event(system, options.stop_watch);
  problem.storage = analyse_storage(system);
  return problem;
}

namespace {

InitialState start_of(const Problem& problem, Tableau& tableau) {
  return find_initial_state(
      tableau, problem.storage,
      problem.options.method == "adaptive" ? UnknownRates::zero : UnknownRates::refused);
}

}  // namespace

Problem prepare_problem(const EquationSystem& system, const SimulationOptions& options,
                        const std::vector<OutputColumn>& outputs) {
  Problem problem = problem_without_start(system, options, outputs);
  Tableau tableau(system);
  problem.initial = start_of(problem, tableau);
  return problem;
}

double steps_to_come(const Problem& problem) {
  constexpr double runs = 10.0;
  return runs * static_cast<double>(sample_count(problem)) * static_cast<double>(problem.stride);
}

std::int64_t sample_count(const Problem& problem) {
  const double sample = problem.step * static_cast<double>(problem.stride);
  return static_cast<std::int64_t>(std::floor(problem.options.stop / sample * (1 + 1e-9)));
}

void Simulation::prepare(const EquationSystem& system, const SimulationOptions& options) {
  if (outputs_.empty()) outputs_ = default_outputs(system, false);
  problem_ = prepare_problem(system, options, outputs_);
  if (options.restarts && owned_) {
    std::vector<Expr> formulas;
    for (const OutputColumn& o : outputs_) formulas.push_back(o.value);
    baked_ = std::make_unique<BakedNumbers>(system, formulas);
    renumbering_ = std::make_unique<Renumbering>(*owned_);
    start_ = LinearStart::make(system, problem_.storage);
    tableau_ = std::make_unique<Tableau>(system);
  }
  if (!problem_.recorded.empty()) {
    problem_.record = std::make_shared<RunCurves>(problem_.recorded.size(), options.tolerance);
    if (!records_steps())
      for (const Expr formula : problem_.recorded) {
        problem_.outputs.push_back(formula);
        problem_.output_names.emplace_back("a measured signal");
      }
  }
  if (options.balance != Balance::off) {
    // Sums over all edges in every row are felt where rows are many and steps between them few.
    const bool powers = problem_.stride >= 10 || sample_count(problem_) <= 5000;
    account_.emplace(system, options.balance == Balance::by_component);
    account_->add_to(problem_, powers);
  }
  for (const IntegratorEntry& e : integrators())
    if (e.name == options.method)
      integrator_ = is_algebraic(problem_) ? make_algebraic(problem_) : e.make(problem_);
}

bool Simulation::records_steps() const {
  return is_algebraic(problem_) || traits_of(problem_.options.method).records;
}

// Conditions and redundant storage have numbers in their formulas.
bool Simulation::only_numbers_change() const {
  const Model& model = *problem_.system->model;
  return baked_ && !account_ && !problem_.record && problem_.storage.redundant.empty() &&
         model.steady.empty() && !has_conditions(model);
}

bool Simulation::restart(double stop) {
  if (!only_numbers_change() || !baked_->same(*problem_.system->model) || !renumbering_->take_over())
    return false;
  problem_.options.stop = stop;
  if (!start_ || !start_->find(problem_.initial)) {
    std::vector<double> held;
    for (const Discrete& d : owned_->discrete) held.push_back(d.start);
    tableau_->hold(held);
    problem_.initial = start_of(problem_, *tableau_);
  }
  return integrator_->restart();
}

std::optional<StartRows> Simulation::write_start(RowList& list, const NumberRows& numbers) const {
  if (!only_numbers_change() || !start_) return std::nullopt;
  baked_->write(list, numbers);
  StartRows start{renumbering_->write(numbers), {}};
  start_->write(list, numbers, start);
  return start;
}

void Simulation::first_row(double* row) const {
  ExprMap<double> at{{problem_.system->model->pool->symbol("t"), 0.0}};
  for (std::size_t k = 0; k < problem_.outputs.size(); ++k) {
    const Expr output = problem_.outputs[k];
    for (Expr s : symbols_of(std::span(&output, 1)))
      if (s.name()[0] == 'x') at[s] = problem_.initial.x[std::stol(s.name().substr(1))];
    row[k] = evaluate(output, at);
  }
}

SimulationResult Simulation::run(const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const FlushDenormals flush;
  SimulationResult result;
  const double sample = sample_interval();
  std::int64_t samples = sample_count(problem_);
  const bool watched = problem_.stop_event >= 0;
  if (watched && problem_.initial.held[problem_.stop_event] != 0.0) {
    result.ended = 0.0;
    samples = 0;
  }
  const auto width = static_cast<std::int64_t>(problem_.outputs.size());  // those of the balance behind ours
  check_size(*problem_.system->model, samples + 1, width);
  result.step = problem_.step;
  result.t.resize(samples + 1);
  result.values.resize((samples + 1) * width);
  first_row(result.values.data());

  // Chunks of samples: often enough for a progress bar, seldom enough not to matter.
  const std::int64_t chunk = std::max<std::int64_t>(1, samples / 200);
  std::int64_t done = 0;
  while (done < samples) {
    const std::int64_t wanted = progress ? std::min(chunk, samples - done) : samples;
    const auto begin = Clock::now();
    const std::int64_t finished = integrator_->advance(wanted, result.values.data() + (done + 1) * width);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    result.loop_seconds += seconds;
    result.worst_sample_seconds = std::max(
        result.worst_sample_seconds, seconds / static_cast<double>(std::max<std::int64_t>(1, finished)));
    done += finished;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(samples));
    // The last row may be good where what fails only looked ahead.
    if (finished < wanted || !integrator_->failure().empty()) {
      result.failure = integrator_->failure();
      if (result.failure.find(ended_by_fmu) != std::string::npos)
        result.note = std::exchange(result.failure, {});
      else if (result.failure.empty())
        result.ended = integrator_->ended();
      break;
    }
  }
  if (result.ended && *result.ended > 0.0) {
    // A sample at the same instant, but for rounding, gives way to the end.
    double* end = result.values.data() + (done + 1) * width;
    if (*result.ended - sample * static_cast<double>(done) <= 1e-9 * sample)
      std::copy(end, end + width, end - width);
    else
      ++done;
  }
  if (watched && !result.ended && result.failure.empty())
    result.note = fmt::format("its stop condition did not become true before t = {:.9g} s",
                              sample * static_cast<double>(done));
  result.t.resize(done + 1);
  result.values.resize((done + 1) * width);
  for (std::int64_t k = 0; k <= done; ++k) result.t[k] = sample * static_cast<double>(k);
  if (result.ended) result.t.back() = *result.ended;
  if (account_) result.balance = account_->balance(problem_, *integrator_, result.values, result.t);
  const auto ours = static_cast<std::int64_t>(outputs_.size());
  result.record = problem_.record;
  if (result.record && !records_steps())
    result.record->add_rows(result.t, result.values.data() + ours, static_cast<std::size_t>(width));
  if (ours < width) {
    for (std::int64_t row = 1; row <= done; ++row)
      std::copy_n(result.values.begin() + row * width, ours, result.values.begin() + row * ours);
    result.values.resize((done + 1) * ours);
  }
  for (std::int64_t k = 0; k < ours; ++k) {
    result.names.push_back(outputs_[k].name);
    result.units.push_back(outputs_[k].unit);
    if (outputs_[k].unit.empty()) continue;
    const double offset = units().from_si(0.0, outputs_[k].unit),
                 slope = units().from_si(1.0, outputs_[k].unit) - offset;
    if (offset == 0.0 && slope == 1.0) continue;
    for (std::int64_t row = 0; row <= done; ++row) {
      double& v = result.values[row * ours + k];
      v = units().from_si(v, outputs_[k].unit);
    }
  }
  result.statistics = integrator_->statistics();
  if (result.failure.empty() && !result.ended && result.statistics.warning.empty() && is_at_rest(result))
    if (const auto rate = growth_of_disturbances(*problem_.system, problem_.initial, result.t.back()))
      result.statistics.warning = fmt::format(
          "nothing moves: the run stays where it began, but that is not stable; a disturbance would grow "
          "e-fold every {:.3g} s. Begin elsewhere (an initial value, .ic), or disturb it by a source",
          1.0 / *rate);
  if (result.statistics.steps > 0)
    result.step = result.t.back() / static_cast<double>(result.statistics.steps);
  return result;
}

}  // namespace tellegen
