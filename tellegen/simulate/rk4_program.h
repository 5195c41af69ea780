// The explicit form of a minimal problem as the program that rk4 steps through (program/rk4_loop.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tellegen/program/rk4_loop.h"
#include "tellegen/simulate/closed_angles.h"
#include "tellegen/simulate/minimal_problem.h"

namespace tellegen {

struct MinimalRk4 {
  Rk4Program program;
  std::vector<Expr> iterated;
  std::vector<ClosedAngle> closed;
  std::vector<std::int32_t> parameters, held, updates;  // registers
  Program pivots;  // where the run may come again: the smallest of them, relative to its row

  // What the loop begins with.
  void begin(const MinimalProblem& minimal, double* registers) const;
};

// Empty where there is no explicit form. `switches`: pivots must be good with switches in their other
// position, too, if they can.
std::optional<MinimalRk4> make_rk4_program(const MinimalProblem& minimal, bool switches);

}  // namespace tellegen
