// Problems of models whose parameters are inputs (model/parameter_inputs.h), so that they stay symbols in
// every form that is made of them.
#pragma once

#include "tellegen/simulate/integrator.h"

namespace tellegen {

// Starts where the model itself does: a search of its own would begin with parameters that are zero.
void start_like(Problem& problem, const EquationSystem& itself, const InitialState& start);

}  // namespace tellegen
