// tellegen sensitivity: derivatives of objectives, and of variables over time, by parameters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/study_options.h"
#include "cli/verify.h"
#include "tellegen/model/observers.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/report/text.h"
#include "tellegen/results/plot.h"
#include "tellegen/results/table.h"
#include "tellegen/sensitivity/combined.h"
#include "tellegen/sensitivity/rank.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {
namespace {

struct SensitivityRequest : StudyRequest {
  std::string of, wrt, output, plot;
  bool second_order = false, verify = false;
};

// One line of the answer: an objective, or a variable at the end of the run.
struct Line {
  std::string name, unit;
  double value = 0.0;
  std::vector<double> gradient;  // SI
};

struct Answer {
  std::vector<std::string> parameters;
  std::vector<Line> lines;
  std::vector<std::string> methods, warnings;
  Trajectory trajectory;  // of variables: each, and its derivatives
  std::vector<RunDerivatives::Event> events;
  RunDerivatives second;  // of --second-order
};

std::string derivative_name(const std::string& of, const std::string& by) {
  return "d(" + of + ")/d(" + by + ")";
}

// What --of names: objectives, and what else an expression of the model may be.
struct Asked {
  std::vector<std::string> objectives;
  std::vector<OutputColumn> variables;
};
Asked read_of(const Model& model, const std::string& list) {
  Asked asked;
  for (const std::string& item : split_list(list)) {
    if (std::any_of(model.objectives.begin(), model.objectives.end(),
                    [&](const ModelObjective& o) { return o.name == item; })) {
      asked.objectives.push_back(item);
      continue;
    }
    try {
      OutputColumn column{item, "", parse_value(model, item, {model.file.string(), 0})};
      for (const ModelOutput& o : model.outputs)
        if (o.name == item) column.unit = o.unit;
      if (column.unit.empty() && column.value.is_symbol())
        if (const auto ref = find_variable(model, column.value.name()))
          column.unit = variable_unit(model, *ref);
      asked.variables.push_back(std::move(column));
    } catch (const ModelError&) {
      if (!model.objectives.empty()) find_objective(model, item);  // names the nearest of them
      throw;
    }
  }
  return asked;
}

void add_warnings(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& w : from)
    if (std::find(to.begin(), to.end(), w) == to.end()) to.push_back(w);
}

void study_objectives(const SensitivityRequest& request, const Model& model, const StudyOptions& options,
                      const Asked& asked, Answer& answer) {
  if (asked.objectives.empty()) return;
  Study study(model, asked.objectives, answer.parameters, options);
  const StudyResult result = study.evaluate(study.nominal());
  if (!result.failure.empty()) throw StudyError(request.file, result.failure);
  const std::size_t count = answer.parameters.size();
  for (std::size_t k = 0; k < asked.objectives.size(); ++k) {
    if (!std::isfinite(result.values[k]))
      throw StudyError(request.file, fmt::format("objective '{}' has no value", asked.objectives[k]),
                       result.warnings);
    answer.lines.push_back({asked.objectives[k],
                            study.objective(k).unit,
                            result.values[k],
                            {result.gradient.begin() + static_cast<long>(k * count),
                             result.gradient.begin() + static_cast<long>((k + 1) * count)}});
  }
  answer.methods.push_back(result.method);
  add_warnings(answer.warnings, result.warnings);
}

// Differences of two runs, for those who want to compare.
RunDerivatives difference_run(const Model& model, const RunRequest& request, double relative) {
  RunDerivatives result = plain_run(model, request);
  result.method = "central differences";
  const std::size_t count = request.wrt.size(), width = request.trajectories.size();
  result.by_parameter.assign(result.trajectories.size() * count, 0.0);
  for (std::size_t p = 0; p < count && result.failure.empty(); ++p) {
    const double value = model.parameters[request.wrt[p]].number;
    const double h = relative * (value != 0.0 ? std::abs(value) : 1.0);
    RunDerivatives side[2];
    for (const int s : {0, 1}) {
      Model moved = model;
      set_parameters(moved, std::span(request.wrt).subspan(p, 1),
                     std::vector{s == 0 ? value - h : value + h});
      side[s] = plain_run(moved, request);
      if (result.failure.empty()) result.failure = side[s].failure;
    }
    const std::size_t rows = std::min({result.t.size(), side[0].t.size(), side[1].t.size()});
    for (std::size_t k = 0; k < rows * width && result.failure.empty(); ++k)
      result.by_parameter[k * count + p] = (side[1].trajectories[k] - side[0].trajectories[k]) / (2 * h);
  }
  return result;
}

