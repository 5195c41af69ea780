// A model whose clock is put forward: what it does from t = origin on, as a run from t = 0 on.
#pragma once

#include "tellegen/model/model.h"

namespace tellegen {

// Every function of time is taken at t + origin; initial values stay what they are, and hold at the origin.
// Sample times of discrete variables are counted from there.
Model with_time_origin(const Model& model, double origin);

}  // namespace tellegen
