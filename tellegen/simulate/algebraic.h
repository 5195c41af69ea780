// A model without states: nothing to integrate, only equations that hold at every instant.
//
//   F(x, t) = 0        at every step and row, by Newton to its end, from the solution before
//
// Where Newton fails from there (a source has jumped, a branch of solutions has ended), the way is gone in
// shorter parts, and then the equations are solved without a guess, by gmin and source stepping as at the
// start. What changes between two steps and changes back is not seen. Discrete variables change at the
// instant at which their updates do, found by bisection.
#pragma once

#include <memory>

#include "tellegen/simulate/integrator.h"

namespace tellegen {

bool is_algebraic(const Problem& problem);
std::unique_ptr<Integrator> make_algebraic(const Problem& problem);

}  // namespace tellegen
