// A discrete variable whose update is delayed(x, T, resting) is what x was a time T ago; while the discrete
// variable `resting` is not 0, which is so until the start of a run is known, equations have x in its place.
// Who runs the model keeps the history (simulate/delays.h).
#pragma once

#include "tellegen/symbolic/expression.h"

namespace tellegen {

inline bool is_delayed(Expr update) {
  return update && update.op() == Op::call && update.function().name == "delayed";
}

}  // namespace tellegen
