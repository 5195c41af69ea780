// Unknown angles that have a formula. Where one equation of an explicit form is
//
//   A sin x + B cos x + C = 0,      A, B, C free of x,      D = A cos x - B sin x its slope,
//
// its sine and cosine are
//
//   D = +-sqrt(A^2 + B^2 - C^2),    sin x = -(A C + B D)/(A^2 + B^2),    cos x = (A D - B C)/(A^2 + B^2)
//
// with the sign that D has at the start: a circuit cannot pass from one branch to the other without D = 0, a
// toggle, where states no longer decide it. The rod of a slider-crank so costs a root instead of an
// iteration with sines. The angle itself is atan2 and the turns that were made, which are counted from place
// to place as the sine changes its sign behind.
#pragma once

#include <vector>

#include "tellegen/equations/explicit_form.h"

namespace tellegen {

struct ClosedAngle {
  Expr unknown;
  Expr sine, cosine;                        // symbols
  std::vector<std::pair<Expr, Expr>> list;  // what leads to them, in states, time and angles closed before
  Expr slope;                               // D/sqrt(A^2 + B^2) in the unknown itself
  bool rising = false;                      // its sign at the start
  Expr sine_before, turns_before;           // symbols of what the last place had
  Expr cosine_before, turns;
  ExprMap<Expr> in_symbols;  // sin x and cos x
};

// Takes those unknowns out of the form's iterated ones and writes the other residuals in their sines and
// cosines. `points` learn the values of these symbols; the first is the start.
std::vector<ClosedAngle> close_angles(Pool& pool, ExplicitForm& form, std::vector<ExprMap<double>>& points);

}  // namespace tellegen
