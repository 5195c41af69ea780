#include "tellegen/model/time_origin.h"

#include <algorithm>
#include <cmath>

#include "tellegen/symbolic/table.h"

namespace tellegen {
namespace {

// `clock`: what was t. `length`, where it is given: how much of it goes by while the new t grows by one.
Model with_time(const Model& model, Expr clock, Expr length) {
  Model moved = model;
  Pool& pool = *model.pool;
  const Expr t = pool.symbol("t");
  const auto move = [&](Expr& e) {
    if (!e) return;
    ExprMap<Expr> other;
    for (Expr s : symbols_of(std::span(&e, 1)))
      if (s == t)
        other[s] = clock;
      else if (length && s.name().starts_with("der("))
        other[s] = s / length;
    if (!other.empty()) e = substitute(e, other);
  };
  for (ModelInput& input : moved.inputs) move(input.value);
  for (Component& component : moved.components)
    for (ParameterValue& value : component.values) move(value.value);
  for (Kind& kind : moved.kinds) {
    for (KindEquation& equation : kind.equations) move(equation.residual);
    for (KindEquation& equation : kind.steady) move(equation.residual);
    for (KindDiscrete& discrete : kind.discrete) move(discrete.update);
    for (KindOutput& output : kind.outputs) move(output.value);
  }
  for (ModelOutput& output : moved.outputs) move(output.value);
  for (ModelInitial& initial : moved.initial) move(initial.condition);
  for (ModelObjective& objective : moved.objectives) move(objective.value);
  for (auto& [name, formula] : moved.formulas) move(formula);
  move(moved.simulation.stop_when);
  return moved;
}

}  // namespace

Model with_time_origin(const Model& model, double origin) {
  if (origin == 0.0) return model;
  return with_time(model, model.pool->symbol("t") + model.pool->number(origin), Expr());
}

Model with_clock(const Model& model, const std::vector<double>& times) {
  Pool& pool = *model.pool;
  std::vector<double> steps, lengths;
  for (std::size_t k = 0; k < times.size(); ++k) {
    steps.push_back(static_cast<double>(k));
    lengths.push_back(k + 1 < times.size() ? times[k + 1] - times[k] : lengths.back());
  }
  const Expr t = pool.symbol("t");
  return with_time(model, pool.lookup(make_table("clock", steps, times, Interpolation::linear), 0, t),
                   pool.lookup(make_table("length of a step", steps, lengths, Interpolation::hold), 0, t));
}

bool follows_any_clock(const Model& model) {
  return model.mechanism.empty() && std::all_of(model.kinds.begin(), model.kinds.end(), [](const Kind& kind) {
           return !kind.fmu && std::all_of(kind.discrete.begin(), kind.discrete.end(),
                                           [](const KindDiscrete& d) { return !d.every; });
         });
}

}  // namespace tellegen
