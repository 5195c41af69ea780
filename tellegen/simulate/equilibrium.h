// Whether a state of rest is stable: a run that begins at one and is moved by nothing stays there, where
// the slightest disturbance of the real thing would grow (an oscillator without a start).
//
//   A y + B S (y - x)/h = 0      backward Euler for small deviations, A = dF/dx, B = dF/dr, S x
//   differentiated
//
// again and again with one h is a power iteration on the modes 1/(1 - h lambda): those that grow leave the
// others behind, for some h between the run's length and a millionth of it. Found is what runs away, such as
// a bistable; a tank that swings up slowly is not told from one that does not.
#pragma once

#include <optional>

#include "tellegen/simulate/initial.h"

namespace tellegen {

// The rate in 1/s at which disturbances of the state grow, where they grow e-fold within `stop` seconds;
// nothing where they do not, or where it cannot be said.
std::optional<double> growth_of_disturbances(const EquationSystem& system, const InitialState& state,
                                             double stop);

}  // namespace tellegen
