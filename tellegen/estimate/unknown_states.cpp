#include "tellegen/estimate/unknown_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "tellegen/estimate/coordinate.h"
#include "tellegen/model/parameter_inputs.h"

namespace tellegen {
namespace {

using Varies = ModelUnknown::Varies;

std::string free_name(const Model& model, std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  while (model.component_by_name.contains(name) || model.node_by_name.contains(name)) name += "_";
  return name;
}

// The component whose states the unknown is, and what it is in them.
UnknownStates::Unknown add_unknown(Model& model, int index, ModelUnknown::Coordinate coordinate) {
  Pool& pool = *model.pool;
  const ModelUnknown& unknown = model.unknowns[index];
  const ModelParameter& parameter = model.parameters[unknown.parameter];
  UnknownStates::Unknown added;
  added.unknown = index;
  Kind kind;
  kind.name = "(unknown)";
  kind.summary = "A number that is estimated.";
  kind.place = parameter.place;
  const std::string name = free_name(model, "unknown_" + parameter.name);
  const auto state = [&](const char* local, double start) {
    const Expr symbol = pool.symbol(local);
    kind.variables.push_back({local, "", "", symbol});
    kind.initial.push_back({symbol, pool.number(start)});
    added.variables.push_back(name + "." + local);
    return symbol;
  };
  const auto rate = [&](const char* local, Expr value) {
    kind.equations.push_back(
        {pool.symbol(fmt::format("der({})", local)) - value, fmt::format("der({})", local), 0});
  };
  const double start = unknown.start.value_or(parameter.number);
  state("at", to_coordinate(coordinate, start));
  if (unknown.varies == Varies::integrated_walk) {
    rate("at", state("slope", 0.0));
    rate("slope", pool.number(0));
  } else {
    rate("at", pool.number(0));
  }
  Expr at = pool.symbol(name + ".at");
  if (unknown.varies == Varies::oscillator) {
    const double w = 2.0 * std::numbers::pi * unknown.frequency;
    const Expr wave = state("wave", 0.0), quadrature = state("quadrature", 0.0);
    rate("wave", w * quadrature);
    rate("quadrature", -w * wave);
    at = at + pool.symbol(name + ".wave");
  }
  added.value = from_coordinate(coordinate, at);
  Component component;
  component.name = name;
  component.kind = static_cast<int>(model.kinds.size());
  component.place = parameter.place;
  model.component_by_name[name] = static_cast<int>(model.components.size());
  model.kinds.push_back(std::move(kind));
  model.components.push_back(std::move(component));
  return added;
}

// A component whose one state is the error.
Expr add_input_noise(Model& model, const ModelInput& input, UnknownStates::InputNoise& noise) {
  Pool& pool = *model.pool;
  Kind kind;
  kind.name = "(noise)";
  kind.summary = "What readings of an input are wrong by.";
  kind.place = input.place;
  const Expr symbol = pool.symbol("at");
  kind.variables.push_back({"at", "", "", symbol});
  kind.initial.push_back({symbol, pool.number(0.0)});
  kind.equations.push_back({pool.symbol("der(at)"), "der(at)", 0});
  Component component;
  component.name = free_name(model, "noise_" + input.name);
  component.kind = static_cast<int>(model.kinds.size());
  component.place = input.place;
  noise = {component.name + ".at", input.noise};
  model.component_by_name[component.name] = static_cast<int>(model.components.size());
  model.kinds.push_back(std::move(kind));
  model.components.push_back(std::move(component));
  return pool.symbol(noise.variable);
}

}  // namespace

UnknownStates with_unknown_states(const Model& model, const std::vector<int>& unknowns,
                                  const std::vector<ModelUnknown::Coordinate>& coordinates,
                                  const std::vector<std::string>& inputs, bool input_noise) {
  UnknownStates result{model, {}, {}};
  Model& m = result.model;
  ExprMap<Expr> replacements;
  for (std::size_t k = 0; k < unknowns.size(); ++k) {
    result.unknowns.push_back(add_unknown(m, unknowns[k], coordinates[k]));
    replacements[m.parameters[m.unknowns[unknowns[k]].parameter].symbol] = result.unknowns.back().value;
  }
  // A parameter that the data give is an input from now on.
  for (const auto& [parameter, input] : add_parameter_inputs(m, inputs)) replacements[parameter] = input;
  // What the data say of an input is its value and what that is wrong by.
  for (const std::string& name : inputs) {
    const auto input =
        std::find_if(m.inputs.begin(), m.inputs.end(), [&](const ModelInput& i) { return i.name == name; });
    if (input == m.inputs.end()) continue;
    Expr value = input->symbol;
    if (input->bias >= 0) {
      const Expr bias = m.parameters[input->bias].symbol;
      value = value - (replacements.contains(bias) ? replacements.at(bias) : bias);
    }
    if (input_noise && input->noise > 0.0)
      value = value - add_input_noise(m, *input, result.noises.emplace_back());
    if (value != input->symbol) replacements[input->symbol] = value;
  }
  replace_parameters(m, std::move(replacements));
  for (const std::string& name : inputs) make_external(m, name);
  m.objectives.clear();
  m.runs.clear();
  m.design.reset();
  return result;
}

}  // namespace tellegen
