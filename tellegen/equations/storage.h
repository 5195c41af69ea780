// Which differentiated variables are states, and how the others follow from them.
//
// The normal tree decides: across storage among the chords and through storage among the branches have no
// state of their own. Their value is a signed sum of states (and of across- or through-sources) along a
// circuit or cutset, and so is their rate. Parallel capacitors, a capacitor across a voltage source and
// inductors in series are ordinary cases, not failures. So is storage behind a gear (coupling.h).
#pragma once

#include <span>
#include <vector>

#include "tellegen/equations/system.h"

namespace tellegen {

struct RedundantRate {
  std::int32_t rate = 0;
  struct Term {
    std::int32_t rate = -1;  // a state or another redundant variable ...
    EdgeIndex source{-1};    // ... or (rate < 0) a source's across or through; its edge, where it has one
    double sign = 1.0;       // a factor, where an ideal component couples them (coupling.h)
  };
  std::vector<Term> terms;
  Expr drive;      // what else its rate has, a function of t; empty: nothing
  Expr driven_by;  // what that is the derivative of
  bool follows_a_source() const;
};

struct Storage {
  std::vector<char> is_state;  // per rate
  std::vector<RedundantRate> redundant;
  std::int32_t state_count() const;
};

Storage analyse_storage(const EquationSystem& system);

// d(across or through of a source's edge)/dt as an expression of t with the numbers of that component put in;
// empty where it depends on other variables of the model.
Expr source_rate(const EquationSystem& system, EdgeIndex edge);

// What it is the derivative of, likewise.
Expr source_value(const EquationSystem& system, EdgeIndex edge);

// The rate before numbers are put in: in the symbols of the component's group.
Expr source_rate_formula(const EquationSystem& system, EdgeIndex edge);

// Where to evaluate it at the start: a sine that begins at t = 0 has the slope that follows, not the one
// before.
inline constexpr double just_after_start = 1e-300;

}  // namespace tellegen
