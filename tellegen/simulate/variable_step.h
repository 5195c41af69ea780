// Steps of variable length under error control, on the compiled executors (implicit_stage.h): the default.
//
// The formula is an ESDIRK of fourth order (esdirk.h). Every step the embedded formula estimates the error of
// each differentiated variable, and the longest step that keeps it within the tolerance is taken. Newton
// begins from an extrapolation. Rows of results are solutions too: at a row inside a step the differentiated
// variables follow the cubic p through both ends with their rates,
//
//   der(d) = p'(t) + alpha (d - p(t))
//
// and the equations are solved once more, with the tangent of the step; so every row satisfies the network's
// laws. Events are found in such rows. Steps end at the breakpoints of sources and at samples
// (breakpoints.h). After whatever jumps, two backward Euler steps of a millionth of a step each give
// consistent values and rates: charge and flux are conserved in them, fast modes die out.
//
// Where Newton fails: without extrapolation, then shorter steps; where these come to nothing, everything but
// the states is found anew by gmin and source stepping (initial.h).
#pragma once

#include "tellegen/simulate/integrator.h"

namespace tellegen {

std::unique_ptr<Integrator> make_variable_step(const Problem& problem);

}  // namespace tellegen
