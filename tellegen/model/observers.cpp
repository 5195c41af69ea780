#include "tellegen/model/observers.h"

namespace tellegen {
namespace {

// A kind with one parameter `value`, for this observer alone, and its component under a name that is free.
std::string add_observer(Model& model, Kind kind, std::string name, Expr value, const Place& place) {
  Component component;
  while (model.component_by_name.contains(name) || model.node_by_name.contains(name)) name += "_";
  component.name = name;
  component.kind = static_cast<int>(model.kinds.size());
  component.place = kind.place = place;
  KindParameter parameter;
  parameter.name = "value";
  parameter.any_unit = true;
  kind.parameters.push_back(std::move(parameter));
  component.values.push_back({value, 0.0, false, nullptr});
  model.component_by_name[name] = static_cast<int>(model.components.size());
  model.kinds.push_back(std::move(kind));
  model.components.push_back(std::move(component));
  return name;
}

}  // namespace

bool is_observer(const Kind& kind) { return kind.name.starts_with('('); }

std::string add_integral(Model& model, const std::string& name, Expr value, const Place& place) {
  Pool& pool = *model.pool;
  Kind kind;
  kind.name = "(integral)";
  kind.summary = "The integral of a value over the run.";
  const Expr total = pool.symbol("total");
  kind.variables.push_back({"total", "", "integral since t = 0", total});
  kind.equations.push_back({pool.symbol("der(total)") - pool.symbol("value"), "der(total) = value", 0});
  kind.initial.push_back({total, pool.number(0)});
  return add_observer(model, std::move(kind), name, value, place) + ".total";
}

std::string add_watch(Model& model, const std::string& name, Expr condition, const Place& place) {
  Pool& pool = *model.pool;
  Kind kind;
  kind.name = "(watch)";
  kind.summary = "Whether a condition has been true.";
  const Expr seen = pool.symbol("seen"), held = pool.symbol("held(seen)");
  kind.variables.push_back({"seen", "1", "1 once the condition has been true", seen});
  KindDiscrete discrete;
  discrete.held = held;
  discrete.start = pool.number(0);
  // A condition is a comparison or a number that is not zero; what was seen stays seen.
  discrete.update = pool.call("if", {pool.symbol("value"), pool.number(1), held});
  kind.discrete.push_back(discrete);
  kind.equations.push_back({seen - held, "seen = what was seen", 0});
  const Expr time = pool.symbol("time"), held_time = pool.symbol("held(time)");
  kind.variables.push_back({"time", "s", "when the condition was true first", time});
  KindDiscrete at;
  at.variable = 1;
  at.held = held_time;
  at.start = pool.number(0);
  at.update = pool.call(
      "if", {pool.symbol("value"), pool.call("if", {held, held_time, pool.symbol("t")}), held_time});
  kind.discrete.push_back(at);
  kind.equations.push_back({time - held_time, "time = when it was seen first", 0});
  return add_observer(model, std::move(kind), name, condition, place);
}

}  // namespace tellegen
