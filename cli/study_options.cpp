#include "cli/study_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/arguments.h"
#include "cli/model_file.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/units.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/table.h"

namespace tellegen {

void add_study_options(CLI::App& command, StudyRequest& r) {
  command.add_option("FILE", r.file, "model file with [objectives]")->required();
  const char* how = "How to integrate (over the model's [simulation])";
  command.add_option("--stop", r.stop, "end of the simulation")->type_name("TIME")->group(how);
  command.add_option("--step", r.step, "integration step")->type_name("TIME")->group(how);
  command.add_option("--sample", r.sample, "interval between samples")->type_name("TIME")->group(how);
  command.add_option("--method", r.method, "integration method, as of simulate; or as --derivatives")
      ->type_name("NAME")
      ->group(how);
  command.add_option("--tolerance", r.tolerance, "of Newton's iteration, or of a step's error")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(how);
  command
      .add_option("--event-bisections", r.event_bisections,
                  "find events within fixed steps, to the step over 2^COUNT")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command.add_flag("--interpret", r.interpret, "do without the system's C compiler")->group(how);
  command.add_flag("--strict", r.strict, "a warning is a fault: exit code 1")->group(how);
  const char* slopes = "How to differentiate";
  command.add_option("--derivatives", r.derivatives, "auto, forward, adjoint or finite-difference")
      ->type_name("NAME")
      ->group(slopes);
  command
      .add_flag("--fixed-end-time", r.fixed_end_time,
                "leave out that the end of a run moves with the parameters")
      ->group(slopes);
  command
      .add_option("--difference-step", r.difference_step,
                  "of finite differences, relative to the parameter (1e-4)")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(slopes);
  command.add_option("--set", r.set, "replace a parameter: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group("What to study");
  r.json_option =
      command.add_option("--json", r.json, "everything for machines, to a file or standard output")
          ->type_name("[F.json]")
          ->expected(0, 1)
          ->group("Where to write");
}

StudyOptions study_options_of(std::string_view command, const StudyRequest& request) {
  const auto named = [&](std::string_view option) { return OptionName{command, option}; };
  StudyOptions options;
  SimulationOptions& simulation = options.simulation;
  if (!request.stop.empty()) simulation.stop = read_seconds(named("--stop"), request.stop);
  if (!request.step.empty()) simulation.step = read_seconds(named("--step"), request.step);
  if (!request.sample.empty()) simulation.sample = read_seconds(named("--sample"), request.sample);
  const std::vector<std::string> ways{"auto", "forward", "adjoint", "finite-difference"};
  std::vector<std::string> methods;
  for (const IntegratorEntry& entry : integrators()) methods.emplace_back(entry.name);
  // `--method adjoint` can only mean how to differentiate.
  std::string method = request.method, derivatives = request.derivatives;
  if (std::find(ways.begin(), ways.end(), method) != ways.end()) {
    if (!derivatives.empty() && derivatives != method)
      throw command_fault(
          command, "T401",
          fmt::format("--method {} and --derivatives {} contradict each other", method, derivatives));
    derivatives = std::exchange(method, "");
  }
  check_choice(named("--method"), method, methods);
  check_choice(named("--derivatives"), derivatives, ways);
  simulation.method = method;
  simulation.event_bisections = request.event_bisections;
  simulation.compile = !request.interpret;
  const auto way = std::find(ways.begin(), ways.end(), derivatives);
  if (way != ways.end()) options.method = static_cast<StudyOptions::Method>(way - ways.begin());
  options.fixed_end_time = request.fixed_end_time;
  if (request.difference_step > 0.0) options.difference_step = request.difference_step;
  if (!request.json.empty()) check_writable(named("--json"), request.json, {".json"});
  return options;
}

std::vector<std::string> chosen_parameters(std::string_view command, Model& model, const std::string& list) {
  const std::vector<std::string> names = list.empty() ? parameter_names(model, false) : split_list(list);
  if (names.empty())
    throw command_fault(command, "T401", "there is no parameter to study",
                        {"the model has no [parameters]; --wrt takes numbers of components too: r1.R"});
  for (const std::string& name : names) study_parameter(model, name);
  return names;
}

Model read_study_model(std::string_view command, const StudyRequest& request) {
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({command, "--set"}, text));
  Model model = read_model_file(request.file, reading);
  if (request.tolerance > 0.0) model.simulation.tolerance = request.tolerance;
  return model;
}

void hold_strictly(const StudyRequest& request, const std::vector<std::string>& warnings) {
  if (request.strict && !warnings.empty())
    throw StudyError(request.file, "with --strict a warning is a fault: " + warnings.front(),
                     {warnings.size() > 1 ? fmt::format("and {} more", warnings.size() - 1) : ""});
}

bool write_json(std::string_view command, const StudyRequest& request, const std::string& text) {
  if (!request.wants_json) return false;
  if (request.json.empty()) {
    fmt::print("{}", text);
    return true;
  }
  try {
    write_file(request.json, text);
  } catch (const std::runtime_error& error) {
    throw not_written(command, error);
  }
  return false;
}

}  // namespace tellegen
