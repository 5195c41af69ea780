// What acts between two frames as a law of their motion: springs, bushings, tyres.
//
//   spring   along the line between the origins: k (length - slack) + d length' + preload
//   bushing  of a displacement x along the axes of `from`:  F_i = -k_i x_i - d_i x_i',  at the origin of
//   `to`; of
//            a rotation R the gradient of  V = sum of g_i (1 - R_ii),  g_1 = (c_2 + c_3 - c_1)/2 and so on:
//            for small angles M_i = -c_i angle_i, and conservative for large ones, without a singular
//            attitude
//   tyre     a disc that touches a plane of `from` below the origin of `to`: a load along the normal of the
//            plane, a force along the axle's trace in it; both are laws of deflection, its rate and the slip
//            angle (the kind's file has them)
#pragma once

#include <span>
#include <vector>

#include "tellegen/multibody/mechanism.h"

namespace tellegen {

// Along the datum's axes; the moment about the frame's origin.
struct FrameLoad {
  int frame = 0;
  Vec3 force{}, moment{};
};

struct ForceLaw {
  std::vector<FrameLoad> loads;
  Expr potential;  // energy that it stores
  Expr power;      // of the rest, on the bodies
};

ForceLaw spring_law(const MechanismSpring& spring, std::span<const FrameMotion> frames);
ForceLaw bushing_law(const MechanismBushing& bushing, std::span<const FrameMotion> frames);

// Deflection, its rate and slip angle of a tyre, as formulas of the motion.
struct TyreMotion {
  Expr deflection, rate, slip;
  Expr height;                 // of the axle over the road
  Vec3 line;                   // from the road's origin to the axle
  Vec3 normal, forward, side;  // of length 1
};
TyreMotion tyre_motion(const MechanismTyre& tyre, std::span<const FrameMotion> frames);
ForceLaw tyre_law(const MechanismTyre& tyre, const TyreMotion& motion, std::span<const FrameMotion> frames);

}  // namespace tellegen
