// One step of a run without its control flow: the procedure that the simulator runs, followed once, as a
// list of assignments from the values before the step to those after it.
//
// Loops and choices whose conditions are numbers (counters, stages, a fixed number of iterations) disappear.
// What else a condition may depend on is kept as an assumption: whoever uses the list makes sure that it
// holds in every step.
//
// What follows from the number of the step and from the inputs alone (sources) is apart from the rest:
// whoever calls the step can compute it beforehand.
#pragma once

#include <string>
#include <vector>

#include "tellegen/program/step_code.h"

namespace tellegen {

struct StraightStep {
  struct State {
    std::int32_t reg, next;  // registers: before the step, after it
    double start;
  };
  struct Assumption {
    std::int32_t reg;
    bool holds;  // whether it is not 0
  };
  enum : int { sources = 0, step = 1 };  // sections
  Program program;                       // a register is written once
  std::int32_t index = -1;               // number of steps taken before; a register
  double first_index = 0.0;
  std::vector<std::int32_t> external;  // registers of inputs from outside
  std::vector<State> states;
  std::vector<std::int32_t> given;  // registers of section `sources` that section `step` or the outputs read
  std::vector<std::int32_t> outputs;
  bool switches = false;        // at ends of steps: events are not located
  bool outputs_before = false;  // they belong to the beginning of the step; otherwise to its end
  std::vector<Assumption> assumptions;
  std::string refused;  // why there is none; empty: there is
};

// Of the last part: those before it are taken first, and the states begin there. Events are not located: what
// switches does so at the end of a step.
StraightStep straight_step(const StepCode& code);

// Of one part as it stands; its procedure gives the row that is written. `move_outputs`: outputs that belong
// to the end of a step are brought to its beginning, where they need no more than its states.
StraightStep straight_step(const StepCode::Part& part, bool move_outputs);

// A register file with numbers and first states; interpret() then takes the sections.
std::vector<double> first_registers(const StraightStep& step);

}  // namespace tellegen
