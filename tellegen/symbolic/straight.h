// Where a constant slope does not make a straight line.
#pragma once

#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

// Symbols inside calls and lookups of e, but for the branches of `if`: in these e may be no straight line
// although its slope is a number (a comparison, floor, mod). Whoever takes e for linear in a symbol must find
// the symbol neither in the slopes nor here.
std::vector<Expr> symbols_in_calls(Expr e);

}  // namespace tellegen
