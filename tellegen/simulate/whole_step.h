// One step of a whole small system as one program (program/step_loop.h).
//
// The condensed forms of all components are put together symbolically, the network's equations are
// eliminated symbolically in an order chosen from their numbers, and everything falls into the section where
// it belongs: with a constant tangent the factors are computed once, with nonlinear components only the
// trailing part that depends on the iterate is eliminated in every iteration.
#pragma once

#include <span>
#include <vector>

#include "tellegen/equations/network.h"
#include "tellegen/equations/storage.h"
#include "tellegen/program/step_loop.h"
#include "tellegen/simulate/initial.h"
#include "tellegen/simulate/scheme.h"

namespace tellegen {

// What a step starts from, in the system's order. Shared by all step programs of a run.
struct StepState {
  std::vector<double> value[3];  // per rate: the variable now, one and two steps ago
  std::vector<double> rate;
  std::vector<double> iterates;  // per group, member and iterated symbol
  std::vector<double> previous;  // per group, member and exponential: its limited argument
};

StepState start_state(const Network& network, const InitialState& initial);

struct WholeStepOptions {
  double step = 0.0;           // length
  double tolerance = 1e-6;     // of Newton, in units of each variable's scale
  bool project = true;         // rates of redundant storage from the states' (trapezoidal rule)
  bool keep_all_past = false;  // keep earlier values even if the formula does not need them (start-up)
  bool refactor = false;       // eliminate in every iteration, although the tangent is constant
};

class WholeStep {
 public:
  // Outputs are expressions of column symbols and t.
  WholeStep(const Network& network, const Storage& storage, const Scheme& scheme,
            std::span<const Expr> outputs, const StepState& state, const WholeStepOptions& options);

  StepLoop& loop() { return loop_; }
  void load(const StepState& state);
  void store(StepState& state) const;
  std::string still_changing(
      const Network& network) const;  // after a step that did not converge: which variable
  std::int32_t instructions() const { return static_cast<std::int32_t>(loop_.program().program.code.size()); }

 private:
  friend class WholeStepBuilder;
  struct Registers {
    std::vector<std::int32_t> value[3], rate, iterates, previous, iterate_sources, previous_sources;
  };
  Registers registers_;
  StepLoop loop_;
};

}  // namespace tellegen
