// tellegen design-experiment: the [experiment] of a model, chosen so that its readings tell most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/study_options.h"
#include "tellegen/identify/experiment.h"
#include "tellegen/model/document.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/rewrite.h"
#include "tellegen/model/units.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/record.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

using Json = nlohmann::ordered_json;

struct ExperimentRequest : StudyRequest {
  std::string parameters, sensors, readings, output;
  int points = 0;
};

struct ExperimentReport {
  const Model& model;
  const ExperimentRequest& request;
  const ExperimentOptions& options;
  ExperimentResult result;
  std::vector<std::string> written;
  const ModelParameter& variable(std::size_t k) const {
    return model.parameters[model.experiment->variables[k].parameter];
  }
  const ModelParameter& parameter(std::size_t k) const { return model.parameters[options.parameters[k]]; }
};

std::vector<int> sought(Model& model, const std::string& list) {
  std::vector<int> found;
  for (const std::string& name : split_list(list)) found.push_back(study_parameter(model, name));
  if (list.empty())
    for (const int u : model.estimation.unknowns) found.push_back(model.unknowns[u].parameter);
  for (const ModelDesign::Variable& v : model.experiment->variables)
    if (std::find(found.begin(), found.end(), v.parameter) != found.end())
      throw ModelError({v.place,
                        "T145",
                        fmt::format("'{}' is a variable of [experiment] and an unknown at the same time",
                                    model.parameters[v.parameter].name),
                        {"an experiment's own parameters are chosen, and so they are known"}});
  return found;
}

double reading_step(const Model& model, const ExperimentRequest& request) {
  if (!request.readings.empty())
    return read_seconds({tellegen_design_experiment, "--readings"}, request.readings);
  const double step =
      model.estimation.step.value_or(model.simulation.sample.value_or(model.simulation.step.value_or(0.0)));
  if (step > 0.0) return step;
  throw command_fault(tellegen_design_experiment, "T613", "nothing says how often the sensors are read",
                      {"give --readings 1ms, or sample in [simulation]"});
}

std::string per_cent(double relative) {
  return std::isfinite(relative) ? brief_number(100 * relative, 4) + " %" : "not determined";
}

std::string constraint_state(double value) {
  return !std::isfinite(value) ? "-"
         : value > 0.0         ? "broken by " + brief_number(value)
                               : "holds by " + brief_number(-value);
}

void print(const ExperimentReport& report) {
  const ExperimentResult& r = report.result;
  fmt::print("{}, {} readings of {} sensors every {:g} s, {} experiments tried\n\n", report.model.name,
             static_cast<std::int64_t>(std::floor(r.best.length / report.options.step * (1 + 1e-9))) + 1,
             report.options.sensors.size(), report.options.step, r.evaluations);
  TextTable variables{{"variable", "unit", "before", "best", "lowest", "highest"}, {}};
  for (std::size_t k = 0; k < r.best.numbers.size(); ++k) {
    const ModelParameter& p = report.variable(k);
    const ModelDesign::Variable& v = report.model.experiment->variables[k];
    variables.rows.push_back({p.name, p.unit, text_in_unit(r.before.numbers[k], p.unit),
                              text_in_unit(r.best.numbers[k], p.unit), text_in_unit(v.lower, p.unit),
                              text_in_unit(v.upper, p.unit)});
  }
  fmt::print("{}\n", to_text(variables));
  TextTable parameters{{"parameter", "unit", "value", "deviation before", "best"}, {}};
  for (std::size_t k = 0; k < report.options.parameters.size(); ++k) {
    const ModelParameter& p = report.parameter(k);
    parameters.rows.push_back({p.name, p.unit, text_in_unit(p.number, p.unit),
                               r.before.failure.empty() ? per_cent(r.before.relative[k]) : "no run",
                               per_cent(r.best.relative[k])});
  }
  fmt::print("{}", to_text(parameters));
  if (!r.best.constraints.empty()) {
    TextTable constraints{{"constraint", "before", "best"}, {}};
    for (std::size_t k = 0; k < r.best.constraints.size(); ++k)
      constraints.rows.push_back(
          {report.model.experiment->constraints[k].text,
           r.before.failure.empty() ? constraint_state(r.before.constraints[k]) : "no run",
           constraint_state(r.best.constraints[k])});
    fmt::print("\n{}", to_text(constraints));
  }
  if (r.failures > 0)
    fmt::print(stderr, "warning: {} of {} experiments could not be run, the first: {}\n", r.failures,
               r.evaluations, r.first_failure);
  for (const std::string& file : report.written) fmt::print("\nwrote {}\n", file);
}

