// What both loops of classical Runge-Kutta steps have (rk4.cpp, iterated_rk4.cpp).
#pragma once

#include <memory>

#include "tellegen/simulate/integrator.h"

namespace tellegen {

// Where the minimal form has no formulas: Newton on all its unknowns at every stage.
std::unique_ptr<Integrator> iterated_rk4(const Problem& problem);

}  // namespace tellegen
