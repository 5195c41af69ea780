// What a computer samples from the machine, as states.
//
// A discrete variable that is sampled and follows from variables of the model (the integral part of a
// sampled controller) is as uncertain as they are. It becomes a state of its component that stands still
// between samples, and what it becomes at each of them is kept beside the model. Discrete variables that only
// choose (a switch, a counter) stay what they are: nothing small changes them.
#pragma once

#include <string>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

struct SampledState {
  std::string variable;  // its full name
  Expr update;           // in full names
  double every = 0.0;    // as Discrete::every
};

// Rewrites the kinds of the model.
std::vector<SampledState> take_samples_as_states(Model& model);

}  // namespace tellegen
