// What a constraint says of the motion: phi = 0 and its first and second time derivatives.
#pragma once

#include <span>
#include <vector>

#include "tellegen/multibody/mechanism.h"

namespace tellegen {

struct CircuitZero {
  Expr position, velocity, acceleration;
};

// `closing`: the joint that the constraint is, where it is one; `rates` of coordinates and speeds.
std::vector<CircuitZero> circuit_equations(const Mechanism& mechanism, const MechanismConstraint& c,
                                           int closing, std::span<const FrameMotion> frames,
                                           const ExprMap<Expr>& rates);

}  // namespace tellegen
