// Functions of time that a linear system can generate itself, piece by piece:
//
//   s(t) = sum of  t^d e^(lambda t) (c cos(omega t) + s sin(omega t))        d = 0 or 1
//
// Constants, ramps, sines, decaying sines, exponentials. Choices (`if`, min, max, abs, comparisons),
// steps (floor, ceil, sign, mod) and tables with straight pieces are resolved for one interval; the end of
// that interval is found as well, where it is a condition affine in t.
#pragma once

#include <optional>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct TimeTerm {
  double lambda = 0.0, omega = 0.0;
  int degree = 0;
  double cosine = 0.0, sine = 0.0;  // sine is unused where omega is 0
};
using TimeFunction = std::vector<TimeTerm>;

struct TimePiece {
  TimeFunction function;
  double until;  // valid from `at` to here; infinity: for ever
};

// The piece that holds just after time `at`; nothing where the expression is not of this class. `numbers`: of
// symbols other than `t`.
std::optional<TimePiece> time_piece(Expr e, double at, const ExprMap<double>& numbers = {});

}  // namespace tellegen
