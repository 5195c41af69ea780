#include "tests/differential/subject.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tellegen/equations/sensitivity_graph.h"
#include "tellegen/model/mechanism_trees.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/model/reading.h"
#include "tellegen/sensitivity/combined.h"
#include "tellegen/sensitivity/study.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/stop.h"
#include "tellegen/sweep/evaluate.h"

namespace differential {
namespace {

using namespace tellegen;

Model read(const std::string& text, const std::string& branch = "") {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  if (branch.empty()) return read_model_text(text, "random.toml", options);
  MechanismTrees trees{{branch}, {}};
  return read_model_text(text, "random.toml", options, trees);
}

SimulationOptions options_of(const RunSpec& spec) {
  SimulationOptions options;
  options.method = spec.method;
  options.form = spec.form;
  options.stop = spec.stop;
  options.step = spec.step;
  options.sample = spec.sample;
  options.tolerance = spec.tolerance;
  options.event_bisections = spec.bisections;
  options.compile = spec.compile;
  return options;
}

template <class Result, class Action>
void guarded(Result& result, Action action) {
  try {
    action();
  } catch (const ModelError& error) {
    result.code = error.faults().empty() ? "" : error.faults()[0].code;
    result.refused = error.faults().empty() ? "" : error.faults()[0].message;
    if (result.refused.empty()) result.crash = "refused without a reason";
  } catch (const SimulationError& error) {
    result.code = "SimulationError";
    result.refused = error.what();
    if (result.refused.empty()) result.crash = "refused without a reason";
  } catch (const std::exception& error) {
    result.crash = std::string("uncaught: ") + error.what();
  }
}

}  // namespace

std::string RunSpec::text() const {
  char buffer[300];
  std::snprintf(buffer, sizeof buffer,
                "--method %s --form %s --stop %.17g --step %.17g --sample %.17g --tolerance %g "
                "--event-bisections %d%s%s%s%s",
                method.c_str(), form.c_str(), stop, step, sample, tolerance, bisections,
                compile ? "" : " --interpret", pieces ? " (with progress)" : "",
                branch.empty() ? "" : " --tree ", branch.c_str());
  return buffer;
}

Outcome simulate_text(const std::string& text, const RunSpec& spec, const std::vector<std::string>& outputs) {
  Outcome result;
  guarded(result, [&] {
    Model model = read(text, spec.branch);
    SimulationOptions options = complete_options(model, options_of(spec));
    add_stop_watch(model, options);
    const EquationSystem system = build_system(model);
    std::vector<OutputColumn> columns;
    for (const std::string& name : outputs) columns.push_back({name, "", parse_value(model, name, {})});
    Simulation simulation(system, options, columns);
    SimulationResult run = simulation.run(spec.pieces ? Progress([](double) {}) : Progress());
    result.names = run.names;
    result.t = run.t;
    result.values = run.values;
    result.note = run.note;
    if (!run.failure.empty()) {
      result.code = "stopped";
      result.refused = run.failure;
      return;
    }
    for (std::size_t k = 0; k < result.values.size(); ++k)
      if (!std::isfinite(result.values[k]))
        result.crash = "not finite: " + result.names[k % result.names.size()];
  });
  return result;
}

namespace {

Study study_of(const std::string& text, const StudySpec& spec) {
  StudyOptions options;
  options.simulation = options_of(spec);
  options.method =
      spec.derivatives == "adjoint" ? StudyOptions::Method::adjoint : StudyOptions::Method::forward;
  return Study(read(text), spec.objectives, spec.parameters, options);
}

void evaluate(Study& study, const StudySpec& spec, const std::vector<double>& at, StudyOutcome& result) {
  const StudyResult found = spec.derivatives == "none" ? study.values(at) : study.evaluate(at);
  result.names = spec.objectives;
  result.values = found.values;
  result.gradient = found.gradient;
  result.warnings = found.warnings;
  if (!found.failure.empty()) {
    result.code = "stopped";
    result.refused = found.failure;
    return;
  }
  if (found.warnings.empty()) {
    for (double v : found.values)
      if (!std::isfinite(v)) result.crash = "a value is not finite";
    for (double v : found.gradient)
      if (!std::isfinite(v)) result.crash = "a derivative is not finite";
  }
}

}  // namespace

StudyOutcome study_text(const std::string& text, const StudySpec& spec) {
  StudyOutcome result;
  guarded(result, [&] {
    Study study = study_of(text, spec);
    evaluate(study, spec, spec.numbers.empty() ? study.nominal() : spec.numbers, result);
  });
  return result;
}

struct Values::Held {
  StudySpec spec;
  Study study;
};
Values::Values(const std::string& model, const StudySpec& spec)
    : held_(std::make_unique<Held>(spec, study_of(model, spec))) {}
Values::~Values() = default;
StudyOutcome Values::at(const std::vector<double>& numbers) {
  StudyOutcome result;
  guarded(result, [&] { evaluate(held_->study, held_->spec, numbers, result); });
  return result;
}

Outcome graph_text(const std::string& text, const RunSpec& spec, const std::vector<std::string>& variables,
                   const std::vector<std::string>& parameters) {
  Outcome result;
  guarded(result, [&] {
    Model alone = read(text);
    std::vector<int> wrt;
    for (const std::string& p : parameters) wrt.push_back(study_parameter(alone, p));
    Model model = combined_model(alone, wrt);
    SimulationOptions options = complete_options(model, options_of(spec));
    add_stop_watch(model, options);
    const EquationSystem system = build_system(model);
    std::vector<OutputColumn> columns;
    for (const std::string& v : variables)
      for (const std::string& p : parameters)
        columns.push_back({v + " by " + p, "", parse_value(model, sensitivity_name(v, p), {})});
    Simulation simulation(system, options, columns);
    SimulationResult run = simulation.run();
    if (!run.failure.empty()) {
      result.code = "stopped";
      result.refused = run.failure;
      return;
    }
    result.names = run.names;
    result.t = {run.t.back()};
    result.values.assign(run.values.end() - static_cast<long>(run.names.size()), run.values.end());
  });
  return result;
}

SweepOutcome sweep_text(const std::string& text, const RunSpec& spec, const std::vector<std::string>& axes,
                        const std::vector<std::vector<double>>& samples,
                        const std::vector<std::string>& objectives, const std::vector<std::string>& outputs) {
  SweepOutcome result;
  guarded(result, [&] {
    SampleTask task;
    task.read = [text] { return read(text); };
    for (const std::string& axis : axes) task.axes.push_back({axis, ""});
    task.objectives = objectives;
    task.outputs = outputs;
    task.simulation = options_of(spec);
    Model model = task.read();
    for (const ResultColumn& column : check_task(model, task)) result.names.push_back(column.name);
    result.values.resize(samples.size() * result.names.size());
    result.status.resize(samples.size());
    std::vector<std::size_t> order;
    for (std::size_t k = samples.size(); k-- > 0;) order.push_back(k);
    SampleLoop loop;
    loop.evaluate = [&](std::size_t k) { return evaluate_sample(task, samples[k]); };
    loop.finished = [&](std::size_t k, SampleOutcome outcome) {
      std::copy(outcome.values.begin(), outcome.values.end(),
                result.values.begin() + static_cast<long>(k * result.names.size()));
      result.status[k] = outcome.status;
    };
    run_samples(order, 2, loop);
  });
  return result;
}

}  // namespace differential
