// Sensitivities that go along with a run of the adaptive method: one lane a parameter, integrated by IDAS.
//
//   F_x s + F_r s' + F_p + F_h h_p = 0        s = dx/dp at fixed time, h_p = d(discrete variables)/dp
//
// At an event at T(p) all lanes are first turned into total derivatives at the moving time,
//
//   D = s + x' dT/dp,      dT/dp = -(g_x s + g_p) / (g_x x' + g_t)
//
// in which states are continuous and everything else follows from the equations after the event, discrete
// variables by the derivatives of their updates; then turned back with the rates after it: s = D - x' dT/dp.
// So states' sensitivities jump by (x' before - x' after) dT/dp. Sides are told apart a moment away from T.
//
// The condition that vanishes at T decides its derivative. One that jumps across zero there, as a comparison
// with a sawtooth that is reset, changes because another vanishes: that one decides. A sampled variable's T
// is a multiple of its sample time.
//
// [Rozenvasser 1967] Automation and Remote Control 28, 365. [Galan 1999] Appl. Numer. Math. 31, 17.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/sensitivity/condition_slopes.h"
#include "tellegen/sensitivity/run.h"
#include "tellegen/simulate/adaptive_run.h"

namespace tellegen {

class ForwardLanes : public AdaptiveCompanion {
 public:
  ForwardLanes(const Problem& problem, std::span<const int> wrt);

  void begin(AdaptiveRun& run) override;
  void moved() override;
  void event_begins(std::span<const int> conditions, std::span<const Due> due) override;
  void discrete_changes(std::span<const std::int32_t> which, std::span<const double> after,
                        double t) override;
  void found_anew() override;
  void event_ends(std::span<const double> after, double t) override;
  void restarted() override;

  int count() const { return count_; }
  std::span<const double> lane(int p) const { return values_of(s_[p].get()); }  // of all columns, now

  // Columns, rates and lanes at one moment, with time as one more lane (the last).
  struct Moment {
    double t = 0.0;
    InitialState state;
    std::vector<double> dx, dr;  // [lane][column], [lane][rate]
  };
  Moment moment_now();                                               // between events
  const Moment& before_event() const { return before_; }             // the last
  std::span<const double> event_gradient() const { return moves_; }  // dT/dp of the last event

  const std::vector<RunDerivatives::Event>& events() const { return events_; }
  // When a discrete variable was first not 0: the event's place in events(), or -1 at the start.
  std::optional<int> first_seen(std::int32_t discrete) const;
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  static int residual(int count, double t, N_Vector y, N_Vector yp, N_Vector f, N_Vector* s, N_Vector* sp,
                      N_Vector* out, void* user, N_Vector, N_Vector, N_Vector);
  void linearise(double t, N_Vector y, N_Vector yp);
  void add_held(std::span<const double> x, std::span<const double> rates, double t,
                std::vector<DerivativeEntry>& entries);
  void start_held();
  bool solve(Moment& moment, std::span<const double> states, std::span<const double> dt);
  void give_to_ida(const Moment& moment);
  void go_before_event();
  void event_time(const Moment& before, std::span<const int> conditions);
  void sample_time(std::span<const Due> due);
  std::vector<double> states_of(std::span<const double> dx) const;

  const Problem& problem_;
  const EquationSystem& system_;
  std::vector<int> wrt_;
  int count_;
  std::int32_t n_, r_;
  AdaptiveRun* run_ = nullptr;
  std::vector<VectorPointer> s_, sp_;
  std::vector<double> held_;  // [discrete][parameter]
  ParameterDerivatives by_parameter_;
  std::optional<ConsistentDirections> directions_;
  std::optional<ConditionSlopes> conditions_;
  DifferentiatedFormulas updates_;
  struct SourceSlope {  // of an across-source's rate
    std::int32_t edge = 0;
    int parameter = 0;
    Expr slope;  // a function of t
  };
  std::vector<SourceSlope> source_slopes_;
  std::vector<std::pair<std::int32_t, Expr>> drive_slopes_;  // per redundant rate: d/dt of what drives it

  // The linearised equations at one point.
  struct Linear {
    double t = -1.0;
    std::vector<double> y, yp, rates, by_x, by_rate;
    std::vector<DerivativeEntry> by_parameter;
  } linear_;
  std::vector<double> lane_rates_;

  // The event at hand.
  Moment before_, found_;
  std::vector<double> moves_, total_, states_;  // dT/dp; total derivatives of columns and of states
  double last_event_ = -1.0;                    // where the run went on after the last one
  std::vector<Slopes> every_;                   // per discrete variable: of its sample time
  bool stale_ = false;                          // total_ belongs to an earlier round
  bool listed_ = false;
  int touching_ = -1;  // a condition of the event that only touches its threshold
  std::vector<RunDerivatives::Event> events_;
  std::map<std::int32_t, int> seen_;
  std::vector<std::string> warnings_;
};

}  // namespace tellegen
