#include "tellegen/equations/parameter_derivative.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

Expr own_symbol(const Model& model, const Kind& kind, std::size_t k) {
  return model.pool->symbol(kind.parameters[k].name);
}

[[noreturn]] void refuse(const Model& model, std::string message, std::vector<std::string> details) {
  FaultList faults;
  faults.add({model.file.string(), 0}, "T220", std::move(message), std::move(details));
  faults.throw_if_any();
  throw ModelError(std::vector<Fault>{});  // not reached
}

std::vector<std::string> parameter_names(const Model& model, std::string_view near) {
  std::vector<std::string> names;
  for (const ModelParameter& p : model.parameters) names.push_back(p.name);
  const std::string head(near.substr(0, near.rfind('.')));
  const auto add = [&](const Component& c) {
    for (const KindParameter& p : model.kinds[c.kind].parameters) names.push_back(c.name + "." + p.name);
  };
  if (const auto c = model.component_by_name.find(head); c != model.component_by_name.end())
    add(model.components[c->second]);
  else if (model.components.size() < 5'000)
    std::for_each(model.components.begin(), model.components.end(), add);
  return names;
}

}  // namespace

std::string sensitivity_name(std::string_view variable, std::string_view parameter) {
  if (variable.starts_with("der(") && variable.ends_with(")"))
    return "der(" + sensitivity_name(variable.substr(4, variable.size() - 5), parameter) + ")";
  std::string name = std::string(variable) + "_" + std::string(parameter);
  std::replace(name.begin() + static_cast<std::ptrdiff_t>(variable.size()), name.end(), '.', '_');
  return name;
}

ParameterRef find_parameter(const Model& model, std::string_view name) {
  for (std::size_t k = 0; k < model.parameters.size(); ++k) {
    const ModelParameter& p = model.parameters[k];
    if (p.name == name) return {p.name, p.unit, p.number, static_cast<int>(k), -1, -1};
  }
  const auto dot = name.rfind('.');
  const auto found = dot == std::string_view::npos
                         ? model.component_by_name.end()
                         : model.component_by_name.find(std::string(name.substr(0, dot)));
  if (found != model.component_by_name.end()) {
    const Component& component = model.components[found->second];
    const Kind& kind = model.kinds[component.kind];
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      const KindParameter& p = kind.parameters[k];
      if (p.name != name.substr(dot + 1)) continue;
      const ParameterValue& v = component.values[k];
      if (p.table) refuse(model, fmt::format("'{}' is a table, and has no derivative as a whole", name), {});
      if (!v.value)
        refuse(model, fmt::format("'{}' is not given in the model", name),
               {fmt::format("give '{}' of '{}' a value to differentiate at", p.name, component.name)});
      if (!v.constant)
        refuse(model, fmt::format("'{}' varies with time or with the model's variables", name),
               {"take a parameter that its expression is written in"});
      return {std::string(name), p.unit, v.number, -1, found->second, static_cast<int>(k)};
    }
  }
  const auto known = parameter_names(model, name);
  refuse(model, fmt::format("there is no parameter '{}'", name),
         {did_you_mean(name, known), known.size() <= 20 ? "parameters: " + joined(known) : ""});
}

ParameterDerivative::ParameterDerivative(const Model& model, ParameterRef parameter)
    : model_(model), parameter_(std::move(parameter)) {
  Pool& pool = *model.pool;
  known_[pool.symbol("t")] = pool.number(0.0);
  for (const ModelParameter& p : model.parameters) values_[p.symbol] = p.value;
  for (const ModelInput& i : model.inputs) values_[i.symbol] = i.value;
  if (parameter_.parameter >= 0) known_[model.parameters[parameter_.parameter].symbol] = pool.number(1.0);
}

Expr ParameterDerivative::of_symbol(Expr symbol) {
  if (const auto found = known_.find(symbol); found != known_.end()) return found->second;
  if (const auto written = values_.find(symbol); written != values_.end())
    return known_[symbol] = of(written->second);  // never in a circle: the reader checks
  return model_.pool->symbol(sensitivity_name(symbol.name(), parameter_.name));
}

Expr ParameterDerivative::of(Expr value) {
  const std::vector<Expr> symbols = symbols_of(std::span(&value, 1));
  const std::vector<Expr> partial = gradient(value, symbols);
  std::vector<Expr> terms;
  for (std::size_t k = 0; k < symbols.size(); ++k)
    if (!partial[k].is_number(0.0)) terms.push_back(partial[k] * of_symbol(symbols[k]));
  return model_.pool->add(terms);
}

Expr ParameterDerivative::of_component(int c, int k) {
  const auto [found, is_new] = components_.try_emplace({c, k});
  if (!is_new) return found->second;
  Pool& pool = *model_.pool;
  const Component& component = model_.components[c];
  const Kind& kind = model_.kinds[component.kind];
  const Expr value = component.values[k].value;
  Expr result = pool.number(0.0);
  if (c == parameter_.component && k == parameter_.index) {
    result = pool.number(1.0);
  } else if (value && !component.values[k].table) {
    // A default written in the kind's other parameters follows them.
    const Expr fallback = kind.parameters[k].fallback;
    ExprMap<Expr> values;
    std::vector<Expr> terms;
    if (c == parameter_.component && fallback && !fallback.is_number())
      for (std::size_t other = 0; other < kind.parameters.size(); ++other)
        if (component.values[other].value)
          values[own_symbol(model_, kind, other)] = component.values[other].value;
    if (!values.empty() && substitute(fallback, values) == value) {
      for (std::size_t other = 0; other < kind.parameters.size(); ++other) {
        const Expr slope = derivative(fallback, own_symbol(model_, kind, other));
        if (!slope.is_number(0.0))
          terms.push_back(substitute(slope, values) * of_component(c, static_cast<int>(other)));
      }
      result = pool.add(terms);
    } else {
      result = of(value);
    }
  }
  return components_[{c, k}] = result;
}

}  // namespace tellegen
