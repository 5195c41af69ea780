// Implicit steps backwards: how a function of the last step of a run depends on what the first began with,
// and on what does not change in between. The adjoint of the steps themselves.
//
// The forward run keeps the places of the steps (step_loop.h). At each the values are computed again and gone
// through backwards (reverse.h): the elimination of the network's equations turns into that of the transposed
// ones, in the same straight-line code. What the iteration came to is given and held: by the iterate itself
// one more turn has no derivatives there, by everything else it has those of the solution.
//
// Sines of time are rotated from step to step; backwards each is one of its own, of the time of its step.
// Weights of what parameters alone decide (section 0) are gathered and go back through that section at the
// end.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "tellegen/program/reverse.h"
#include "tellegen/program/step_loop.h"

namespace tellegen {

class StepReverse {
 public:
  // `parameters`: inputs of section 0 whose derivatives are asked for. Of steps without events.
  StepReverse(const StepProgram& step, const std::vector<std::int32_t>& parameters);
  void compile_for(double executions) { code_.compile_for(executions); }
  bool compiled() const { return code_.compiled(); }

  double* registers() { return registers_.data(); }  // inputs of section 0 are the caller's
  void prepare() { code_.call(0, registers_.data()); }
  std::size_t width() const { return width_; }  // numbers of a place

  void begin();  // all weights are zero
  // The outputs after the step of this place.
  std::span<const double> outputs(const double* place);
  // The step at whose end something is observed: with weights of the outputs there.
  void observed_step(const double* place, std::span<const double> weights);
  void steps(std::int64_t count, const double* places);  // the last of them before `places`
  // Weights of what is carried into the step that it has come to, and of the parameters.
  double carried(std::int32_t input) const;
  void set_carried(std::int32_t input, double weight);
  std::vector<double> by_parameters();

 private:
  struct Gathered {
    std::map<std::int32_t, std::int32_t> carried;  // of inputs: their weights
    ReverseWriter::Sums early;                     // of what section 0 computes
    std::vector<std::int32_t> outputs, parameters;
    std::int32_t left = -1;
  };
  static Procedure procedure(const StepProgram& step, const std::vector<std::int32_t>& parameters,
                             Gathered& gathered);

  std::size_t width_;
  Gathered gathered_;
  ProcedureCode code_;
  std::vector<double> registers_, values_;
};

}  // namespace tellegen
