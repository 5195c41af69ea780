// Variable step and order, by SUNDIALS IDAS on the tableau with KLU: for reference solutions and events.
//
// Conditions of `if`, min, max, abs and the like are watched; where one changes sign the step ends there, and
// the integration restarts with consistent values. Outputs are taken at the samples.
#pragma once

#include "tellegen/simulate/integrator.h"

namespace tellegen {

bool has_adaptive();
std::unique_ptr<Integrator> make_adaptive(
    const Problem& problem);  // throws ModelError where it is not built in

}  // namespace tellegen
