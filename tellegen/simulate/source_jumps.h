// When sources jump: `if(t < 0.3, 3, -1)`, a held table, a pulse, floor and mod of time.
//
// A fixed step across a jump has an error of first order, and so has a step that ends there and takes the
// value after the jump for all of it. Where the times of jumps are known beforehand, a step can end at each
// of them with the value before it (event_steps.h). They are known where what decides is affine in time
// (time_function.h); a choice by sin(t) > 0 is not. A rise of less than some ten steps is a jump too: no step
// follows it. A kink is none.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/numeric/byte_stream.h"
#include "tellegen/program/step_code.h"

namespace tellegen {

class SourceJumps {
 public:
  // `stop`: how far to look for the size of a function. `kinks`: next() is also at the points of tables. The
  // system must outlive this.
  SourceJumps(const EquationSystem& system, double step, double stop, bool kinks = false);
  bool empty() const { return sources_.empty(); }
  bool possible() const { return possible_; }  // with other numbers of the same equations
  double next() const { return next_; }        // when one may jump; infinity: never again
  bool jumps() const;                          // whether one does, at next()
  void pass();                                 // next() is behind
  std::span<const StepCode::Number> deciding() const { return deciding_; }  // numbers that say when
  double before(double t) const;  // a time so little before t that only a jump at t tells
  void keep(Checkpoint& parts) {
    for (Source& source : sources_) parts(source.size, source.next);
    parts(next_);
  }

 private:
  // A function of time alone in the equations of one component.
  struct Source {
    Expr value;
    std::vector<Expr> choices;  // in it: what may jump by itself, and what decides an `if`
    ExprMap<double> numbers;    // of its parameters
    double size = 0.0, next = std::numeric_limits<double>::infinity();
  };
  double value(const Source& source, double t) const;
  double next_of(const Source& source, double after) const;
  double next_in_table(const Source& source, Expr lookup, double after) const;
  void find_next();

  Expr time_;
  double step_;
  bool kinks_, possible_ = false;
  std::vector<Source> sources_;
  std::vector<StepCode::Number> deciding_;
  double next_ = std::numeric_limits<double>::infinity();
};

}  // namespace tellegen
