// What a scheduled step takes on a device, in milliseconds instead of a run of synthesis.
//
// Where few units are shared by many operations the area is not in the arithmetic but in the multiplexers
// before it. So every bit that has a choice is counted, an operand's and a register's, with the different
// bits it may get: shifts are wires and cost nothing, but they make legs of their own. What a leg, a
// choice among cycles and a bit of an adder cost was fitted to runs of synthesis (area_model.cpp).
#pragma once

#include "tellegen/deploy/hardware_schedule.h"
#include "tellegen/deploy/micro_program.h"

namespace tellegen {

struct HardwareArea {
  double luts = 0.0;  // of 4 inputs, with those of carry chains
  double flipflops = 0.0;
  int dsps = 0;        // multipliers of 18 x 18 bits
  int ram_blocks = 0;  // of 18 kbit
};

// What the area follows from.
struct AreaCounts {
  double legs = 0.0;        // of multiplexers, one bit wide, beyond the first of each
  double choices = 0.0;     // cycles in which a unit or register takes one of its legs
  double carries = 0.0;     // bits of adders
  double compared = 0.0;    // bits of comparisons and of choices that follow from them
  double divided = 0.0;     // bits of units that divide
  double table_bits = 0.0;  // of tables too small for a block of RAM
  double flipflops = 0.0;
  int dsps = 0, ram_blocks = 0;
  int operand_words = 1,
      result_words = 1;  // that the widest multiplexer chooses from, before units and behind
};

// LUTs for each of these.
struct AreaCoefficients {
  double leg, choice, carry, compared, divided, table_bit;
};
const AreaCoefficients& area_coefficients();

AreaCounts count_area(const FixedStep& fixed, const HardwareSchedule& schedule, const HardwareUnits& units);

// On a Lattice ECP5, by yosys 0.23's synth_ecp5.
HardwareArea estimated_area(const AreaCounts& counts);

// Seconds of a clock cycle, by rule of thumb: nothing is placed here. Good for comparing designs, no promise.
double estimated_period(const AreaCounts& counts, const HardwareUnits& units, int bits);

// micro_area.cpp: the same of a processor.
struct MicroCounts {
  double shifted = 0.0;  // bits times digits of how far they are shifted
  double chosen = 0.0;   // bits that are one of two
  double carries = 0.0, divided = 0.0, table_bits = 0.0, flipflops = 0.0;  // as above
  int dsps = 0, ram_blocks = 0;
};
MicroCounts count_micro(const FixedStep& fixed, const MicroProgram& program);
HardwareArea estimated_area(const MicroCounts& counts);
double micro_period(const MicroProgram& program, int bits);

}  // namespace tellegen
