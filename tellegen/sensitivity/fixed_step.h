#pragma once

#include "tellegen/sensitivity/run.h"

namespace tellegen {

// Forward and adjoint derivatives of runs with tr, trnp and bdf1 to bdf3, in whatever form: the discretised
// equations are the same.
RunDerivatives fixed_forward_run(const Model& model, const RunRequest& request);
RunDerivatives fixed_adjoint_run(const Model& model, const RunRequest& request);

}  // namespace tellegen
