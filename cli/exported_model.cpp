#include "cli/exported_model.h"

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/model_file.h"
#include "tellegen/deploy/verilog_export.h"
#include "tellegen/model/reading.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {

void add_exported_model_options(CLI::App& command, ExportedModelRequest& r) {
  command.add_option("FILE", r.file, "model file or SPICE netlist")->required();
  command
      .add_option("--method", r.method, "bdf1, bdf2, bdf3, tr, trnp, rk4 or exact; the model's if not given")
      ->type_name("NAME");
  command.add_option("--step", r.step, "length of a step; the model's if not given")->type_name("TIME");
  command
      .add_option("--stop", r.stop, "how far sources are looked at for their jumps; the model's if not given")
      ->type_name("TIME");
  command
      .add_option("--iterations", r.iterations, "Newton iterations of every step; to tolerance if not given")
      ->type_name("COUNT")
      ->check(not_positive_count);
  command.add_option("--outputs", r.outputs, "variables and formulas; the model's outputs if not given")
      ->type_name("LIST");
  command.add_option("--inputs", r.inputs, "inputs of the model that are given to every step")
      ->type_name("LIST");
  command.add_option("--set", r.set, "another value of a parameter")->type_name("NAME=VALUE");
}

Model read_exported_model(std::string_view command, const ExportedModelRequest& request) {
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({command, "--set"}, text));
  return read_model_file(request.file, reading);
}

std::vector<Expr> take_inputs_out(std::string_view command, const ExportedModelRequest& request,
                                  Model& model) {
  std::vector<Expr> values;
  const std::vector<std::string> inputs = split_list(request.inputs);
  for (const std::string& name : inputs) values.push_back(input_formula(model, name));
  make_external({command, "--inputs"}, inputs, model);
  return values;
}

SimulationOptions exported_step_options(std::string_view command, const ExportedModelRequest& request,
                                        Model& model) {
  SimulationOptions given = as_the_model_says();
  if (!request.step.empty()) given.step = read_seconds({command, "--step"}, request.step);
  if (!request.stop.empty()) given.stop = read_seconds({command, "--stop"}, request.stop);
  std::vector<std::string> methods;
  for (const IntegratorEntry& entry : integrators())
    if (traits_of(entry.name).steps != MethodTraits::Steps::variable) methods.emplace_back(entry.name);
  check_choice({command, "--method"}, request.method, methods);
  given.method = request.method;
  given.iterations = request.iterations;
  SimulationOptions options = complete_options(model, given);
  if (traits_of(options.method).steps == MethodTraits::Steps::variable)
    throw command_fault(command, "T401",
                        fmt::format("method '{}' chooses its steps while it runs", options.method),
                        {"give --step, and --method where bdf2 is not right"});
  options.compile = false;
  // Parameters can be set where the step is made of the components' numbers. The minimal form has numbers of
  // its own, which are those of `simulate` to the bit where nothing is kept for others.
  options.restarts =
      traits_of(options.method).formula != MethodTraits::Formula::none && options.form != "minimal";
  options.straight_line = true;
  options.sample = 0.0;  // a row every step
  options.external = split_list(request.inputs);
  add_stop_watch(model, options);
  return options;
}

}  // namespace tellegen
