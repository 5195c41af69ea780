// The loop of classical Runge-Kutta steps, for explicit systems: like the loop of implicit steps
// (step_loop.h), it belongs to the generated code, because a call for each stage would cost as much as the
// stage.
//
//   section 0  prepare   once, and after events: parameters, discrete variables
//   section 1  time      functions of time alone
//   section 2  state     functions of time and states
//   section 3  iterate   Newton on the few unknowns that have no formula, until `error` <= 1
//   section 4  slopes    with the unknowns found
//   section 5  slow      slopes of slow states, after each step
//   section 6  updates   of discrete variables, after each step
//   section 7  output    at samples only
//   section 8  follow    in steps that are followed: what is integrated beside the states and drives nothing
//   section 9  jumps     one number that changes where a function of time jumps
//
// Late sections read each other's registers: whoever runs one of 5 to 8 has run those before it at that
// place.
//
// The slopes at the end of a step are those of the first stage of the next, unless a function of time jumps
// there: it is taken from its left at the end of the step and from its right at the beginning of the next
// (1e-9 of a step aside, so that rounding cannot put the jump on the wrong side).
//
// Slow states take one step in `slow_steps`. In between they go on along a straight line, with the slope of
// the last such step; their own slopes are looked at once a step and gathered (trapezoidal), so that a ripple
// faster than their step does not mislead them: of second order in the long step.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tellegen_rk4.h"
#include "tellegen/program/procedure.h"
#include "tellegen/program/step_code.h"

namespace tellegen {

struct Rk4Program {
  Program program;
  std::int32_t time = -1;
  std::vector<std::int32_t> states, slopes;  // input registers, registers of section 4 (5 of slow ones)
  std::vector<char> slow;                    // per state
  std::vector<std::int32_t> totals;          // registers of section 8: integrands
  bool follows = false;                      // there is a section 8
  std::int64_t slow_steps = 1;
  std::vector<std::int32_t> iterates, next,
      solutions;                   // inputs of section 3, its results, inputs of section 4
  std::int32_t error = -1;         // of the last iteration; -1: nothing to iterate
  std::vector<RegisterCopy> kept;  // inputs of section 2, and registers that they hold from place to place
  std::vector<std::int32_t> outputs;
  std::int32_t event = -1, stop = -1;       // registers of section 6; not 0 after a step: the loop returns
  std::vector<std::int32_t> watched;        // registers that can be read after run()
  std::int32_t jump_time = -1, jumps = -1;  // input and register of section 9; -1: nothing jumps
  bool returns = false;                     // the last step can be undone; not with slow states
  bool records = false;                     // rows are not outputs at samples, but all places; see below
};

// What says where slopes are taken: time, states, solutions of the iteration, and what `kept` has had before.
std::vector<std::int32_t> place_registers(const Rk4Program& step);

struct Rk4Control : tellegen_rk4_steps {
  Rk4Control() : tellegen_rk4_steps{} { stride = fresh = 1; }
  std::int64_t max_iterations = 100, fixed_iterations = 0;
  double* rows = nullptr;
  std::int64_t iterations = 0, worst = 0;
  std::int64_t slow_phase = 0;  // steps since the slow states took theirs
  std::int64_t follow = 0;      // run section 8
};

class Rk4Loop {
 public:
  explicit Rk4Loop(Rk4Program program);
  void compile(double interpreting = std::numeric_limits<double>::infinity()) { code_.compile(interpreting); }
  void compile_for(double executions) { code_.compile_for(executions); }
  bool compiled() const { return code_.compiled(); }
  double* registers() { return registers_.data(); }
  std::vector<double>& register_file() { return registers_; }
  const Rk4Program& program() const { return step_; }
  void prepare() { code_.call(0, registers_.data()); }
  void start(const std::vector<double>& states);
  std::vector<double> totals() const;
  bool has_totals() const;  // one that is not 0
  // The states with which the last step of run() began are the states again.
  void undo_step();
  // Slopes at a point, for the linearised system. False where an iteration does not converge.
  bool slopes(double t, const double* states, double* slopes);
  bool run(Rk4Control& control);                         // false where an iteration did not converge
  StepCode::Part part(const Rk4Control& control) const;  // as of StepLoop
  void add_registers(StepCode::Events& events) const;

 private:
  // Registers of the loop itself; of each state its value at the end of the last step, the slope it began
  // with, and two that the stages work with (of a slow state: the change gathered, the slope last seen).
  struct Counters : StepCounters {  // renew: the slopes of the first stage are not known
    std::int32_t step, origin, happened, stopped, slow_phase, follow;
    IterationRegisters newton;
    std::vector<std::int32_t> z, first, middle, last, begin;
    std::vector<std::int32_t> total, total_first, total_middle, total_begin;
  };
  static Procedure procedure(const Rk4Program& step, Counters& counters);
  void load(const Rk4Control& control, double* r) const;
  Rk4Program step_;  // but for its program, which the procedure has
  Counters counters_;
  ProcedureCode code_;
  std::vector<double> registers_;
};

}  // namespace tellegen
