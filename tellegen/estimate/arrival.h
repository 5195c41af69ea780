// How often readings must arrive for a filter's expected covariance to stay bounded, whatever the losses do:
// the sufficient conditions of [Yadav 2021], section 4.5, for a model along its run and its filter.
//
//   x(k+1) = A_k x(k),  y = C_k x,  |A_k| <= a,  keep <= G          readings arrive with probability g, or
//   all
//                                                                   of a step are lost
//   C invertible     g > (1 - a^-2)/(1 - G^2)
//   any C            g > (1 - a^-2)/(l - G^2),   l = min over k of lambda_min[C'(C P C' + R)^-1 C]
//   lambda_min[P]
//
// Both depend on the units of the states, though what they claim does not: the units may be chosen. With
// fewer sensors than states C is not invertible and l is zero: both give nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tellegen/estimate/twin_model.h"
#include "tellegen/records/record.h"

namespace tellegen {

struct ArrivalConditions {
  // What is known in one choice of units.
  struct InUnits {
    double norm = 0.0;         // a
    double information = 0.0;  // l
    // The arrival rate must be above this; 0: any rate will do; empty: nothing follows.
    std::optional<double> invertible, general;
  };
  std::string estimator;
  std::size_t states = 0, sensors = 0;
  double keep = 0.0;                            // G: 0 but for pkf
  bool is_invertible = false, is_full = false;  // C: square and regular; of full rank in the states
  std::int64_t looked_at = 0;                   // steps of the run
  InUnits si;                                   // as the model has them
  InUnits sized;  // in sizes of the states: what they move through, or their first deviation
  InUnits best;   // in the units for which the norm is smallest, as found by balancing

  std::vector<std::string> sentences() const;  // what holds, and what that does and does not say
};

// From one choice of units to what the conditions say: exposed for hand calculations.
ArrivalConditions::InUnits arrival_bounds(double norm, double information, double keep, bool invertible);

// The record gives the sensors, the step and the length; the estimator and its `keep` are the model's. The
// covariance is the filter's where every reading arrives. Throws as TwinModel does; nothing where the model
// cannot be followed.
std::optional<ArrivalConditions> arrival_conditions(const Model& model, const Record& record,
                                                    const std::vector<int>& unknowns);

}  // namespace tellegen
