// Whether joints of a mechanism that follow from circuits go on where they could turn back or jump.
//
// At a dead point (toggle) two positions of these joints meet that the states allow. Links pass on from one
// to the other; Newton's iteration, which knows no way, may come back on the first, or land a turn away.
// Then, in a step of length h,
//
//   |u(end) - u(begin) - h/2 (a(begin) + a(end))|  is about  |u(end) - u(begin)|,
//
// since no acceleration accounts for it, or the same of position and speed. The same step, begun from where
// the links are heading, passes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/numeric/byte_stream.h"

namespace tellegen {

class DeadPoints {
 public:
  explicit DeadPoints(const EquationSystem& system);
  bool empty() const { return names_.empty(); }
  // In columns: position, speed and acceleration of each joint.
  const std::vector<Expr>& formulas() const { return formulas_; }

  // The joint that turns back or jumps in a step from t to these values; empty: none does, or those at t are
  // not known.
  std::string jumping(std::span<const double> values, double t, double h) const;
  void pass(std::span<const double> values, double t);
  void keep(Checkpoint& parts) { parts(last_, peak_, last_time_); }

 private:
  std::vector<std::string> names_;
  std::vector<Expr> formulas_;
  std::vector<double> last_, peak_;  // of all formulas
  double last_time_ = -1.0;
};

}  // namespace tellegen
