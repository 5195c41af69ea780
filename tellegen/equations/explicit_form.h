// The minimal form solved as far as formulas go: 0 = g(z, w, t) as assignments w = ..., and the few unknowns
// that are left to Newton's iteration.
//
//   blocks of equations in the order in which they can be solved (matching, then strongly connected parts);
//   in a block every unknown that stands nowhere in its tangent is eliminated in formulas, by pivots that are
//   not small at any of the sample points; the others remain, with as many residuals.
//
// A machine's rates come out explicit, a saturated one keeps its main flux: one scalar. It disappoints where
// a block is large or its pivots change places during a run; then there is no explicit form and the caller
// iterates on everything.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tellegen/equations/minimal.h"

namespace tellegen {

// What was divided by, and the row it was chosen from.
struct Pivot {
  Expr chosen;
  std::vector<Expr> row;
};

struct ExplicitForm {
  // Symbols and their values, each in states, time, discrete variables, iterated unknowns and symbols before
  // it. The unknowns that were solved are among them.
  std::vector<std::pair<Expr, Expr>> solved;
  std::vector<Expr> iterated, residuals;  // residuals written out: in states, time and iterated unknowns only
  std::vector<Pivot> pivots;
};

// `points`: values of all symbols (states, unknowns, t, coefficients, discrete variables) at which pivots are
// judged.
std::optional<ExplicitForm> explicit_form(Pool& pool, const MinimalForm& minimal,
                                          std::vector<ExprMap<double>> points);

// Solves matrix * x = right in formulas, row by row and column by column chosen at the points: appends to
// `list` and `pivots` and returns x. Empty where no acceptable pivot is left.
std::vector<Expr> solve_in_formulas(Pool& pool, std::vector<std::vector<Expr>> matrix,
                                    std::vector<Expr> right, std::vector<std::pair<Expr, Expr>>& list,
                                    std::vector<ExprMap<double>>& points, std::vector<Pivot>& pivots);

}  // namespace tellegen
