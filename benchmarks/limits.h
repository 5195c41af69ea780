// Straight-line limits of the circuit benchmarks: what a person who knows the one circuit can reach by hand.
//
// Each limit takes fixed steps on one thread with everything constant computed before the clock starts. The
// equations are reduced exactly, never approximately: a limit makes the same truncation error as the full
// tableau with the same formula and step (benchmarks/computed_circuits.csv). It knows its circuit and nothing
// else, so a general program is expected to come near it, not to beat it.
//
// A BDF starts with trapezoidal steps: k-1 of them before the k-step formula for the circuits, k for the
// motor. The step must divide the sample interval; std::invalid_argument otherwise.
#pragma once

#include <vector>

namespace tellegen {

struct LimitRun {
  std::vector<double> t, first, second;  // the monitored variables at the samples t_i = i * t_end / samples
  double seconds = 0;                    // best repetition, set-up and factorisation excluded
  long steps = 0;
};

enum class LimitFormula { trapezoidal, bdf2, bdf3 };
enum class LadderBranch { first, last };  // monitored: V4, I_L1 or V_(2N+2), I_LN

// RLC, 0..10 s: V3, I_L1. Two states; the eight variables of the tableau are evaluated at every step.
LimitRun limit_rlc(LimitFormula formula, double h, double budget = 0.2);

// Ladder of `loops` loops, 0..1 s. Two loops: four dense states. More: one constant tridiagonal system.
LimitRun limit_ladder(LimitFormula formula, int loops, double h, LadderBranch branch, double budget = 0.2);

// Rectifier, 0..1 s: V2 - V3, I_RL. One state and one scalar equation for the diodes.
LimitRun limit_rectifier(LimitFormula formula, double h, double budget = 0.2);

// Motor thermal network, 0..5000 s: T2, Q_water. Seven states (the two ends of the motor are equal) and one
// scalar equation for the air gap.
LimitRun limit_thermal(LimitFormula formula, double h, double budget = 0.2);

}  // namespace tellegen
