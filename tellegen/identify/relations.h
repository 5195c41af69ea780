// Relations between measured signals and unknown parameters, derived from a model's own equations.
//
// The equations of the model and of its sensors, by name (symbolic_model.h), with what the record gives put
// in as numbers:
//
//   1. variables that equations without unknown parameters give are known: by themselves (a source, a node),
//   a few
//      together (phase currents from q and d), or as integrals of what is known (an angle from a speed);
//   2. of the rest, variables without rates are solved for and put into the other equations. An equation that
//      would feed a state back into its own rate is taken last: so flux linkages become integrals of measured
//      voltages and currents instead of filters with unknown poles;
//   3. what is left are rates of states that nobody measures, and equations between signals and states.
//
// All of these are sums of factor(parameters) * signal * state (form.h). An equation in which that cannot be
// had, because an unknown variable stands in a sine or is multiplied by another one, is left out, and told.
#pragma once

#include <string>
#include <vector>

#include "tellegen/estimate/record.h"
#include "tellegen/identify/form.h"
#include "tellegen/model/model.h"

namespace tellegen {

struct Relations {
  struct State {
    Expr variable;
    Form rate;  // in signals, states and rates of known variables
    double start = 0.0;
  };
  struct Equation {
    Form form;  // zero; likewise
    std::string name;
  };
  std::vector<double> times;
  std::vector<Expr> parameters;  // symbols, in the order asked for
  std::vector<State> states;
  std::vector<Equation> equations;
  ExprMap<Signal> integrated;         // per rate of a known variable: that variable
  std::vector<std::string> left_out;  // equations that are no such sums, by name
};

// `unknowns`: indices into model.parameters. Missing readings are interpolated. Throws ModelError: the faults
// of topology.
Relations derive_relations(const Model& model, const Record& record, const std::vector<int>& unknowns);

}  // namespace tellegen
