// Fixed steps of a small system, by generated code that owns the loop (whole_step.h).
//
// The loop stops after a step at whose end a discrete variable should change; event_steps.h says what happens
// then.
#pragma once

#include "tellegen/simulate/event_steps.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/run_lanes.h"
#include "tellegen/simulate/whole_step.h"

namespace tellegen {

class WholeIntegrator : public Integrator, public HasLanes, private StepExecutor {
 public:
  // Takes the network along: outputs and messages refer to it.
  WholeIntegrator(const Problem& problem, Network network);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  bool restart() override;
  std::unique_ptr<RunLanes> lanes() override;
  void compile(double interpreting) override { step_->loop().compile(interpreting); }
  bool keep(Checkpoint& parts) override;
  void set_input(int input, double value) override;
  StepCode step_code() const override;
  std::optional<double> ended() const override { return events_->ended(); }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override;
  Totals totals() const override;

 private:
  friend class WholeLanes;
  void begin();
  bool run(WholeStep& step, StepLoopControl& control, std::int64_t steps);
  bool run_plain(std::int64_t steps);
  bool run_with_events(std::int64_t steps);
  void use(const Scheme& scheme, double length);
  std::int64_t until_unfollowed(std::int64_t steps);
  bool has_totals();  // one that is not 0

  bool take(const Scheme& scheme, double t, double length) override;
  void load(const StepState& state) override { step_->load(state); }
  void store(StepState& state) override { step_->store(state); }
  void hold(std::span<const double> held) override { step_->hold(held); }
  void updates(double, std::span<double> values) override { step_->updates(values); }

  const Problem& problem_;
  Network network_;
  MethodPlan plan_;
  StepState state_;
  std::unique_ptr<EventSteps> events_;
  std::unique_ptr<WholeStep> start_, step_;
  std::int64_t followed_;  // steps
  StepLoopControl control_;
  Scheme scheme_;              // of step_
  int starting_ = 0;           // trapezoidal steps left, where there are events
  double* row_ = nullptr;      // where a step that take() takes writes its outputs
  std::vector<double> aside_;  // outputs nobody wants
  std::vector<double> values_;
  std::string failure_;
};

}  // namespace tellegen
