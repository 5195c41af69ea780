// Components that a study adds to a model to see what it asks for: integrals as states, conditions as events.
// Like an input from outside, each is a component without edges, so everything downstream knows it already.
#pragma once

#include <string>

#include "tellegen/model/model.h"

namespace tellegen {

// Kinds of such components: no part of what the user drew. Their names are none that a file could have.
bool is_observer(const Kind& kind);

// The full name of a variable that is the integral of a value from t = 0 on.
std::string add_integral(Model& model, const std::string& name, Expr value, const Place& place);

// The name of a component with two discrete variables: `seen`, which is 0, and 1 from the moment on at which
// the condition is true; and `time`, that moment (0 until then).
std::string add_watch(Model& model, const std::string& name, Expr condition, const Place& place);

}  // namespace tellegen
