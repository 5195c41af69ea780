// Storage that ideal components couple rigidly: two inertias on a gear, a capacitor on either side of a
// transformer, one at the input and one at the output of an amplifier. Topology alone does not see it.
//
//   A x = s(t)        the linear equations without rates: balances, gears, resistors, sources
//   d = D x           the differentiated variables that the normal tree would make states
//
// A d whose row of D is a combination of A's rows and of other rows of D has no state of its own: it is that
// combination, and so is its rate. Found in numbers by sparse elimination, and only where a component couples
// two across (or two through) variables; everything else is left to the tree.
#pragma once

#include "tellegen/equations/storage.h"

namespace tellegen {

// `last`: states that are tried last, so that they rather than others turn out to have none.
void add_couplings(const EquationSystem& system, Storage& storage, std::span<const std::int32_t> last);

}  // namespace tellegen
