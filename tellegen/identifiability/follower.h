// The run of a twin from a start, with the derivatives of its states and readings by that start.
//
//   x' = f(x, t),   Phi' = F Phi,   dy(t_k)/dx(0) = H(t_k) Phi(t_k)
//
// Steps by the Pade approximation of the exponential with two poles and one zero: third order where the model
// is linear, second where not, and what is fast dies out as it should. Events are gone through with their
// derivatives (estimate/twin_events.h).
#pragma once

#include <optional>

#include "tellegen/estimate/twin_events.h"
#include "tellegen/identifiability/identifiability.h"

namespace tellegen {

struct Followed {
  Matrix transition;       // of the whole time
  Vector lowest, highest;  // of each state
  Vector end;
  InformationPoint information;
};

class Follower {
 public:
  Follower(TwinModel& twin, const ReadingTimes& times, double step);
  // Nothing where the model cannot be followed.
  std::optional<Followed> from(const Vector& start);

 private:
  class Between;
  void factor();
  bool advance(double t, double length, Vector& x, Matrix& transition);
  TwinModel& twin_;
  const ReadingTimes& times_;
  double step_limit_, h_ = 0.0, factored_ = 0.0;
  bool evaluated_ = false;  // the point is that where advance() begins
  TwinPoint point_;
  Matrix z_, step_;
  Eigen::PartialPivLU<Matrix> pade_;
};

}  // namespace tellegen
