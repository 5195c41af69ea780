#include "tellegen/sweep/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/simulate/measure.h"
#include "tellegen/simulate/stop.h"
#include "tellegen/sweep/journal.h"

namespace tellegen {
namespace {

using Clock = std::chrono::steady_clock;
const Place command_line{"tellegen sweep", 0};

std::vector<OutputColumn> columns_of(const Model& model, const SampleTask& task) {
  std::vector<OutputColumn> columns;
  FaultList faults;
  for (const std::string& text : task.outputs) {
    try {
      OutputColumn column{text, "", parse_value(model, text, command_line)};
      for (const ModelOutput& output : model.outputs)
        if (output.name == text) column.unit = output.unit;
      if (column.unit.empty() && column.value.is_symbol())
        if (const auto variable = find_variable(model, column.value.name()))
          column.unit = variable_unit(model, *variable);
      columns.push_back(std::move(column));
    } catch (const ModelError& error) {
      faults.add(error);
    }
  }
  faults.throw_if_any();
  return columns;
}

// Indices of the axes' parameters.
std::vector<int> parameters_of(Model& model, const SampleTask& task) {
  std::vector<int> parameters;
  FaultList faults;
  for (const Axis& axis : task.axes) {
    try {
      parameters.push_back(study_parameter(model, axis.name, command_line));
    } catch (const ModelError& error) {
      faults.add(error);
    }
  }
  faults.throw_if_any();
  return parameters;
}

// The end of the run may follow from the parameters that vary.
void evaluate_stop(Model& model) {
  if (!model.simulation.stop_formula) return;
  ExprMap<double> numbers;
  for (const ModelParameter& p : model.parameters) numbers[p.symbol] = p.number;
  model.simulation.stop = evaluate(model.simulation.stop_formula, numbers);
}

// Of the objectives, in their units.
std::vector<double> objective_values(const Model& model, const SampleTask& task, std::span<const double> si,
                                     bool compile) {
  std::vector<std::string> names;
  for (const Axis& axis : task.axes) names.push_back(axis.name);
  StudyOptions options;
  options.simulation = task.simulation;
  options.simulation.compile = compile;
  Study study(model, task.objectives, names, options);
  StudyResult result = study.values(si);
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  for (std::size_t k = 0; k < result.values.size(); ++k)
    if (const std::string& unit = study.objective(k).unit; !unit.empty())
      result.values[k] = units().from_si(result.values[k], unit);
  return result.values;
}

SimulationOptions run_options(Model& model, const SampleTask& task, bool compile) {
  SimulationOptions options = complete_options(model, task.simulation);
  options.compile = compile;
  add_stop_watch(model, options);
  return options;
}

// Of the outputs at the end of a run of the model as it now stands, in their units.
std::vector<double> final_values(Model& model, const SampleTask& task, bool compile) {
  Simulation simulation(model, run_options(model, task, compile), columns_of(model, task));
  const SimulationResult result = simulation.run([](double) { InterruptionWatch::ask(); });
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  return {result.values.end() - static_cast<std::ptrdiff_t>(result.names.size()), result.values.end()};
}

// The measures of a run of the model as it now stands.
std::vector<double> measured_values(Model& model, const SampleTask& task, bool compile) {
  SimulationOptions options = run_options(model, task, compile);
  const Measurement measurement(model, *task.measures);
  options.recorded = measurement.formulas();
  const SimulationResult result =
      Simulation(model, options, {}).run([](double) { InterruptionWatch::ask(); });
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  std::vector<double> values;
  for (const MeasureResult& m : measurement.measures(result.record ? *result.record : RunCurves(0, 1.0))) {
    if (!m.value) throw std::runtime_error(fmt::format("'{}' was {}", m.name, m.reason));
    values.push_back(*m.value);
  }
  return values;
}

// With the numbers of the model as it was read; nothing where these cannot be run, or others not like them.
std::unique_ptr<SampleRunner> make_runner(const SampleTask& task) try {
  Model model = task.read();
  std::vector<int> parameters = parameters_of(model, task);
  evaluate_stop(model);
  SimulationOptions options = complete_options(model, task.simulation);
  add_stop_watch(model, options);
  std::vector<OutputColumn> columns = columns_of(model, task);
  return std::make_unique<SampleRunner>(std::move(model), std::move(parameters), std::move(options),
                                        std::move(columns));
} catch (const NeedsOtherEquations&) {
  return nullptr;
} catch (const std::exception&) {
  return nullptr;
}

// A runner for as long as this stands; null where none can be had.
class BorrowedRunner {
 public:
  explicit BorrowedRunner(const SampleTask& task)
      : task_(task), runner_(task.runners->take([&] { return make_runner(task); })) {}
  ~BorrowedRunner() {
    if (runner_) task_.runners->give_back(std::move(runner_));
  }
  BorrowedRunner(const BorrowedRunner&) = delete;
  BorrowedRunner& operator=(const BorrowedRunner&) = delete;
  SampleRunner* operator->() const { return runner_.get(); }
  explicit operator bool() const { return runner_ != nullptr; }
  void discard() { runner_.reset(); }

