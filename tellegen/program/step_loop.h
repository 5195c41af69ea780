// The loop around one step, for small systems: a whole step is one program, and the loop between two
// samples belongs to the generated code, because a call per step would cost as much as the step.
//
//   section 0  prepare   once: parameters, alpha, constant parts of the factorisation
//   section 1  step      time and history
//   section 2  iterate   Newton; repeated until `error` <= 1, or a fixed number of times
//   section 3  finish    new values of the differentiated variables
//   section 4  output    at samples only
//   section 5  follow    in steps that are followed, after section 4: integrals that drive nothing
//   section 6  renew     every 64 steps: sines of time from scratch; in between they are rotated on
//
// The register file carries the state from call to call. run() is the compiled procedure where there is a
// compiler, otherwise the same one interpreted; nothing is allocated inside.
#pragma once

#include <cstdint>
#include <vector>

#include "tellegen/program/procedure.h"
#include "tellegen/program/step_code.h"

namespace tellegen {

struct StepProgram {
  Program program;
  std::int32_t time = -1;        // input register of t, or -1
  std::int32_t renew_time = -1;  // the same for section 6, which shares nothing with the sections between
  std::int32_t error = -1;       // register of the last update, 1 = tolerance; -1: nothing to iterate
  double rounding = 1.0;         // an error that may be all rounding
  std::int32_t reload = -1;      // input read afresh in every iteration, so that a compiler cannot
                                 // take what depends on it out of the loop (refactor)
  std::vector<RegisterCopy> iterate_copies;   // before every iteration: the iterate becomes the last solution
  std::vector<RegisterCopy> step_copies;      // after every step, in order: history moves on
  std::vector<RegisterCopy> followed_copies;  // likewise, of what section 5 has found
  bool follows = false;                       // there is a section 5
  std::vector<RegisterCopy> renew_copies;     // after section 6
  std::vector<std::int32_t> outputs;          // registers
  std::int32_t event = -1;                    // register; the loop stops after a step that leaves it not 0
  std::vector<std::int32_t> watched;          // registers whose values after the last step can be read
  bool records = false;                       // a row after every step: not outputs, but its place

  // Inputs that carry something from one step to the next, but for sines of time, which follow from it.
  std::vector<std::int32_t> carried() const;
  // What says how a step went: time, what was carried into it and what the iteration came to. After the step,
  // and the inputs by which it can be taken again.
  std::vector<std::int32_t> place_after() const { return place(&RegisterCopy::source); }
  std::vector<std::int32_t> place_again() const { return place(&RegisterCopy::target); }

 private:
  std::vector<std::int32_t> place(std::int32_t RegisterCopy::*iterate) const;
};

struct StepLoopControl {
  double step = 0.0;        // t is a multiple, not a sum, so that samples are exact
  std::int64_t index = 0;   // of the step last done
  std::int64_t steps = 0;   // to do in this call
  std::int64_t stride = 1;  // a row of outputs every so many steps ...
  std::int64_t phase = 0;   // ... of which this many are already done
  std::int64_t max_iterations = 50;
  std::int64_t fixed_iterations = 0;  // 0: to tolerance
  double* rows = nullptr;             // outputs, row after row
  std::int64_t iterations = 0;        // counted
  std::int64_t worst = 0;             // most iterations of one step
  std::int64_t renew = 1;             // run section 6 before the next step, whatever its number
  double origin = 0.0;                // t = origin + step * index
  std::int64_t follow = 0;            // run section 5
};

class StepLoop {
 public:
  explicit StepLoop(StepProgram program);
  // From now on run() is compiled code, where that pays: ProcedureCode.
  void compile(double interpreting = std::numeric_limits<double>::infinity()) { code_.compile(interpreting); }
  void compile_for(double executions) { code_.compile_for(executions); }
  bool compiled() const { return code_.compiled(); }
  const Program& program() const { return code_.procedure().program; }
  const Procedure& procedure() const { return code_.procedure(); }
  static constexpr std::size_t run_entry = 1;  // of the procedure
  const StepCounters& counters() const { return counters_; }
  double* registers() { return registers_.data(); }
  const double* registers() const { return registers_.data(); }
  std::vector<double>& register_file() { return registers_; }
  void prepare() { code_.call(0, registers_.data()); }
  void set(const StepLoopControl& control) { load(control, registers_.data()); }
  // Steps until control.steps are done; false where an iteration did not converge (control.index tells
  // the last step that did).
  bool run(StepLoopControl& control);
  // As it is now, for a step a call from what `control` says.
  StepCode::Part part(const StepLoopControl& control) const;
  void hand_over(const StepLoop& next, std::vector<RegisterCopy>& copies) const;  // counters
  void add_counters(StepCode::Events& events) const;

 private:
  // Registers of the loop itself.
  struct Counters : StepCounters {
    std::int32_t step, origin, renewed_ago, follow;
    IterationRegisters newton;
  };
  static Procedure procedure(StepProgram step, Counters& counters);
  void load(const StepLoopControl& control, double* r) const;
  std::int32_t time_;
  std::vector<std::int32_t> outputs_;
  Counters counters_;
  ProcedureCode code_;
  std::vector<double> registers_;
};

}  // namespace tellegen
