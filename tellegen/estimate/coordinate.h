// The coordinate in which an unknown is estimated: itself, its inverse, its logarithm.
//
// An estimator linearises; so the best coordinate is the one in which the unknown enters the equations
// linearly. A conductance does where the temperatures are states and the flow follows; a resistance does
// where its flow is given by a source. [Rodriguez et al. 2021] start at ten times the true value: in 1/R a
// filter converges from there, in R or log R it does not.
#pragma once

#include "tellegen/model/model.h"

namespace tellegen {

double to_coordinate(ModelUnknown::Coordinate coordinate, double value);
double from_coordinate(ModelUnknown::Coordinate coordinate, double at);
double value_slope(ModelUnknown::Coordinate coordinate, double at);  // d value/d coordinate
Expr from_coordinate(ModelUnknown::Coordinate coordinate, Expr at);

// What `automatic` means for an unknown of this model: the coordinate in which the rates of the states and
// the sensors are most nearly linear, at the model's numbers. The logarithm is never chosen.
ModelUnknown::Coordinate chosen_coordinate(const Model& model, const ModelUnknown& unknown);

}  // namespace tellegen