void study_variables(const SensitivityRequest& request, Model model, const StudyOptions& options,
                     const Asked& asked, Answer& answer) {
  if (asked.variables.empty()) return;
  RunRequest run;
  SimulationOptions simulation = options.simulation;
  add_stop_watch(model, simulation);
  run.simulation = complete_options(model, simulation);
  run.trajectories = asked.variables;
  run.fixed_end_time = options.fixed_end_time;
  for (const std::string& name : answer.parameters) run.wrt.push_back(study_parameter(model, name));
  if (options.method == StudyOptions::Method::adjoint)
    throw command_fault(tellegen_sensitivity, "T401", "the adjoint has no derivatives over time",
                        {fmt::format("'{}' is no objective: put it in [objectives], or use --method forward",
                                     asked.variables.front().name)});
  const RunDerivatives result = options.method == StudyOptions::Method::finite_difference
                                    ? difference_run(model, run, options.difference_step)
                                    : forward_run(model, run);
  if (!result.failure.empty()) throw StudyError(request.file, result.failure);
  const std::size_t width = asked.variables.size(), count = answer.parameters.size();
  for (const OutputColumn& v : asked.variables) {
    answer.trajectory.names.push_back(v.name);
    answer.trajectory.units.push_back(v.unit);
    for (const std::string& p : answer.parameters) {
      const ModelParameter& parameter = model.parameters[study_parameter(model, p)];
      answer.trajectory.names.push_back(derivative_name(v.name, p));
      answer.trajectory.units.push_back(derivative_unit(v.unit, parameter.unit));
    }
  }
  for (std::size_t row = 0; row < result.t.size(); ++row) {
    std::vector<double> cells;
    for (std::size_t k = 0; k < width; ++k) {
      const std::string& unit = asked.variables[k].unit;
      cells.push_back(in_unit(result.trajectories[row * width + k], unit));
      for (std::size_t p = 0; p < count; ++p)
        cells.push_back(in_units(result.by_parameter[(row * width + k) * count + p], unit,
                                 model.parameters[run.wrt[p]].unit));
    }
    answer.trajectory.append(result.t[row], cells);
  }
  const std::size_t last = result.t.size() - 1;
  for (std::size_t k = 0; k < width; ++k) {
    const auto first = result.by_parameter.begin() + static_cast<long>((last * width + k) * count);
    answer.lines.push_back({fmt::format("{} at t = {:.6g} s", asked.variables[k].name, result.t[last]),
                            asked.variables[k].unit,
                            result.trajectories[last * width + k],
                            {first, first + static_cast<long>(count)}});
  }
  answer.methods.push_back(result.method);
  answer.events = result.events;
  add_warnings(answer.warnings, result.warnings);
}

void study_second_order(const SensitivityRequest& request, Model model, const StudyOptions& options,
                        const Asked& asked, Answer& answer) {
  RunRequest run;
  run.simulation = complete_options(model, options.simulation);
  if (model.simulation.stop_when) run.simulation.stop_watch = "stop_when";
  for (const std::string& name : answer.parameters) run.wrt.push_back(study_parameter(model, name));
  for (const std::string& name : asked.objectives) {
    const ModelObjective& o = model.objectives[find_objective(model, name)];
    const bool integral = o.what == ModelObjective::What::integral;
    if ((!integral && o.what != ModelObjective::What::end) || o.run >= 0)
      throw command_fault(tellegen_sensitivity, "T401",
                          fmt::format("'{}' has no second derivatives here", name),
                          {"they are those of integrals and end values of the model as it stands"});
    const Expr value = o.value;
    run.observed.push_back(
        {Observed::What::end, integral ? model.pool->symbol(add_integral(model, name, value, {})) : value});
  }
  for (const OutputColumn& v : asked.variables) run.observed.push_back({Observed::What::end, v.value});
  answer.second = second_order_run(model, run);
  if (!answer.second.failure.empty()) throw StudyError(request.file, answer.second.failure);
}

