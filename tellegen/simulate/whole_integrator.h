// Fixed steps of a small system, by generated code that owns the loop (whole_step.h).
#pragma once

#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/scheme.h"
#include "tellegen/simulate/whole_step.h"

namespace tellegen {

// The formula a method settles into after its start, and how many trapezoidal steps come before.
struct MethodPlan {
  Scheme scheme;
  int start_steps = 0;
  bool project = true;
};
MethodPlan plan_method(const SimulationOptions& options, double step);

class WholeIntegrator : public Integrator {
 public:
  // Takes the network along: outputs and messages refer to it.
  WholeIntegrator(const Problem& problem, Network network);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  std::string failure() const override { return failure_; }
  Statistics statistics() const override;

 private:
  bool run(WholeStep& step, std::int64_t steps);
  const Problem& problem_;
  Network network_;
  MethodPlan plan_;
  StepState state_;
  std::unique_ptr<WholeStep> start_, step_;
  StepLoopControl control_;
  std::string failure_;
};

}  // namespace tellegen
