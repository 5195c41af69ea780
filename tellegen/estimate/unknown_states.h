// Unknowns as variables of the model.
//
// A number that is to be estimated becomes the state of a component without edges, and everything that was
// written in the number is written in that state:
//
//   constant, walk     rho' = 0                      (a walk is driven by noise)
//   integrated_walk    rho' = slope,  slope' = 0
//   oscillator         rho = mean + wave,  mean' = 0,  wave' = w quadrature,  quadrature' = -w wave
//
// The model that results is a model like any other, so its minimal form has the unknowns among its states,
// and its symbolic derivatives are those an estimator needs. Inputs that the data give are set from outside.
#pragma once

#include <string>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

struct UnknownStates {
  struct Unknown {
    int unknown = -1;  // in Model::unknowns
    std::vector<std::string>
        variables;  // full names of its states; the first is its coordinate (or the mean)
    Expr value;     // in full names: what it is in its own unit
  };
  // The error of an input's readings that is another one in every step: a state that each step begins anew.
  struct InputNoise {
    std::string variable;  // its full name
    double deviation = 0.0;
  };
  Model model;
  std::vector<Unknown> unknowns;
  std::vector<InputNoise> noises;
};

// `coordinates`: one per unknown, none of them automatic. Throws ModelError: T620 where a number cannot be
// unknown (it is the period of something sampled, say).
UnknownStates with_unknown_states(const Model& model, const std::vector<int>& unknowns,
                                  const std::vector<ModelUnknown::Coordinate>& coordinates,
                                  const std::vector<std::string>& inputs, bool input_noise = false);

}  // namespace tellegen