Json point_json(const ExperimentReport& report, const ExperimentPoint& point) {
  Json json{{"length_si", point.length}, {"failure", point.failure}};
  for (std::size_t k = 0; k < point.numbers.size(); ++k)
    json["variables"].push_back({{"name", report.variable(k).name}, {"value_si", point.numbers[k]}});
  for (std::size_t k = 0; k < point.relative.size(); ++k)
    json["deviations"].push_back(
        {{"parameter", report.parameter(k).name}, {"relative", json_number(point.relative[k])}});
  for (std::size_t k = 0; k < point.constraints.size(); ++k)
    json["constraints"].push_back({{"constraint", report.model.experiment->constraints[k].text},
                                   {"value_si", json_number(point.constraints[k])}});
  return json;
}

void write_model(ExperimentReport& report) {
  if (report.request.output.empty()) return;
  std::vector<int> variables;
  for (const ModelDesign::Variable& v : report.model.experiment->variables) variables.push_back(v.parameter);
  const std::string text = read_text(report.request.file, {});
  try {
    write_file(report.request.output,
               with_numbers(text, report.model, variables, report.result.best.numbers));
  } catch (const ModelError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_design_experiment, error);
  }
  report.written.push_back(report.request.output);
}

void design(const ExperimentRequest& request) {
  ExperimentOptions options;
  options.study = study_options_of(tellegen_design_experiment, request);
  if (!request.output.empty())
    check_writable({tellegen_design_experiment, "--output"}, request.output, {".toml"});
  Model model = read_study_model(tellegen_design_experiment, request);
  if (!request.stop.empty())
    model.simulation.stop = read_seconds({tellegen_design_experiment, "--stop"}, request.stop);
  if (model.experiment) options.parameters = sought(model, request.parameters);
  options.sensors =
      request.sensors.empty() ? model.estimation.sensors : sensors_named(model, split_list(request.sensors));
  options.step = reading_step(model, request);
  options.points = request.points;
  ProgressLine progress;
  options.progress = [&](const std::string& text) { progress(text); };
  ExperimentReport report{model, request, options, design_experiment(model, options), {}};
  const ExperimentPoint& best = report.result.best;
  if (!best.failure.empty())
    throw StudyError(request.file, "no experiment within the bounds could be run", {best.failure});
  const bool good = best.broken <= 1e-6 && std::isfinite(best.worst);
  if (good) write_model(report);
  const Json json{{"model", model.name},
                  {"file", request.file},
                  {"evaluations", report.result.evaluations},
                  {"failures", report.result.failures},
                  {"before", point_json(report, report.result.before)},
                  {"best", point_json(report, best)},
                  {"written", report.written}};
  if (!write_json(tellegen_design_experiment, request, json_text(json))) print(report);
  if (best.broken > 1e-6)
    throw StudyError(request.file, "no experiment within the bounds keeps every constraint",
                     {"shown is the one that breaks them least; widen the bounds or the limits"});
  if (!good)
    throw StudyError(request.file, "no experiment within the bounds determines every unknown",
                     report.result.known.sentences(false));
}

}  // namespace

void add_design_experiment(CLI::App& command) {
  auto request = std::make_shared<ExperimentRequest>();
  ExperimentRequest& r = *request;
  add_study_options(command, r);
  const char* what = "What to study";
  command
      .add_option("--parameters", r.parameters,
                  "parameters that are to be known: all [unknowns] if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--sensors", r.sensors, "sensors that are read: all if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--readings", r.readings, "time between readings; that of the model if not given")
      ->type_name("TIME")
      ->group(what);
  command
      .add_option("--points", r.points, "experiments that are tried all over the bounds before the search")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group("How to search");
  command.add_option("--output", r.output, "the model file with the parameters found")
      ->type_name("F.toml")
      ->group("Where to write");
  command.callback([request] {
    request->wants_json = request->json_option->count() > 0;
    design(*request);
  });
}

}  // namespace tellegen
