// The adjoint of a run by rk4: the transpose of the very steps taken (program/rk4_reverse.h).
//
// The explicit form is made of the model with the parameters as inputs, so that they stay symbols in it;
// where the slopes were taken is kept for the way back, as far as memory goes, and from checkpoints beyond.
// The start, and what its values owe to the parameters, is differentiated as for every other method.
#pragma once

#include <optional>
#include <string>

#include "tellegen/sensitivity/run.h"

namespace tellegen {

// Empty where there is none, with the reason: discrete variables that change, slow states, no explicit form.
// `kept_bytes`: of places; a run that has more of them is taken again from checkpoints.
std::optional<RunDerivatives> explicit_adjoint_run(const Model& model, const RunRequest& request,
                                                   std::string& why_not, double kept_bytes = 64e6);

}  // namespace tellegen