 private:
  const SampleTask& task_;
  std::unique_ptr<SampleRunner> runner_;
};

bool can_run_again(const SampleTask& task) {
  return task.objectives.empty() && !task.measures && !task.read_at;
}

// By what is built already; nothing where that will not do.
std::optional<std::vector<double>> run_again(const SampleTask& task, std::span<const double> si) {
  BorrowedRunner runner(task);
  if (!runner) return std::nullopt;
  auto values = runner->final_values(si);
  if (!values) runner.discard();
  return values;
}

std::vector<double> in_si(const SampleTask& task, std::span<const double> numbers) {
  std::vector<double> si(numbers.begin(), numbers.end());
  for (std::size_t k = 0; k < si.size(); ++k)
    if (!task.axes[k].unit.empty()) si[k] = units().to_si(si[k], task.axes[k].unit);
  return si;
}

std::vector<double> run(const SampleTask& task, std::span<const double> numbers, bool compile) {
  const std::vector<double> si = in_si(task, numbers);
  std::vector<double> values;
  if (can_run_again(task))
    if (auto again = run_again(task, si)) return *again;
  Model model = task.read_at ? task.read_at(si) : task.read();
  if (!task.objectives.empty()) values = objective_values(model, task, si, compile);
  if (task.outputs.empty() && !task.measures) return values;
  set_parameters(model, parameters_of(model, task), si);
  evaluate_stop(model);
  if (task.measures) return measured_values(model, task, compile);
  const std::vector<double> ends = final_values(model, task, compile);
  values.insert(values.end(), ends.begin(), ends.end());
  return values;
}

// One line, without the place: the model's file and line would be the same in every row.
std::string first_fault(const ModelError& error) {
  const Fault& fault = error.faults().front();
  return fmt::format("{}: {}", fault.code, fault.message);
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void add_tables(Expr value, std::set<const Table*>& tables) {
  if (!value) return;
  for (const Expr node : nodes_of(std::span(&value, 1)))
    if (node.op() == Op::lookup) tables.insert(node.table().get());
}

}  // namespace

std::vector<ResultColumn> check_task(Model& model, SampleTask& task) {
  parameters_of(model, task);
  complete_options(model, task.simulation);
  if (task.measures) {
    std::vector<ResultColumn> results;
    const Measurement measurement(model, *task.measures);
    for (const MeasureSpec& spec : task.measures->measures)
      results.push_back({spec.name, measurement.unit_of(spec)});
    return results;
  }
  if (task.objectives.empty() && task.outputs.empty()) {
    for (const ModelObjective& objective : model.objectives) task.objectives.push_back(objective.name);
    if (task.objectives.empty())
      for (const ModelOutput& output : model.outputs) task.outputs.push_back(output.name);
  }
  std::vector<ResultColumn> results;
  for (const std::string& name : task.objectives)
    results.push_back({name, model.objectives[find_objective(model, name)].unit});
  for (const OutputColumn& column : columns_of(model, task)) results.push_back({column.name, column.unit});
  return results;
}

SampleOutcome evaluate_sample(const SampleTask& task, std::span<const double> numbers) {
  SampleOutcome outcome;
  try {
    const bool compile = task.simulation.compile && task.faster->compile();
    const auto begin = Clock::now();
    outcome.values = run(task, numbers, compile);
    task.faster->took(compile, std::chrono::duration<double>(Clock::now() - begin).count());
    for (std::size_t k = 0; k < outcome.values.size(); ++k)
      if (!std::isfinite(outcome.values[k]) && !task.measures)
        outcome.status = fmt::format(
            "'{}' has no finite value",
            k < task.objectives.size() ? task.objectives[k] : task.outputs[k - task.objectives.size()]);
  } catch (const ModelError& error) {
    outcome.status = first_fault(error);
  } catch (const std::exception& error) {  // no consistent start, no convergence, ...
    outcome.status = error.what();
  }
  // Of a failed sample nothing is reported: half a row would be taken for a result.
  if (!outcome.status.empty())
    outcome.values.assign(
        task.measures ? task.measures->measures.size() : task.objectives.size() + task.outputs.size(),
        std::numeric_limits<double>::quiet_NaN());
  return outcome;
}

std::vector<SampleOutcome> evaluate_samples(const SampleTask& task,
                                            std::span<const std::span<const double>> samples) {
  std::vector<std::optional<std::vector<double>>> values(samples.size());
  if (samples.size() > 1 && can_run_again(task)) {
    BorrowedRunner runner(task);
    const std::size_t lanes = runner ? static_cast<std::size_t>(runner->lanes()) : 1;
    std::vector<UnitScale> scales;
    for (const Axis& axis : task.axes)
      scales.push_back(axis.unit.empty() ? UnitScale() : units().scale(axis.unit));
    for (std::size_t from = 0; lanes > 1 && from < samples.size() && runner->usable(); from += lanes) {
      std::vector<std::vector<double>> si;
      for (std::size_t k = from; k < std::min(samples.size(), from + lanes); ++k) {
        auto& numbers = si.emplace_back(samples[k].begin(), samples[k].end());
        for (std::size_t p = 0; p < numbers.size(); ++p)
          if (!task.axes[p].unit.empty()) numbers[p] = scales[p].to_si(numbers[p]);
      }
      auto found = runner->final_values(si);
      std::move(found.begin(), found.end(), values.begin() + static_cast<std::ptrdiff_t>(from));
    }
    if (runner && !runner->usable()) runner.discard();
  }
  const auto finite = [](double v) { return std::isfinite(v); };
  std::vector<SampleOutcome> outcomes;
  for (std::size_t k = 0; k < samples.size(); ++k)
    if (values[k] && std::all_of(values[k]->begin(), values[k]->end(), finite))
      outcomes.push_back({std::move(*values[k]), ""});
    else
      outcomes.push_back(evaluate_sample(task, samples[k]));
  return outcomes;
}

SampleLoop sample_loop(const SampleTask& task, const SampleSet& samples) {
  SampleLoop loop;
  loop.evaluate = [&](std::size_t k) { return evaluate_sample(task, samples.row(k)); };
  loop.at_once = [&] { return static_cast<std::size_t>(task.runners->lanes()); };
  loop.evaluate_some = [&](std::span<const std::size_t> some) {
    std::vector<std::span<const double>> rows;
    for (const std::size_t k : some) rows.push_back(samples.row(k));
    return evaluate_samples(task, rows);
  };
  return loop;
}

std::string model_fingerprint(const Model& model) {
  std::set<std::string> files{model.file.string()};
  std::set<const Table*> tables;
  for (const Kind& kind : model.kinds) files.insert(kind.place.file);
  for (const Component& component : model.components) {
    files.insert(component.place.file);
    for (const ParameterValue& v : component.values) {
      add_tables(v.value, tables);
      if (v.table) tables.insert(v.table.get());
    }
  }
  for (const ModelInput& input : model.inputs) add_tables(input.value, tables);
  std::multiset<std::string> hashes;  // in no order that an address or a folder could change
  for (const std::string& file : files) hashes.insert(text_hash(bytes_of(file)));
  for (const Table* table : tables) {
    std::string numbers = fmt::format("{}", static_cast<int>(table->interpolation));
    const auto add = [&](const std::vector<double>& list) {
      for (const double v : list) numbers += fmt::format(" {}", v);
    };
    add(table->x);
    add(table->c);
    for (const auto& axis : table->axes) add(axis);
    hashes.insert(text_hash(numbers));
  }
  std::string all;
  for (const std::string& hash : hashes) all += hash;
  return text_hash(all);
}

}  // namespace tellegen
