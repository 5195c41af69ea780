// A model for model exchange: rates, outputs and what decides events as functions of states, parameters,
// inputs and discrete variables, as one procedure; the importer integrates.
//
//   x' = f(x, p, u, d, t)     x: states of the minimal form
//   y  = h(x, p, u, d, t)     d: discrete variables, as they are held between events
//   z  = z(x, p, u, d, t)     quantities whose sign decides: where one changes there is an event
//   d := update(x, p, u, d, t) at events
//
// It is the explicit form that rk4 runs on (simulate/explicit_problem.h), of a model whose parameters are
// inputs, so that they stay symbols. What has no formula is solved by Newton's iteration in each evaluation,
// from the last solution. Derivatives of f and h by x, p and u are formulas too: the chain rule along the
// assignments, and for what is iterated on the implicit function theorem.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tellegen/program/procedure.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct ExchangeModel {
  struct State {
    std::string name, unit;
    double start = 0.0, nominal = 1.0;
  };
  // How an unknown depends on a known: by a factor that is a number, that parameters decide, that changes at
  // events only, or any other way.
  enum class Dependence { constant, tunable, discrete, dependent };
  // d unknown / d known. Unknowns: rates, then outputs; knowns: states, then parameters, then inputs.
  struct Slope {
    std::int32_t unknown = 0, known = 0;
    Dependence kind = Dependence::constant;
  };

  std::string refused;  // why there is none; empty: there is
  // Every entry takes t, states, parameters, inputs, discrete variables and iterated unknowns. "values" gives
  // rates, outputs, indicators and iterated unknowns; "updates" what discrete variables become; "slopes" the
  // derivatives; "pivots" the smallest pivot, relative. They fail (1) where Newton's iteration does.
  Procedure procedure;
  std::vector<State> states;
  std::vector<std::string> discrete;  // full names of discrete variables
  std::vector<double> held, every;    // their values at the start, their sample times (0: none)
  std::vector<double> iterated;       // values at the start
  std::int32_t stop = -1;             // the discrete variable that ends the run when it is not 0
  std::size_t indicators = 0;
  std::vector<Slope> slopes;         // empty where there is nothing, or `without_slopes`
  std::string without_slopes;        // why derivatives are not offered; empty: they are
  std::vector<char> timed_unknowns;  // per unknown: whether it is a function of time, too
  // Discrete variables that change by time and other discrete variables alone: "timed" takes t, parameters,
  // inputs and discrete variables and gives these.
  std::vector<std::int32_t> timed;
  std::vector<double> jumps, before_jumps;                    // when sources jump, and times so little before
  double known_to = std::numeric_limits<double>::infinity();  // when they do is known up to here
};

// `parameters`: names of the model's parameters that can be set. The model's inputs are those of the
// simulation's options.
ExchangeModel make_exchange_model(const Model& model, const Simulation& simulation,
                                  const std::vector<std::string>& parameters);

}  // namespace tellegen
