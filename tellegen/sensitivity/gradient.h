// The derivatives of what is observed in one run, by whichever way costs least: what is asked for where
// nobody chose one.
#pragma once

#include "tellegen/sensitivity/run.h"

namespace tellegen {

// Along with the run, or where there are several parameters to each observed value and the method's steps
// have an adjoint that is compiled, back through them.
RunDerivatives gradient_run(const Model& model, const RunRequest& request);

}  // namespace tellegen
