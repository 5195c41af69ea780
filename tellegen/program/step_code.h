// A run of fixed steps as data: the procedures that take the steps and the registers they begin with. What
// is printed for a target is what runs here.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
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
  // A differentiated variable: registers of its value now, one and two steps ago, and of its rate; -1: none.
  struct State {
    std::string name = {};
    std::array<std::int32_t, 3> values = {-1, -1, -1};
    std::int32_t rate = -1;
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
    std::vector<State> states = {};
    std::int32_t time = -1;
    std::vector<std::int32_t> held = {}, outputs = {};  // discrete variables; outputs after a step
    // Of the first registers: the smallest pivot, relative; empty: nothing is eliminated.
    Program pivots = {};
  };
  // What happens around the steps of the one part where something switches, is sampled or jumps: the data
  // that runtime/tellegen_steps.h works on, or tellegen_rk4_steps.h on what both have.
  struct Events {
    bool explicit_steps = false;
    int order = 1, restart_steps = 1, jumps_share = 0, bisections = 1, stop_event = -1;
    // alpha, the factors of three past values, of the past rate: of the method, and of its first steps
    std::array<double, 5> own = {}, start = {};
    int start_steps = 0, fixed_iterations = 0;
    // Of discrete variables: sample times, values at the start, whether time alone changes them, and whether
    // factors that are computed once depend on them.
    std::vector<double> every = {}, held = {};
    std::vector<char> timed = {}, external = {}, factor = {};
    // Updates that time decides: t and `timed_inputs` in, `timed_of` out.
    Program timed_updates = {};
    std::vector<int> timed_inputs = {}, timed_of = {};
    // When sources jump, up to `known_to`, and the numbers that decide when (reg: none).
    std::vector<double> jumps = {};
    double known_to = std::numeric_limits<double>::infinity();
    std::vector<Number> deciding = {};
    // Registers: of the formula in the order above and of the step's length; of what is put aside and where
    // it comes back to; of discrete variables and their updates; of the loop.
    std::array<std::int32_t, 6> formula = {};
    std::vector<std::int32_t> stored = {}, loaded = {}, held_registers = {}, updates = {};
    std::int32_t values = 0;  // of stored: so many variables now, as many one step ago, two steps ago
    std::int32_t origin = -1, step = -1, renewed_ago = -1, fixed = -1;
    std::int32_t happened = -1, stopped = -1;  // of explicit steps
  };
  std::optional<Events> events = {};
  std::vector<Part> parts = {};
  std::string refused = {};  // why there is none; empty: there is
};

}  // namespace tellegen
