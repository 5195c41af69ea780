// The adjoint of a run of small implicit steps as compiled code: the transpose of the very steps taken
// (program/step_reverse.h), for what is common and where kernels for each group would cost more than their
// work. What it leaves to fixed_adjoint.cpp: events, choices that jump, extremes, ends that move, larger
// networks.
#pragma once

#include <optional>

#include "tellegen/sensitivity/run.h"

namespace tellegen {

// Empty where it is not for this run. `kept_bytes`: of places; a run that has more of them is left alone.
std::optional<RunDerivatives> whole_adjoint_run(const Model& model, const RunRequest& request,
                                                double kept_bytes = 256e6);

}  // namespace tellegen
