#include "tellegen/model/time_origin.h"

namespace tellegen {

Model with_time_origin(const Model& model, double origin) {
  if (origin == 0.0) return model;
  Model moved = model;
  Pool& pool = *model.pool;
  const Expr t = pool.symbol("t");
  const ExprMap<Expr> later{{t, t + pool.number(origin)}};
  const auto move = [&](Expr& e) {
    if (e && depends_on(e, t)) e = substitute(e, later);
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

}  // namespace tellegen
