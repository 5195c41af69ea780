// A model with another clock.
#pragma once

#include "tellegen/model/model.h"

namespace tellegen {

// A clock that is put forward: what the model does from t = origin on, as a run from t = 0 on. Every function
// of time is taken at t + origin; initial values stay what they are, and hold at the origin. Sample times of
// discrete variables are counted from there.
Model with_time_origin(const Model& model, double origin);

// A clock of steps, of which step k lasts from times[k] to times[k + 1]: the run's t counts them. So readings
// at irregular times are at whole numbers, whatever the method.
Model with_clock(const Model& model, const std::vector<double>& times);

// Whether a model can have such a clock: nothing in it counts steps or seconds by itself (sampled variables,
// imported FMUs, mechanisms).
bool follows_any_clock(const Model& model);

}  // namespace tellegen
