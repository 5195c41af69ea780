// A model's equations reduced to its states, unknown parameters staying symbols and everything that is known
// put in as numbers over time.
//
//   1. variables that equations without unknown parameters give are known: by themselves (a source, a node),
//   a
//      few together (phase currents from q and d), or as integrals of what is known (an angle from a speed);
//   2. of the rest, variables without rates are solved for and put into the other equations. An equation that
//      would feed a state back into its own rate is taken last: so, where currents are read, flux linkages
//      become integrals of voltages and currents instead of filters with unknown poles;
//   3. what is left are rates of states that nobody measures, and equations between signals and states.
//
// All of these are sums of factor(parameters) * signal * states (form.h). An equation in which that cannot be
// had, because an unknown variable stands in a sine, is left out, and told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/sensitivity/form.h"

namespace tellegen {

struct ReductionRequest {
  struct Reading {
    std::string name;
    Expr value;  // in the model's names
    Signal signal;
  };
  std::vector<int> unknowns;  // parameters that stay symbols: indices into model.parameters
  std::vector<double> times;  // of the rows
  std::vector<Reading> readings;
  std::vector<Expr> outputs;  // to be told in states
  bool products = false;      // of states may stand in rates, equations and outputs
};

struct Reduction {
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
  std::vector<State> states;     // those that equations or outputs need
  std::vector<Equation> equations;
  std::vector<std::optional<Form>> outputs;  // empty: no such sum
  ExprMap<Signal> integrated;                // per rate of a known variable: that variable
  std::vector<std::string> left_out;         // equations that are no such sums, by name
};

// Inputs are what the model says of them. Throws ModelError: the faults of topology.
Reduction reduce_to_states(const Model& model, const ReductionRequest& request);

// Every variable's value at the start, by name, with the numbers that the model has. Throws as
// find_initial_state().
std::map<std::string, double> values_at_start(const Model& model);

}  // namespace tellegen