const ModelParameter& parameter_of(Model& model, const std::string& name) {
  return model.parameters[study_parameter(model, name)];
}

void print(const Answer& answer, Model& model) {
  fmt::print("{}\n", model.name);
  for (const std::string& method : answer.methods) fmt::print("{}\n", method);
  const std::size_t count = answer.parameters.size();
  for (std::size_t k = 0; k < answer.lines.size(); ++k) {
    const Line& line = answer.lines[k];
    fmt::print("\n{} = {}{}{}\n", line.name, text_in_unit(line.value, line.unit),
               line.unit.empty() ? "" : " ", line.unit);
    TextTable table{{"parameter", "value", "unit", "derivative", "unit", "score"}, {}};
    for (std::size_t p = 0; p < count; ++p) {
      const ModelParameter& of = parameter_of(model, answer.parameters[p]);
      const double score = line.value == 0.0 ? NAN : line.gradient[p] * std::abs(of.number / line.value);
      table.rows.push_back({of.name, text_in_unit(of.number, of.unit), of.unit,
                            brief_number(in_units(line.gradient[p], line.unit, of.unit) + 0.0, 8),
                            derivative_unit(line.unit, of.unit),
                            std::isfinite(score) ? brief_number(score + 0.0, 5) : "-"});
    }
    fmt::print("{}", to_text(table));
    if (answer.second.gradient.empty()) continue;
    TextTable second{{"second derivatives, SI"}, {}};
    for (const std::string& q : answer.parameters) second.header.push_back(q);
    for (std::size_t p = 0; p < count; ++p) {
      auto& row = second.rows.emplace_back(std::vector<std::string>{answer.parameters[p]});
      for (std::size_t q = 0; q < count; ++q)
        row.push_back(brief_number(answer.second.gradient[(k * count + p) * count + q] + 0.0, 6));
    }
    fmt::print("\n{}", to_text(second));
  }
  if (!answer.events.empty()) {
    TextTable table{{"event at, s", "what changes"}, {}};
    for (const std::string& p : answer.parameters) table.header.push_back("d t/d " + p);
    for (const auto& e : answer.events) {
      auto& row = table.rows.emplace_back(std::vector<std::string>{brief_number(e.t, 9), e.what});
      for (double g : e.gradient) row.push_back(brief_number(g + 0.0, 6));
    }
    fmt::print("\n{}", to_text(table));
  }
  for (const std::string& w : answer.warnings) fmt::print("\nwarning: {}", w);
  if (!answer.warnings.empty()) fmt::print("\n");
}

nlohmann::ordered_json to_json(const Answer& answer, Model& model, const SensitivityRequest& request) {
  nlohmann::ordered_json json;
  json["model"] = model.name;
  json["file"] = request.file;
  json["methods"] = answer.methods;
  json["fixed_end_time"] = request.fixed_end_time;
  const std::size_t count = answer.parameters.size();
  for (std::size_t k = 0; k < answer.lines.size(); ++k) {
    const Line& line = answer.lines[k];
    nlohmann::ordered_json entry{
        {"name", line.name}, {"unit", line.unit}, {"value", in_unit(line.value, line.unit)}};
    for (std::size_t p = 0; p < count; ++p) {
      const ModelParameter& of = parameter_of(model, answer.parameters[p]);
      nlohmann::ordered_json d{{"parameter", of.name},
                               {"value", in_unit(of.number, of.unit)},
                               {"derivative", in_units(line.gradient[p], line.unit, of.unit)},
                               {"unit", derivative_unit(line.unit, of.unit)}};
      if (line.value != 0.0) d["score"] = line.gradient[p] * std::abs(of.number / line.value);
      if (!answer.second.gradient.empty())
        d["second_si"] = std::vector<double>(
            answer.second.gradient.begin() + static_cast<long>((k * count + p) * count),
            answer.second.gradient.begin() + static_cast<long>((k * count + p + 1) * count));
      entry["derivatives"].push_back(std::move(d));
    }
    json["values"].push_back(std::move(entry));
  }
  for (const auto& e : answer.events)
    json["events"].push_back({{"t", e.t}, {"what", e.what}, {"gradient_si", e.gradient}});
  json["warnings"] = answer.warnings;
  return json;
}

