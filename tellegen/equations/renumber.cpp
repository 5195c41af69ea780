#include "tellegen/equations/renumber.h"

#include <algorithm>

namespace tellegen {
namespace {

// Of the formulas that a component's kind has for a discrete variable: a formula of the component's numbers.
double constant(const Model& model, const Component& component, Expr value) {
  const Kind& kind = model.kinds[component.kind];
  ExprMap<double> numbers;
  for (std::size_t k = 0; k < kind.parameters.size(); ++k)
    numbers[model.pool->symbol(kind.parameters[k].name)] = component.values[k].number;
  return evaluate(value, numbers);
}

}  // namespace

BakedNumbers::BakedNumbers(const EquationSystem& system, std::span<const Expr> formulas) {
  const Model& model = *system.model;
  std::vector<Expr> all(formulas.begin(), formulas.end());
  for (std::size_t c = 0; c < model.components.size(); ++c)
    for (const KindDiscrete& d : model.kinds[model.components[c].kind].discrete)
      all.push_back(in_full_names(model, static_cast<int>(c), d.update));
  for (Expr& formula : all) formula = expand_names(model, formula);
  const auto used = symbols_of(all);
  for (std::size_t p = 0; p < model.parameters.size(); ++p)
    if (std::find(used.begin(), used.end(), model.parameters[p].symbol) != used.end())
      parameters_.push_back({static_cast<int>(p), model.parameters[p].number});
}

bool BakedNumbers::same(const Model& model) const {
  return std::all_of(parameters_.begin(), parameters_.end(),
                     [&](const auto& baked) { return model.parameters[baked.first].number == baked.second; });
}

bool renumber(EquationSystem& system) {
  const Model& model = *system.model;
  for (Group& group : system.groups) {
    const Kind& kind = model.kinds[group.kind];
    for (std::size_t slot = 0; slot < group.parameters.size() - group.held.size(); ++slot) {
      const std::string& name = group.parameters[slot].name();
      const auto called = [&](const auto& p) { return p.name == name; };
      if (const auto own = std::find_if(kind.parameters.begin(), kind.parameters.end(), called);
          own != kind.parameters.end()) {
        const auto k = own - kind.parameters.begin();
        for (std::int32_t m = 0; m < group.size(); ++m)
          group.values[slot][m] = model.components[group.components[m]].values[k].number;
        continue;
      }
      const auto of_model = [&](const ModelParameter& p) {
        return name.size() == p.name.size() + 1 && name.ends_with(p.name);  // "$R1"
      };
      const auto p = std::find_if(model.parameters.begin(), model.parameters.end(), of_model);
      std::fill(group.values[slot].begin(), group.values[slot].end(), p->number);
    }
  }
  for (Discrete& d : system.discrete) {
    Group& group = system.groups[d.group];
    const Component& component = model.components[group.components[d.member]];
    const KindDiscrete& said = model.kinds[component.kind].discrete[d.held];
    d.start = group.values[held_slot(system, d)][d.member] = constant(model, component, said.start);
    if (said.every && constant(model, component, said.every) != d.every) return false;
  }
  return true;
}

}  // namespace tellegen
