// Numbers of a mechanism at its start: circuits closed, redundant equations found, coordinates divided into
// independent ones and those that follow.
#pragma once

#include <string>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct AssemblyProblem {
  std::vector<Expr> equations;    // phi = 0, in coordinates and what `numbers` knows
  std::vector<char> last;         // equations that are judged redundant before others are
  std::vector<Expr> coordinates;  // symbols
  std::vector<double> start;      // of each
  std::vector<double> mobility;   // how readily each moves while the circuits are closed
  std::vector<int> preference;    // the smaller, the rather independent
  std::vector<char> fixed;        // never dependent (of a quaternion)
  ExprMap<double> numbers;        // of everything else
};

struct Assembly {
  enum class Status { closed, open, start_moved, stuck, singular } status = Status::closed;
  std::vector<double> values;    // of the coordinates
  std::vector<char> redundant;   // per equation
  std::vector<int> dependent;    // coordinates, as many as equations that are not redundant
  std::vector<int> equation_of;  // of each of these: an equation paired with it
  int worst = -1;                // equation that stays open most, has lost its coordinate, or is singular
  double gap = 0.0;
  int moved = -1;  // coordinate that had to leave its start
};

// Gauss-Newton with damping from the start; then rows and columns by orthogonalisation at the assembled
// position, and Newton on the dependent coordinates with the others where the start has them. An equation
// that is redundant there and not beside it says that the start is a change point: `singular`.
Assembly assemble(const AssemblyProblem& problem);

}  // namespace tellegen