void sensitivity(const SensitivityRequest& request) {
  const StudyOptions options = study_options_of(tellegen_sensitivity, request);
  if (!request.output.empty())
    check_writable({tellegen_sensitivity, "--output"}, request.output, {".csv", ".h5", ".hdf5"});
  if (!request.plot.empty()) check_writable({tellegen_sensitivity, "--plot"}, request.plot, {".svg", ".png"});
  Model model = read_study_model(tellegen_sensitivity, request);
  Answer answer;
  answer.parameters = chosen_parameters(tellegen_sensitivity, model, request.wrt);
  const Asked asked = read_of(model, request.of);
  if (!request.output.empty() && asked.variables.empty())
    throw command_fault(tellegen_sensitivity, "T401",
                        "--output is for variables over time, and --of names objectives only",
                        {"add a variable or an output of the model to --of"});
  if (request.verify) {
    if (asked.objectives.empty())
      throw command_fault(tellegen_sensitivity, "T401",
                          "--verify is a study of objectives, and --of names none");
    const Verification verified = verify(request, options, model, asked.objectives, answer.parameters);
    if (!request.plot.empty()) write_verification(tellegen_sensitivity, request.plot, verified);
    if (!write_json(tellegen_sensitivity, request, json_text(to_json(verified)))) print(verified);
    return;
  }
  try {
    study_objectives(request, model, options, asked, answer);
    study_variables(request, model, options, asked, answer);
    if (request.second_order) study_second_order(request, model, options, asked, answer);
  } catch (const SimulationError& error) {
    throw StudyError(request.file, error.what(), error.details);
  }
  try {
    if (!request.output.empty()) {
      if (request.output.ends_with(".csv"))
        write_csv(request.output, answer.trajectory);
      else
        write_hdf5(request.output, answer.trajectory);
    }
    if (!request.plot.empty()) {
      if (answer.trajectory.rows() < 2)
        throw command_fault(tellegen_sensitivity, "T401",
                            "--plot draws variables over time, and --of names objectives only",
                            {"tellegen rank draws the scores of objectives"});
      write_plot(request.plot, answer.trajectory, {.title = model.name});
    }
  } catch (const ModelError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_sensitivity, error);
  }
  if (!write_json(tellegen_sensitivity, request, json_text(to_json(answer, model, request)))) {
    print(answer, model);
    for (const std::string& file : {request.output, request.plot, request.json})
      if (!file.empty()) fmt::print("wrote {}\n", file);
  }
  hold_strictly(request, answer.warnings);
}

}  // namespace

void add_sensitivity(CLI::App& command) {
  auto request = std::make_shared<SensitivityRequest>();
  SensitivityRequest& r = *request;
  add_study_options(command, r);
  const char* what = "What to study";
  command.add_option("--of", r.of, "objectives, outputs, variables or formulas: E_loss,n3.v")
      ->required()
      ->type_name("LIST")
      ->group(what);
  command.add_option("--wrt", r.wrt, "parameters, r1.R too; all plain numbers of [parameters] if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_flag("--second-order", r.second_order, "second derivatives as well")->group(what);
  command
      .add_flag("--verify", r.verify,
                "hold the derivatives of objectives against differences of many steps, over a range of each "
                "parameter, and against runs at other values")
      ->group(what);
  command.add_option("--output", r.output, "variables and their derivatives over time")
      ->type_name("F.csv|F.h5")
      ->group("Where to write");
  command.add_option("--plot", r.plot, "picture of these, or of --verify")
      ->type_name("F.svg|F.png")
      ->group("Where to write");
  command.callback([request] {
    request->wants_json = request->json_option->count() > 0;
    sensitivity(*request);
  });
}

}  // namespace tellegen
