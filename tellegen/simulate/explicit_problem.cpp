#include "tellegen/simulate/explicit_problem.h"

#include <cmath>

#include "tellegen/equations/exponentials.h"

namespace tellegen {

std::vector<ExprMap<double>> sample_points(const MinimalProblem& minimal, bool switched) {
  const MinimalForm& form = minimal.form;
  Pool& pool = *minimal.system.model->pool;
  std::vector<ExprMap<double>> points;
  std::uint64_t seed = 20231;
  const auto random = [&] {  // between -1 and 1, the same everywhere
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(seed >> 11) * 0x1p-52 - 1.0;
  };
  for (int k = 0; k < 6; ++k) {
    ExprMap<double> at{{pool.symbol("t"), minimal.problem.step * 17.3 * k}};
    const std::vector<double>& x = minimal.problem.initial.x;
    for (std::size_t i = 0; i < form.states.size(); ++i)
      at[form.states[i]] = x[i] + (k == 0 ? 0.0 : random() * (1.0 + 0.5 * std::abs(x[i])));
    for (std::size_t i = 0; i < form.unknowns.size(); ++i)
      at[form.unknowns[i]] = x[form.states.size() + i] * (k == 0 ? 1.0 : 1.0 + 0.3 * random());
    for (std::size_t i = 0; i < form.parameters.size(); ++i) at[form.parameters[i]] = form.values[i];
    for (std::size_t i = 0; i < minimal.system.discrete.size(); ++i) {
      const double held = minimal.problem.initial.held[i];
      at[discrete_symbol(minimal.system, static_cast<std::int32_t>(i))] =
          switched && k % 2 == 1 ? (held == 0.0 ? 1.0 : 0.0) : held;
    }
    points.push_back(std::move(at));
  }
  return points;
}

bool has_iterated_exponentials(const MinimalProblem& minimal) {
  std::vector<Expr> residuals = minimal.form.residuals;
  return !limit_exponentials(*minimal.system.model->pool, residuals,
                             {minimal.form.unknowns.begin(), minimal.form.unknowns.end()})
              .empty();
}

std::optional<NewtonFormulas> newton_formulas(Pool& pool, const ExplicitForm& form, double tolerance,
                                              std::vector<std::pair<Expr, Expr>>& list,
                                              std::vector<ExprMap<double>>& points,
                                              std::vector<Pivot>& pivots) {
  std::vector<std::vector<Expr>> tangent;
  for (Expr r : form.residuals) tangent.push_back(gradient(r, form.iterated));
  NewtonFormulas newton{solve_in_formulas(pool, tangent, form.residuals, list, points, pivots),
                        pool.number(0)};
  if (newton.change.empty()) return std::nullopt;
  for (std::size_t k = 0; k < newton.change.size(); ++k)
    newton.error =
        pool.call("max", {newton.error, pool.call("abs", {newton.change[k]}) /
                                            (tolerance * (pool.call("abs", {form.iterated[k]}) + 1e-3))});
  return newton;
}

Expr smallest_pivot(Pool& pool, const std::vector<Pivot>& pivots) {
  Expr smallest = pool.number(1);
  for (const Pivot& pivot : pivots) {
    Expr largest = pool.number(0);
    for (Expr entry : pivot.row) largest = pool.call("max", {largest, pool.call("abs", {entry})});
    smallest = pool.call("min", {smallest, pool.call("abs", {pivot.chosen}) / largest});
  }
  return smallest;
}

}  // namespace tellegen
