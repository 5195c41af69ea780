// What the step programs of a run share: the state they start from, their options, and when Newton may stop.
#pragma once

#include <vector>

#include "tellegen/equations/network.h"
#include "tellegen/numeric/byte_stream.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {

// What a step starts from, in the system's order. Shared by all step programs of a run.
struct StepState {
  std::vector<double> value[3];  // per rate: the variable now, one and two steps ago
  std::vector<double> rate;
  std::vector<double> iterates;  // per group, member and iterated symbol
  std::vector<double> previous;  // per group, member and exponential: its limited argument
  std::vector<double> held;      // discrete variables
};

inline void keep(Checkpoint& parts, StepState& s) {
  parts(s.value[0], s.value[1], s.value[2], s.rate, s.iterates, s.previous, s.held);
}

StepState start_state(const Network& network, const InitialState& initial);
// Over what was there: allocates nothing where that was a state of this network, and its components are
// linear.
void put_start_state(const Network& network, const InitialState& initial, StepState& state);

struct StepOptions {
  double step = 0.0;                 // length
  double tolerance = 1e-6;           // of Newton, in units of each variable's scale
  bool project = true;               // rates of redundant storage from the states' (trapezoidal rule)
  bool keep_all_past = false;        // keep earlier values even if the formula does not need them (start-up)
  bool events = false;               // formula and step may change (set_scheme), discrete variables may
  bool refactor = false;             // eliminate in every iteration, although the tangent is constant
  bool restarts = false;             // may be run again with other numbers
  bool any_length = false;           // alpha changes by orders of magnitude while it runs
  bool record = false;               // every column and rate may be asked for after a step
  std::size_t followed_outputs = 0;  // Problem::followed_outputs
};

constexpr double rounding_floor = 1e-6;  // no change larger than this is put down to rounding

// How far Newton is from done, 1 = tolerance, as an expression for the step programs.
//
// A variable: its last change against its own size, and no smaller than 1e-9 of it: after a change of that
// size the error left, about its square, is below rounding, and rounding may keep the change from falling
// further. An exponential exp(u) taken as its tangent at m: the error left is (u - m)^2/2 of the exponential
// itself, so |u - m| may be as large as the root of the tolerance; one far in the reverse region contributes
// nothing whatever its argument.
Expr change_of_variable(Expr value, Expr iterate, double scale, double tolerance);
Expr change_of_exponential(Expr argument, Expr limited, double tolerance);

}  // namespace tellegen
