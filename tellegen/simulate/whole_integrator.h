// Fixed steps of a small system, by generated code that owns the loop (whole_step.h).
//
// Events: the loop stops after a step at whose end a discrete variable should change. It changes, and the
// formula begins anew with backward Euler steps, which need no rates and no earlier values. Where the options
// ask for it, that step is first done again with the event found by bisection.
#pragma once

#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/scheme.h"
#include "tellegen/simulate/whole_step.h"

namespace tellegen {

// The formula a method settles into, how many trapezoidal steps come before at the start, and how many
// backward Euler steps after an event.
struct MethodPlan {
  Scheme scheme;
  int start_steps = 0, restart_steps = 1;
  bool project = true;
};
inline constexpr int most_located = 8;  // events in one step that are looked for by bisection
MethodPlan plan_method(const SimulationOptions& options, double step);

class WholeIntegrator : public Integrator {
 public:
  // Takes the network along: outputs and messages refer to it.
  WholeIntegrator(const Problem& problem, Network network);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  void set_input(int input, double value) override;
  std::optional<double> ended() const override { return ended_; }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override;
  Totals totals() const override;

 private:
  bool run(WholeStep& step, StepLoopControl& control, std::int64_t steps);
  bool run_plain(std::int64_t steps);
  bool run_with_events(std::int64_t steps);
  bool locate();
  bool take_updates(std::int64_t index);
  bool ends();  // at the end of the step just done
  void begin(const Scheme& scheme, int steps);

  const Problem& problem_;
  Network network_;
  MethodPlan plan_;
  StepState state_;
  Schedule schedule_;
  std::unique_ptr<WholeStep> start_, step_;
  // Totals cost a fifth of a step without iterations: of a long run only its first steps keep them, taken by
  // a step of their own.
  std::unique_ptr<WholeStep> followed_;
  std::int64_t followed_steps_ = 0;
  StepLoopControl control_;
  int starting_ = 0;  // steps left of the formula that begins or begins anew
  std::vector<double> updates_;
  std::int64_t events_ = 0;
  std::optional<double> ended_;
  std::string failure_;
};

}  // namespace tellegen
