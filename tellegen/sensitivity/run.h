// One run of a model and the derivatives of what is observed in it: what every method of differentiation is
// asked, and what it answers.
//
// Time derivatives of the end: where the run ends at an event, or at a time that depends on parameters, its
// end moves by dT/dp, and every observed value with it; `fixed_end_time` leaves that part out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct Observed {
  enum class What {
    end,        // the value at the end of the run
    time_when,  // when the watch `value` (its component's name, model/observers.h) sees it; NaN: never
    maximum,    // of all samples
    minimum
  } what = What::end;
  Expr value;  // in the model's full names
};

struct RunRequest {
  SimulationOptions simulation;  // complete_options() has been here
  std::vector<Observed> observed;
  std::vector<OutputColumn> trajectories;  // whose derivatives are wanted over time
  std::vector<int> wrt;                    // parameters of the model
  bool fixed_end_time = false;
};

struct RunDerivatives {
  std::vector<double> values;    // per observed, SI
  std::vector<double> gradient;  // [observed][wrt], SI
  double end_time = 0.0;
  std::vector<double> end_time_gradient;  // [wrt]
  std::vector<double> t;                  // samples
  std::vector<double> trajectories;       // [sample][output]
  std::vector<double> by_parameter;       // [sample][output][wrt], at fixed t
  struct Event {
    double t;
    std::string what;              // the discrete variables that changed
    std::vector<double> gradient;  // dt/dp; empty: a time that no parameter moves
  };
  std::vector<Event> events;
  std::vector<std::string> warnings;  // a kink where a derivative was asked for, ...
  double loop_seconds = 0.0;          // in the steps and their derivatives alone
  std::string failure;                // empty: finished
  std::string method;                 // in words: "forward, staggered", "IDAS", ...
};

// Of a fixed step in which an event falls: close enough that the event's time has a derivative; not to
// rounding, for the part of a step before an event just after it began must still be long enough for the
// difference of its ends to be a rate.
inline constexpr int event_bisections = 28;

// Values alone.
RunDerivatives plain_run(const Model& model, const RunRequest& request);
// The same, again and again: with SimulationOptions::restarts, and the model's numbers changed in between.
class PlainRun {
 public:
  PlainRun(const Model& model, const RunRequest& request);  // the model must outlive this
  RunDerivatives run();
  bool restart() { return simulation_.restart(simulation_.problem().options.stop); }
  void compile(double interpreting) { simulation_.integrator().compile(interpreting); }

 private:
  static std::vector<OutputColumn> columns_of(const Model& model, const RunRequest& request);
  std::vector<Observed> observed_;
  std::size_t trajectories_;
  Simulation simulation_;
  bool long_ = true;  // the last run; of the first nothing is known
};
// All parameters at once, along with the run.
RunDerivatives forward_run(const Model& model, const RunRequest& request);
// Against time, after the run: cost independent of the number of parameters. No trajectories.
RunDerivatives adjoint_run(const Model& model, const RunRequest& request);

// By method: forward_run() picks among these.
RunDerivatives adaptive_forward_run(const Model& model, const RunRequest& request);  // IDAS

}  // namespace tellegen
