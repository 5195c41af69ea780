// The minimal form: states only, every linear part eliminated.
//
//   z' = f(z, w, t)        z: the states of the normal tree
//   0  = g(z, w, t)        w: what only nonlinear equations determine; often none
//   x  = linear in z and w, and in functions of t: every variable of the tableau
//
// The tableau's linear rows, with the rates as unknowns, are solved in numbers (sparse, the row with the
// fewest entries first; a pivot that is small in its row is refused, so that a milliohm never becomes a
// divisor). Rates of redundant storage follow from the states' and bring in the derivatives of sources. The
// work follows the entries that elimination leaves: linear where most nodes have storage. The numbers of the
// model are in the coefficients; where asked to, the form of a linear model remembers how they follow from
// the system's numbers (tape.h).
#pragma once

#include <memory>
#include <vector>

#include "tellegen/equations/renumber.h"
#include "tellegen/equations/storage.h"
#include "tellegen/equations/system.h"
#include "tellegen/equations/tape.h"
#include "tellegen/symbolic/evaluator.h"

namespace tellegen {

struct MinimalForm {
  std::vector<std::int32_t> state_rates;      // which of the system's rates are the states
  std::vector<Expr> states, unknowns;         // symbols z and w
  std::vector<Expr> derivatives;              // f
  std::vector<Expr> residuals;                // g
  std::vector<Expr> columns;                  // every tableau column
  std::vector<std::int32_t> unknown_columns;  // what w stand for: a tableau column, or size() + rate

  // Where there are no unknowns: z' = A z + B s(t).
  struct Entry {
    std::int32_t row, column;
    double value;
    std::int32_t slot = -1;
  };
  std::vector<Entry> a, b;
  std::vector<Expr> sources;  // s, functions of t and discrete variables ("h3") alone
  // Of a source that is a derivative, of what; where that may jump, the states jump by B times as much.
  // Empty: no derivative, or one of a function that cannot jump.
  std::vector<Expr> derived_from;
  bool linear() const { return unknowns.empty(); }

  std::vector<Expr> parameters;  // symbols that stand for coefficients in the expressions ...
  std::vector<double> values;    // ... and their numbers

  // How the numbers follow from those of the system; empty: they do not, build another form. The first
  // parameters are numbers of components, as they stand in sources; the others are on the tape.
  struct Input {
    Evaluator slope;  // in the group's parameters
    std::int32_t group, member;
    Expr written;  // the slope as a formula
  };
  struct OwnNumber {
    std::int32_t group, parameter, member;
  };
  std::shared_ptr<Tape> tape;
  std::vector<Input> inputs;
  std::vector<double> input_values, member_values;  // where renumber() works
  std::vector<OwnNumber> own_numbers;
  std::vector<std::int32_t> value_slots;  // per value
};

// Throws ModelError where its states cannot be separated. `renumbered`: keep what renumber() needs.
MinimalForm minimal_form(const EquationSystem& system, const Storage& storage, bool renumbered = false);

// Takes over the numbers that the system has now. False where the form does not fit them.
bool renumber(MinimalForm& form, const EquationSystem& system);
// The same as operations of a list.
struct FormRows {
  std::vector<RowValue> values, a, b;
};
FormRows write_renumbered(RowList& list, const MinimalForm& form, const EquationSystem& system,
                          const SystemRows& numbers);

// The same as a system of its own, one group without nodes, so that everything written for systems serves the
// minimal form too. Its columns are the states and unknowns.
EquationSystem as_system(const EquationSystem& full, const MinimalForm& minimal);

// An expression of the full system's columns, in the columns of as_system().
Expr in_minimal_columns(const MinimalForm& minimal, Expr value);

// For whoever writes the form out as formulas (--form minimal, rk4, equations): variables of the tableau.
inline constexpr std::int32_t written_out_limit = 600;
void check_written_out(const EquationSystem& system);  // throws ModelError (T215)

}  // namespace tellegen
