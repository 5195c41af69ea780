// Runs of the model with its sensitivity graph drawn beside it (equations/sensitivity_graph.h): for methods
// that know nothing of derivatives, and for second derivatives.
#pragma once

#include "tellegen/sensitivity/run.h"

namespace tellegen {

// rk4 and exact. Throws ModelError (T341) where discrete variables change or the end of the run moves.
RunDerivatives combined_forward_run(const Model& model, const RunRequest& request);

// d2(observed)/dp dq, [observed][p][q], as `gradient`; `values` are the first derivatives, [observed][p]. Of
// values at the end of a run that ends at a fixed time; throws ModelError (T341) for others.
RunDerivatives second_order_run(const Model& model, const RunRequest& request);

}  // namespace tellegen
