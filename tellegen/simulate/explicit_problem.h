// The explicit form of a minimal problem (equations/explicit_form.h): what rk4 runs on, and what leaves as
// model exchange.
//
//   w = ... in formulas, but for the few unknowns that are left to Newton's iteration;  z' = f(z, w, t)
#pragma once

#include <optional>
#include <vector>

#include "tellegen/equations/explicit_form.h"
#include "tellegen/simulate/minimal_problem.h"

namespace tellegen {

// Values at which pivots are judged: the start, places around it, and there with switches in their other
// position.
std::vector<ExprMap<double>> sample_points(const MinimalProblem& minimal, bool switched);

// Whether exponentials are among what must be iterated on: these take steps of limited length, which the
// explicit form has not.
bool has_iterated_exponentials(const MinimalProblem& minimal);

// Newton on what the explicit form leaves: tangent * change = residuals, solved in formulas.
struct NewtonFormulas {
  std::vector<Expr> change;  // one for each iterated unknown
  Expr error;                // the largest, in units of the tolerance: done where it is at most 1
};
// Appends what it needs to `list` and `pivots`; nothing where no acceptable pivot is left.
std::optional<NewtonFormulas> newton_formulas(Pool& pool, const ExplicitForm& form, double tolerance,
                                              std::vector<std::pair<Expr, Expr>>& list,
                                              std::vector<ExprMap<double>>& points,
                                              std::vector<Pivot>& pivots);

// The smallest of these pivots, each relative to the largest entry of its row; 1 where there are none.
Expr smallest_pivot(Pool& pool, const std::vector<Pivot>& pivots);

// A pivot chosen for other numbers is a good one for these where it is larger than this.
inline constexpr double least_good_pivot = 1e-4;

}  // namespace tellegen
