// What a number of a component is for.
#pragma once

#include "tellegen/equations/slopes.h"

namespace tellegen {

// In the equations; otherwise it says how the run begins, and no more.
bool stands_in_equations(const EquationSystem& system, const GroupSlope& number);

}  // namespace tellegen
