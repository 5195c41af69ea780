// What discrete variables do while a twin predicts, and what that makes of its belief.
//
// Between two events a model with switches, modulators and sampled controllers is one without. At an event
// discrete variables change until none wants to, and sampled states z (sampled_states.h) take their samples,
// z -> r(z, t). Small differences of the states before, and with them the covariance, become
//
//   S = r_z                                              where the instant is known beforehand
//   S = 1 + (f+ - f-) g_z' / (g_z f- + g_t)              where a condition g(z, t) = 0 decides
//
// f-, f+: rates before and after. A state that was larger meets the condition at another time, and until then
// goes on with the rates before (the saltation matrix [Aizerman, Gantmacher 1958]). Between events a part
// ends where the equations have a kink, so that no prediction is linear across one.
//
// Disappoints where the time of an event is as uncertain as the time until the next one: the belief is that
// of the events which the mean meets.
#pragma once

#include <optional>
#include <vector>

#include "tellegen/estimate/twin_model.h"
#include "tellegen/simulate/breakpoints.h"

namespace tellegen {

// Whoever moves a mean on between events.
class MeanFollower {
 public:
  virtual ~MeanFollower() = default;
  virtual const Vector& mean() const = 0;
  virtual bool predict(double t, double length, const double* u, bool last) = 0;  // `last`: part of a row
  virtual void keep() = 0;                                            // what there is before a prediction ...
  virtual void go_back() = 0;                                         // ... to be had again
  virtual void change(const Vector& mean, const Matrix& change) = 0;  // S
};

class TwinEvents {
 public:
  TwinEvents(TwinModel& model, double step);  // of rows

  // From t to t + length: `u` the inputs at t, `du` their rates. False where the model cannot be evaluated.
  bool lead(MeanFollower& follower, double t, double length, const double* u, const double* du);
  // What happens at the first row, before its readings.
  bool begin(MeanFollower& follower, double t, const double* u);

 private:
  enum class Due { timed, sampled, followers };
  // All that happens at `t`, before what comes next, unless it has been passed; `first`: nothing has been
  // sampled yet, so everything is. `change`: S; empty where nothing happens. False where the model cannot be
  // evaluated.
  bool pass(double t, const double* u, const double* du, Vector& x, Matrix& change, bool first);
  // After pass(): when something may change at the latest, whatever the states are then.
  double next(double t);
  // Whether something does at t, of itself.
  bool wants_change(const Vector& x, double t, const double* u, const double* du, bool& wants);
  bool pass(MeanFollower& follower, double t, const double* u, const double* du, bool first);
  void go_to(double passed);
  void take_inputs(const double* u);
  bool differs_at(std::size_t k) const;
  bool take(Due due, double t, Vector& x, bool first = false);
  long trigger() const;
  double interval(std::size_t k) const;
  double next_sample(std::size_t k) const;
  bool is_due(std::size_t k, double t) const;

  TwinModel& model_;
  double step_;
  double place_;  // until when breakpoints and samples are behind
  std::optional<Breakpoints> breakpoints_;
  Breakpoints from_start_;
  std::vector<double> held_;         // of all discrete variables of the system, inputs among them
  std::vector<std::int64_t> taken_;  // per sampled state: how many samples
  TwinEventPoint point_;
  Vector kinks_;  // at the begin of a part
  TwinPoint before_, after_;
  Matrix reset_;
};

}  // namespace tellegen
