#include "tellegen/estimate/sampled_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tellegen {
namespace {

// Whether what a discrete variable becomes changes a little with what others are; and with itself, where it
// is one of those already found.
bool follows_smoothly(const Kind& kind, Expr update, const ExprMap<char>& found) {
  ExprMap<char> discrete;
  for (const KindDiscrete& d : kind.discrete)
    discrete[d.held] = discrete[kind.variables[d.variable].symbol] = 1;
  for (Expr s : symbols_of(std::span(&update, 1)))
    if ((!discrete.contains(s) || found.contains(s)) && !derivative(update, s).is_number(0)) return true;
  return false;
}

// Of the kind's discrete variables, those that become states.
std::vector<char> sampled_states_of(const Kind& kind) {
  std::vector<char> chosen(kind.discrete.size(), 0);
  ExprMap<char> found;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const KindDiscrete& d = kind.discrete[k];
      if (chosen[k] || !d.every || !follows_smoothly(kind, d.update, found)) continue;
      chosen[k] = more = true;
      found[d.held] = found[kind.variables[d.variable].symbol] = 1;
    }
  }
  return chosen;
}

double number_of(const Model& model, const Component& component, Expr value) {
  const Kind& kind = model.kinds[component.kind];
  ExprMap<double> numbers;
  for (std::size_t k = 0; k < kind.parameters.size(); ++k)
    numbers[model.pool->symbol(kind.parameters[k].name)] = component.values[k].number;
  return evaluate(value, numbers);
}

// Held values that are states now: their equation says that they stand still.
void stand_still(Kind& kind, std::vector<KindDiscrete>& samples) {
  ExprMap<Expr> held;
  for (const KindDiscrete& d : samples) {
    const KindVariable& variable = kind.variables[d.variable];
    Pool& pool = variable.symbol.pool();
    held[d.held] = variable.symbol;
    kind.initial.push_back({variable.symbol, d.start});
    for (KindEquation& e : kind.equations)
      if (e.residual == variable.symbol - d.held)
        e = {pool.symbol(fmt::format("der({})", variable.name)),
             fmt::format("{} stands still between samples", variable.name), e.line};
  }
  for (KindEquation& e : kind.equations) e.residual = substitute(e.residual, held);
  for (KindEquation& e : kind.steady) e.residual = substitute(e.residual, held);
  for (KindOutput& o : kind.outputs) o.value = substitute(o.value, held);
  for (auto* list : {&kind.discrete, &samples})
    for (KindDiscrete& d : *list) d.update = substitute(d.update, held);
}

}  // namespace

std::vector<SampledState> take_samples_as_states(Model& model) {
  std::vector<std::vector<KindDiscrete>> samples(model.kinds.size());
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    Kind& kind = model.kinds[k];
    const std::vector<char> chosen = sampled_states_of(kind);
    std::vector<KindDiscrete> others;
    for (std::size_t d = 0; d < chosen.size(); ++d)
      (chosen[d] ? samples[k] : others).push_back(kind.discrete[d]);
    kind.discrete = std::move(others);
    stand_still(kind, samples[k]);
  }
  std::vector<SampledState> states;
  for (std::size_t c = 0; c < model.components.size(); ++c) {
    const Component& component = model.components[c];
    for (const KindDiscrete& d : samples[static_cast<std::size_t>(component.kind)]) {
      const KindVariable& variable = model.kinds[component.kind].variables[d.variable];
      states.push_back({component.name + "." + variable.name,
                        in_full_names(model, static_cast<int>(c), d.update),
                        number_of(model, component, d.every)});
    }
  }
  return states;
}

}  // namespace tellegen
