#include "tellegen/simulate/signature.h"

#include <algorithm>
#include <array>

namespace tellegen {
namespace {

using Role = Signature::Role;

constexpr std::array role_names{"parameter", "input", "discrete", "state",
                                "history",   "rate",  "time",     "output"};

std::string unit_of(const Model& model, const std::string& variable) {
  const auto found = find_variable(model, variable);
  return found ? variable_unit(model, *found) : "";
}

// Of the kind's parameter that a number is; null where it is the model's ("$R1").
const KindParameter* own_parameter(const EquationSystem& system, const StepCode::Number& n) {
  const Group& group = system.groups[n.group];
  for (const KindParameter& p : system.model->kinds[group.kind].parameters)
    if (p.name == group.parameters[n.parameter].name()) return &p;
  return nullptr;
}

const ModelParameter* model_parameter(const EquationSystem& system, const StepCode::Number& n) {
  const std::string& slot = system.groups[n.group].parameters[n.parameter].name();
  for (const ModelParameter& p : system.model->parameters)
    if (slot.size() == p.name.size() + 1 && slot.ends_with(p.name)) return &p;
  return nullptr;
}

const Component& component_of(const EquationSystem& system, const StepCode::Number& n) {
  return system.model->components[system.groups[n.group].components[n.member]];
}

void add_parameters(const Model& model, Expr formula, std::vector<std::string>& names) {
  if (!formula) return;
  for (const Expr s : symbols_of(std::span(&formula, 1)))
    for (const ModelParameter& p : model.parameters)
      if (p.symbol == s && std::find(names.begin(), names.end(), p.name) == names.end()) {
        names.push_back(p.name);
        add_parameters(model, p.value, names);
      }
}

Signature::Register number(const EquationSystem& system, const StepCode::Number& n) {
  Signature::Register entry{.role = Role::parameter, .name = "", .unit = "", .part = 0, .reg = n.reg};
  if (const KindParameter* own = own_parameter(system, n)) {
    entry.name = component_of(system, n).name + "." + own->name;
    entry.unit = own->any_unit ? "" : own->unit;
  } else if (const ModelParameter* p = model_parameter(system, n)) {
    entry.name = p->name;
    entry.unit = p->unit;
  }
  add_parameters(*system.model, number_formula(system, n), entry.follows);
  return entry;
}

}  // namespace

std::string_view role_name(Role role) { return role_names[static_cast<std::size_t>(role)]; }

Expr number_formula(const EquationSystem& system, const StepCode::Number& n) {
  if (const KindParameter* own = own_parameter(system, n)) {
    const Kind& kind = system.model->kinds[system.groups[n.group].kind];
    const ParameterValue& value =
        component_of(system, n).values[static_cast<std::size_t>(own - kind.parameters.data())];
    return value.constant ? value.value : Expr();
  }
  const ModelParameter* p = model_parameter(system, n);
  return p ? p->symbol : Expr();
}

Signature signature_of(const Simulation& simulation) {
  return signature_of(simulation, simulation.step_code());
}

Signature signature_of(const Simulation& simulation, const StepCode& code) {
  const EquationSystem& system = simulation.system();
  const Model& model = *system.model;
  const Problem& problem = simulation.problem();
  Signature signature;
  for (std::size_t k = 0; k < code.parts.size(); ++k) {
    const StepCode::Part& part = code.parts[k];
    const auto add = [&](Signature::Register entry) {
      entry.part = k;
      if (entry.reg >= 0) signature.registers.push_back(std::move(entry));
    };
    for (const StepCode::Number& n : part.numbers) add(number(system, n));
    for (std::size_t d = 0; d < part.held.size(); ++d) {
      const std::string& name = system.discrete[d].name;
      const auto input = std::find(problem.external.begin(), problem.external.end(), static_cast<int>(d));
      if (input == problem.external.end()) {
        add({.role = Role::discrete,
             .name = name,
             .unit = unit_of(model, name),
             .part = 0,
             .reg = part.held[d]});
        continue;
      }
      const std::string& of_model =
          problem.options.external[static_cast<std::size_t>(input - problem.external.begin())];
      for (const ModelInput& i : model.inputs)
        if (i.name == of_model)
          add({.role = Role::input, .name = i.name, .unit = i.unit, .part = 0, .reg = part.held[d]});
    }
    for (const StepCode::State& s : part.states) {
      const std::string unit = unit_of(model, s.name);
      for (int age = 0; age < 3; ++age)
        add({.role = age == 0 ? Role::state : Role::history,
             .name = s.name,
             .unit = unit,
             .part = 0,
             .reg = s.values[static_cast<std::size_t>(age)],
             .age = age});
      add({.role = Role::rate, .name = s.name, .unit = unit, .part = 0, .reg = s.rate});
    }
    add({.role = Role::time, .name = "t", .unit = "s", .part = 0, .reg = part.time});
    for (std::size_t o = 0; o < part.outputs.size() && o < simulation.outputs().size(); ++o)
      add({.role = Role::output,
           .name = simulation.outputs()[o].name,
           .unit = "",
           .part = 0,
           .reg = part.outputs[o]});  // in SI: units are for rows that are shown
  }
  return signature;
}

std::vector<Signature::Register> Signature::of(std::string_view name) const {
  std::vector<Register> found;
  for (const Register& r : registers)
    if (r.name == name || std::find(r.follows.begin(), r.follows.end(), name) != r.follows.end())
      found.push_back(r);
  return found;
}

std::vector<Signature::Register> Signature::at(std::size_t part, std::int32_t reg) const {
  std::vector<Register> found;
  for (const Register& r : registers)
    if (r.part == part && r.reg == reg) found.push_back(r);
  return found;
}

}  // namespace tellegen
