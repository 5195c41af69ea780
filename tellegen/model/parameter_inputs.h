// Parameters of a model that become something else: inputs, states, formulas.
#pragma once

#include <string>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

// An input for each of these names that is a parameter and no input yet, with what it stands for: parameter's
// symbol, input's symbol. The parameters still stand everywhere.
ExprMap<Expr> add_parameter_inputs(Model& model, const std::vector<std::string>& names);

// Puts these into everything that is evaluated while the model runs, and what parameters follow from those
// replaced, written out; to be put into what is evaluated beside the model, too, it is given back. Parameters
// keep their numbers. Throws ModelError (T620) where one is the period of something sampled.
ExprMap<Expr> replace_parameters(Model& model, ExprMap<Expr> replacements);

}  // namespace tellegen
