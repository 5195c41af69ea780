// Exponentials that Newton must not overshoot.
//
// limexp(u) is replaced by its tangent at a limited argument m, exp(m) (1 + u - m): exact once m = u, and
// never too steep before. m = junction_limit(u at the iterate, m of the iteration before).
#pragma once

#include <set>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct LimitedExponential {
  Expr argument;  // u
  Expr limited;   // symbol of m
};

// Rewrites the equations; innermost exponentials first, so that later arguments may contain earlier ones. An
// exponential of none of the variables stays as it is: Newton has nothing to overshoot there.
std::vector<LimitedExponential> limit_exponentials(Pool& pool, std::vector<Expr>& equations,
                                                   const std::set<Expr>& variables);

}  // namespace tellegen
