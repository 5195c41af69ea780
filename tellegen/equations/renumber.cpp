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

void BakedNumbers::write(RowList& list, const NumberRows& numbers) const {
  for (const auto& [parameter, number] : parameters_)
    list.require(RowCheck::equal, numbers.parameters[parameter], number);
}

Renumbering::Renumbering(EquationSystem& system) : system_(system) {
  const Model& model = *system.model;
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    const Kind& kind = model.kinds[group.kind];
    for (std::size_t slot = 0; slot < group.parameters.size() - group.held.size(); ++slot) {
      const std::string& name = group.parameters[slot].name();
      const auto called = [&](const auto& p) { return p.name == name; };
      const auto of_model = [&](const ModelParameter& p) {
        return name.size() == p.name.size() + 1 && name.ends_with(p.name);  // "$R1"
      };
      const auto own = std::find_if(kind.parameters.begin(), kind.parameters.end(), called);
      const bool is_own = own != kind.parameters.end();
      const auto index = is_own ? own - kind.parameters.begin()
                                : std::find_if(model.parameters.begin(), model.parameters.end(), of_model) -
                                      model.parameters.begin();
      for (std::int32_t m = 0; m < group.size(); ++m)
        numbers_.push_back({static_cast<std::int32_t>(g), static_cast<std::int32_t>(slot), m,
                            is_own ? group.components[m] : -1, static_cast<int>(index)});
    }
  }
}

SystemRows Renumbering::write(const NumberRows& numbers) const {
  SystemRows rows;
  for (const Group& group : system_.groups) {
    auto& values = rows.emplace_back();
    for (const std::vector<double>& of_members : group.values)
      values.emplace_back(of_members.begin(), of_members.end());
  }
  for (const Number& n : numbers_)
    rows[n.group][n.slot][n.member] =
        n.component >= 0 ? numbers.components[n.component][n.index] : numbers.parameters[n.index];
  return rows;
}

bool Renumbering::take_over() {
  const Model& model = *system_.model;
  for (const Number& n : numbers_)
    system_.groups[n.group].values[n.slot][n.member] =
        n.component >= 0 ? model.components[n.component].values[n.index].number
                         : model.parameters[n.index].number;
  for (Discrete& d : system_.discrete) {
    Group& group = system_.groups[d.group];
    const Component& component = model.components[group.components[d.member]];
    const KindDiscrete& said = model.kinds[component.kind].discrete[d.held];
    d.start = group.values[held_slot(system_, d)][d.member] = constant(model, component, said.start);
    if (said.every && constant(model, component, said.every) != d.every) return false;
  }
  return true;
}

}  // namespace tellegen
