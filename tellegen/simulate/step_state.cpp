#include "tellegen/simulate/step_state.h"

#include <algorithm>
#include <cmath>

namespace tellegen {

StepState start_state(const Network& network, const InitialState& initial) {
  StepState state;
  put_start_state(network, initial, state);
  return state;
}

void put_start_state(const Network& network, const InitialState& initial, StepState& state) {
  const EquationSystem& system = *network.system;
  for (auto* list : {&state.value[0], &state.iterates, &state.previous}) list->clear();
  const auto value = [&](const Group& group, int s, std::int32_t m) {
    return symbol_value(group, s, m, initial.x);
  };
  for (const Rate& r : system.rates)
    state.value[0].push_back(value(system.groups[r.group], r.symbol, r.member));
  state.value[1] = state.value[2] = state.value[0];
  state.rate = initial.rates;
  state.held = initial.held;
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    const CondensedGroup& form = network.groups[g].form;
    if (!form.iterative()) continue;
    for (std::int32_t m = 0; m < group.size(); ++m) {
      for (int s : form.iterated) state.iterates.push_back(value(group, s, m));
      // The limited argument starts where the initial values put it.
      ExprMap<double> at{{group.time, 0.0}};
      for (std::size_t s = 0; s < group.symbols.size(); ++s)
        at[group.symbols[s].symbol] = value(group, static_cast<int>(s), m);
      for (std::size_t p = 0; p < group.parameters.size(); ++p) at[group.parameters[p]] = group.values[p][m];
      for (std::size_t k = 0; k < form.iterates.size(); ++k)
        at[form.iterates[k]] = value(group, form.iterated[k], m);
      for (const auto& x : form.exponentials) {
        at[x.previous] = 1e300;  // far away: the limit leaves the argument as it is unless it is large
        double u = 0.0;
        for (const Definition& d : form.definitions)
          if (d.symbol == x.limited) u = evaluate(d.value.args()[0], at);
        at[x.limited] = u;
        state.previous.push_back(u);
      }
    }
  }
}

Expr change_of_variable(Expr value, Expr iterate, double scale, double tolerance) {
  Pool& pool = value.pool();
  tolerance = std::max(tolerance, 1e-9);
  return pool.call("abs", {value - iterate}) / (tolerance * (pool.call("abs", {value}) + scale));
}

Expr change_of_exponential(Expr argument, Expr limited, double tolerance) {
  Pool& pool = argument.pool();
  const Expr far_off = pool.call("lt", {pool.call("max", {argument, limited}), pool.number(-30)});
  const Expr distance = pool.call("abs", {argument - limited}) / std::sqrt(tolerance);
  return pool.call("if", {far_off, pool.number(0), distance});
}

}  // namespace tellegen
