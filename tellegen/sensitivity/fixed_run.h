// What differentiating a fixed-step run needs in either direction: the model as equations, its start, the
// steps' derivative, and the formulas that are observed or decide events.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tellegen/equations/slopes.h"
#include "tellegen/sensitivity/formulas.h"
#include "tellegen/sensitivity/jump_watch.h"
#include "tellegen/sensitivity/run.h"
#include "tellegen/sensitivity/step_derivative.h"
#include "tellegen/simulate/network_integrator.h"
#include "tellegen/simulate/start_derivatives.h"

namespace tellegen {

struct FixedRun {
  FixedRun(const Model& model, const RunRequest& request);
  FixedRun(const FixedRun&) = delete;

  const RunRequest& request;
  int parameters;
  EquationSystem system;
  Problem problem;
  MethodPlan plan;
  bool events;                                         // discrete variables change, or sources jump
  std::unique_ptr<DifferentiatedFormulas> outputs;     // trajectories, then what is observed
  std::unique_ptr<DifferentiatedFormulas> updates;     // of every discrete variable
  std::unique_ptr<DifferentiatedFormulas> quantities;  // whose zeros are events
  std::vector<std::vector<int>> quantities_of;         // per discrete variable
  std::vector<std::int32_t> columns;                   // that these formulas use
  std::vector<std::int32_t> recorded, recorded_rates;  // columns and rates that anything asks of a step
  std::vector<std::int32_t> column_index;              // per column of the tableau: index in `columns`, or -1
  std::unique_ptr<StepDerivative> derivative;
  JumpWatch jumps;
  Tableau tableau;
  std::unique_ptr<StartDerivatives> start;
  std::vector<double> held_start;  // [discrete][parameter]: derivatives of discrete variables at the start

  // d/dp of what redundant storage follows. Made when it is first asked for: couplings are eliminated anew
  // for each parameter.
  std::vector<Slopes> redundant_slopes(double t, std::span<const double> rates) {
    if (!redundant) redundant = std::make_unique<RedundantSlopes>(system, problem.storage, request.wrt);
    return redundant->at(t, rates);
  }
  std::unique_ptr<RedundantSlopes> redundant;

  bool projects(const Scheme& scheme) const {
    return plan.project && (scheme.uses_rate || events) && !problem.storage.redundant.empty();
  }
  void formula_rates(NetworkStep& step, std::span<double> rates) const;  // those recorded
  // dx/dt of all columns at a point where x and rates are consistent.
  std::vector<double> column_rates(std::span<const double> x, std::span<const double> rates,
                                   std::span<const double> held, double t);
  // Which of the quantities of the variables taken vanishes here, given the slope of each; -1: none does.
  int vanishing(std::span<const int> taken, std::span<const double> slopes) const;
  // Value and derivative of what is observed at the end of the run, with the end moving or not.
  std::size_t first_observed() const { return request.trajectories.size(); }
  // What the derivative of the steps does not have: sample times that move; and what chatters, if anything.
  void add_warnings(const std::string& chatter, std::vector<std::string>& warnings) const;
  // Of the variables that changed at an event, those that changed because others had: `updates` have been
  // evaluated at the point before. Theirs are to be evaluated where the others have changed.
  std::vector<int> followers(std::span<const int> taken, std::span<const double> after) const;
  std::vector<double> followed_point(std::span<const double> x, int follower,
                                     std::span<const double> after) const;
  std::string unmoved_event(double t) const;
  // An event at the very end of the run, if its time moves, or the end does: it is in the run on one side of
  // the parameters only. The quantities have been evaluated there; `slopes`: each along the end of the last
  // step.
  std::string event_at_end(std::span<const double> slopes, double t) const;
  // The discrete variable that is the time of a watch.
  int watch_time(const Observed& observed) const;

 private:
  void find_held_start();
};

}  // namespace tellegen
