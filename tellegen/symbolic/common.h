// Common subexpressions by name: t1 = b + c; a + sin(t1), 3*t1.
//
// Equal subexpressions are one node already; here the nodes that are used more than once get a symbol, so
// that what is printed is computed once. Names, numbers, -x and 1/x of a name are not worth one. A part of a
// longer sum or product is not found: a + b + c does not contain b + c.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct NamedExpressions {
  std::vector<std::pair<Expr, Expr>> named;  // symbol and value, each in those before it
  std::vector<Expr> roots;                   // in them
};

// Names are t1, t2, ..., but for those that are symbols already.
NamedExpressions name_common(std::span<const Expr> roots);

// What the formulas cost as they are written: functions, additions, multiplications (divisions among them),
// and an assignment for each name.
struct Cost {
  std::int64_t functions = 0, additions = 0, multiplications = 0, assignments = 0;
};
Cost cost_of(std::span<const Expr> roots);  // written out, nothing named
Cost cost_of(const NamedExpressions& expressions);

// cos and sin of arguments that differ by a number, written in one sine and one cosine: the voltages of three
// phases cost two library calls instead of three or six.
ExprMap<Expr> shared_sines(Pool& pool, std::span<const Expr> roots);

}  // namespace tellegen
