#include "tellegen/model/parameter_inputs.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {
namespace {

// Whether a kind's equations need the parameter; otherwise (an initial value) its number does.
bool in_equations(const Kind& kind, const std::string& parameter) {
  std::vector<Expr> roots;
  for (const KindEquation& e : kind.equations) roots.push_back(e.residual);
  for (const KindOutput& o : kind.outputs) roots.push_back(o.value);
  for (const KindDiscrete& d : kind.discrete) roots.push_back(d.update);
  for (Expr s : symbols_of(roots))
    if (s.name() == parameter) return true;
  return false;
}

bool is_period(const Kind& kind, const std::string& parameter) {
  for (const KindDiscrete& d : kind.discrete)
    if (d.every)
      for (Expr s : symbols_of(std::span(&d.every, 1)))
        if (s.name() == parameter) return true;
  return false;
}

bool mentions(Expr value, const ExprMap<Expr>& replacements) {
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (replacements.contains(s)) return true;
  return false;
}

}  // namespace

ExprMap<Expr> add_parameter_inputs(Model& model, const std::vector<std::string>& names) {
  ExprMap<Expr> replacements;
  for (const std::string& name : names) {
    if (std::any_of(model.inputs.begin(), model.inputs.end(),
                    [&](const ModelInput& i) { return i.name == name; }))
      continue;
    for (const ModelParameter& p : model.parameters)
      if (p.name == name) {
        model.inputs.push_back(
            {name, p.unit, model.pool->symbol("input(" + name + ")"), model.pool->number(p.number), p.place});
        replacements[p.symbol] = model.inputs.back().symbol;
      }
  }
  return replacements;
}

ExprMap<Expr> replace_parameters(Model& model, ExprMap<Expr> replacements) {
  // Parameters that follow from those replaced are written out.
  for (bool more = true; more;) {
    more = false;
    for (const ModelParameter& p : model.parameters)
      if (!replacements.contains(p.symbol) && mentions(p.value, replacements)) {
        replacements[p.symbol] = substitute(p.value, replacements);
        more = true;
      }
  }
  for (Component& component : model.components)
    for (std::size_t k = 0; k < component.values.size(); ++k) {
      ParameterValue& v = component.values[k];
      const Kind& kind = model.kinds[component.kind];
      if (!v.value || v.table || !mentions(v.value, replacements)) continue;
      const std::string& name = kind.parameters[k].name;
      if (is_period(kind, name))
        throw ModelError(
            {component.place,
             "T620",
             fmt::format("'{}' of '{}' cannot be estimated: it is a sampling time", name, component.name),
             {}});
      if (!in_equations(kind, name)) continue;
      v.value = substitute(v.value, replacements);
      v.constant = false;
    }
  for (ModelInput& input : model.inputs) input.value = substitute(input.value, replacements);
  for (ModelOutput& output : model.outputs) output.value = substitute(output.value, replacements);
  for (auto& [name, formula] : model.formulas) formula = substitute(formula, replacements);
  return replacements;
}

}  // namespace tellegen
