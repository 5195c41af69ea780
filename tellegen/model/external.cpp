// An input that comes from outside, as a component: everything that knows discrete variables then knows it.
#include <fmt/format.h>

#include "tellegen/model/model.h"
#include "tellegen/model/reading.h"

namespace tellegen {

void make_external(Model& model, std::string_view name) {
  Pool& pool = *model.pool;
  ModelInput* input = nullptr;
  std::vector<std::string> known;
  for (ModelInput& i : model.inputs) {
    known.push_back(i.name);
    if (i.name == name) input = &i;
  }
  if (!input) {
    FaultList faults;
    faults.add({model.file.string(), 0}, "T131",
               fmt::format("there is no input '{}' to be set from outside", name),
               {did_you_mean(name, known),
                known.empty() ? "the model has no [inputs]" : "its inputs: " + joined(known)});
    faults.throw_if_any();
  }

  ExprMap<double> numbers{{pool.symbol("t"), 0.0}};
  for (const ModelParameter& p : model.parameters) numbers[p.symbol] = p.number;
  ExprMap<Expr> others;  // an input may be written in others
  for (const ModelInput& i : model.inputs) others[i.symbol] = i.value;
  Expr start = input->value;
  for (std::size_t k = 0; k < model.inputs.size(); ++k) start = substitute(start, others);

  Kind kind;
  kind.name = "input";
  kind.summary = "An input that is set from outside.";
  kind.place = input->place;
  kind.variables.push_back({"value", input->unit, "value last set", pool.symbol("value")});
  KindDiscrete discrete;
  discrete.held = discrete.update = pool.symbol("held(value)");
  discrete.start = pool.number(evaluate(start, numbers));
  kind.discrete.push_back(discrete);
  kind.equations.push_back({kind.variables[0].symbol - discrete.held, "value = what was set last", 0});

  Component component;
  component.name = name;
  while (model.component_by_name.contains(component.name) || model.node_by_name.contains(component.name))
    component.name += "_";
  component.kind = static_cast<int>(model.kinds.size());
  component.place = input->place;
  input->value = pool.symbol(component.name + ".value");
  model.component_by_name[component.name] = static_cast<int>(model.components.size());
  model.kinds.push_back(std::move(kind));
  model.components.push_back(std::move(component));
}

}  // namespace tellegen
