// The sensitivity graph: a second graph, isomorphic to the model's, whose across and through variables are
// the derivatives of the model's with respect to a parameter, at fixed time.
//
//   A tau = 0, B alpha = 0             =>  A tau_p = 0, B alpha_p = 0         the same topology
//   f(alpha, tau, x, der(...), p) = 0  =>  the sum of (df/ds)*s_p + df/dp = 0  component by component
//
// with_sensitivities() draws both graphs as one model: every component has, beside its own edges, a copy of
// them for each parameter between copied nodes, with the differentiated terminal equations. Copies are
// variables like others, in domains of their own: `c1.v_R1` is d c1.v/d R1 (sensitivity_name). Outputs,
// [initial] and initial values of kinds are differentiated too. What runs a model runs the result, by any
// method; transformed again it has second derivatives (what is already there is not made twice).
//
// A discrete variable's sensitivity is zero here: it does not see that events move with the parameter. A kink
// (abs, min, a comparison) has the derivative of the side it is on.
//
// Banerjee and McPhee, Graph-theoretic sensitivity analysis of multibody systems, 2013.
#pragma once

#include <span>
#include <string>

#include "tellegen/equations/parameter_derivative.h"
#include "tellegen/model/mechanism_trees.h"
#include "tellegen/model/model.h"

namespace tellegen {

// Parameters as find_parameter() knows them. Throws ModelError: T220 for an unknown parameter or one given
// twice, T221 where a name of a sensitivity is already taken. The result shares the model's pool.
// `own`: components whose sensitivities have equations of their own (a mechanism's, by another tree).
Model with_sensitivities(const Model& model, std::span<const std::string> parameters,
                         const DifferentiatedParts& own = {});

}  // namespace tellegen
