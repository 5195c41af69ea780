// What a constraint says of the motion: phi = 0 and its first and second time derivatives.
#pragma once

#include <span>
#include <vector>

#include "tellegen/multibody/mechanism.h"

namespace tellegen {

struct CircuitZero {
  Expr position, velocity, acceleration;
  Vec3 force{}, moment{};  // on `to` at its origin, for a multiplier of one, along the axes of `from`
};

// `closing`: the joint that the constraint is, where it is one, which has turned by nearly `about`; `rates`
// of coordinates and speeds.
std::vector<CircuitZero> circuit_equations(const Mechanism& mechanism, const MechanismConstraint& c,
                                           int closing, Expr about, std::span<const FrameMotion> frames,
                                           const ExprMap<Expr>& rates);

// Of a joint about or along one axis; its angle is within half a turn of `about`. Empty: of other joints.
ClosingMotion closing_motion(const Mechanism& mechanism, const MechanismJoint& joint, Expr about,
                             std::span<const FrameMotion> frames);

}  // namespace tellegen
