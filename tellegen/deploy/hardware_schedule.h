// When each operation of a step in fixed point runs, on which unit, and in which register its result lies.
//
// List scheduling: in every cycle those operations start whose operands are there, the ones with the longest
// way to the end first, as far as there are units. Ties are broken in several ways and the shortest schedule
// is kept. Registers are shared by values that are not alive together.
#pragma once

#include <vector>

#include "tellegen/deploy/fixed_step.h"

namespace tellegen {

struct HardwareUnits {
  int multipliers = 4, adders = 4;
  int multiplier_latency = 1;                               // cycles; 2: a register behind the product
  int dividers = 1;                                         // also take square roots
  static constexpr int table_ports = 2, table_latency = 2;  // a block RAM and the register behind it
};

struct HardwareSchedule {
  struct Place {
    int start = -1;  // cycle in which operands are read; -1: constants, states, given values
    int write = -1;  // cycle at whose end the result is written
    int unit = -1;   // of its kind
    int reg = -1;    // -1: it is a state's own, or nobody reads it later than an output
    int state = -1;  // it is the next value of this state
  };
  int cycles = 0;
  std::vector<Place> places;                      // per op
  int registers = 0;                              // beside states and outputs
  int multipliers = 0, adders = 0, dividers = 0;  // that are used
  std::vector<char> copied;  // per state: its next value waits in a register until the last cycle
  // Of a pipeline: a machine's step begins every so many cycles, and per operation the registers, one behind
  // the other, that hold its value (written at the end of cycle -1 where it is a state or given).
  int interval = 0;
  std::vector<int> copies;
};

enum class UnitKind { none, multiplier, adder, divider, table, wire };
UnitKind unit_of(FixedOp::Kind kind);

// Per operation: whether a next state or an output needs its value.
std::vector<char> needed_operations(const FixedStep& fixed);
// Which of two equal things goes first: numbers that look like chance, the same in every run.
std::uint32_t repeatable_shuffle(std::uint32_t seed, std::uint32_t k);

int latency_of(const FixedStep& fixed, const HardwareUnits& units, FixedOp::Kind kind);
HardwareSchedule schedule_step(const FixedStep& fixed, const HardwareUnits& units);

// pipeline_schedule.cpp: steps of many machines, of which one begins every `interval` cycles. As many units
// are made as that takes.
HardwareSchedule pipeline_step(const FixedStep& fixed, const HardwareUnits& units, int interval);
int pipeline_depth(const FixedStep& fixed, const HardwareUnits& units);  // cycles of a step at least

template <class Fn>
void for_each_source(const FixedOp& op, Fn fn) {
  for (const FixedOperand* x : {&op.a, &op.b, &op.c})
    if (x->op >= 0) fn(x->op);
}

}  // namespace tellegen
