// A run of fixed steps as data: the procedures that take the steps and the registers they begin with. What
// is printed for a target is what runs here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tellegen/program/procedure.h"

namespace tellegen {

// Registers that every loop of steps has.
struct StepCounters {
  std::int32_t left = -1, stride = -1, phase = -1;  // steps to take; a row every so many
  std::int32_t index = -1;                          // of the step last taken
  std::int32_t renew = -1;                          // 1: something outside has changed
};

// What tells a loop to take one step and to write a row after it.
template <class Control>
Control one_step(Control control) {
  control.steps = control.stride = 1;
  control.phase = 0;
  return control;
}

struct StepCode {
  // A number of a component, and the register it is read from.
  struct Number {
    std::int32_t group, parameter, member, reg;
  };
  // A loop of steps with the entries "prepare" and "run". One call of "run" takes as many steps as `left`
  // has.
  struct Part {
    Procedure procedure = {};
    std::vector<double> registers = {};  // before its first step
    StepCounters counters = {};
    std::vector<std::int32_t> inputs = {};     // registers of what comes from outside
    std::int64_t steps = 0;                    // that it takes; 0: all that are left
    std::vector<RegisterCopy> hand_over = {};  // then, into the registers of the next part
    std::vector<Number> numbers = {};
    // Of the first registers: the smallest pivot, relative; empty: nothing is eliminated.
    Program pivots = {};
  };
  std::vector<Part> parts = {};
  std::string refused = {};  // why there is none; empty: there is
};

}  // namespace tellegen
