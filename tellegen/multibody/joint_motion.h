// What each kind of joint lets its frames do.
#pragma once

#include "tellegen/multibody/mechanism.h"

namespace tellegen {

// Of `to` in `from`: place and orientation, with the motion that the speeds give.
struct RelativeMotion {
  Mat3 rotation;            // `to` to `from`
  Vec3 position;            // in `from`
  Vec3 angular;             // in `to`
  std::vector<Expr> rates;  // of the coordinates
};
RelativeMotion relative_motion(const Mechanism& mechanism, const MechanismJoint& joint);

// Two directions across a third one, which all have length 1.
std::array<Vec3, 2> across(const Mechanism& mechanism, const Vec3& axis);

// The angle of `rotation` about the axis of a joint, nearest to `about`: so turns are counted.
Expr turned_angle(const Mechanism& mechanism, const MechanismJoint& joint, const Mat3& rotation, Expr about);

// What holds between the frames of a joint that closes a circuit: zeros of the place and orientation of `to`
// in `from`, which has turned by nearly `about`. A weld at an offset is an arm.
std::vector<Expr> closure(const Mechanism& mechanism, const MechanismJoint& joint, const Mat3& rotation,
                          const Vec3& position, Expr about);

// d e/dt along the motion: symbols and their rates.
Expr time_derivative(Expr e, const ExprMap<Expr>& rates);

}  // namespace tellegen
