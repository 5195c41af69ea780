// Accelerations of an open tree, link by link (the articulated-body recursion). What it needs at each joint
// has a name, so that every formula is as short as for a chain of one, and work grows as the number of links:
//
//   inward    inertia I and force p that the tree beyond a joint has for the joint, in motion s_1 .. s_n:
//               U = I s,  D = s.U,  e = effort - s.p,   I <- I - U U'/D,   p <- p + U e/D,   s by s
//             and, seen from the parent, onto the parent's
//   outward   accelerations  a = (e - U.A)/D,  A <- A + s a
//
// Eliminating joint by joint from the ends is what a sparse elimination of the whole mechanism would do, in
// the order that fills nothing.
//
// [Featherstone 2008] Featherstone, Rigid Body Dynamics Algorithms, ch. 7.
#pragma once

#include <span>
#include <vector>

#include "tellegen/multibody/mechanism.h"

namespace tellegen {

// A frame of the tree on its joint; vectors along its own axes but for `position`, along those of the parent.
struct TreeLink {
  int parent = -1, joint = -1;                   // frame, in Mechanism::joints; -1: the datum
  Mat3 rotation{};                               // to the parent
  Vec3 position{};                               // in the parent
  Vec3 relative_angular{}, relative_velocity{};  // the velocity along the parent's axes
  Vec3 angular{};                                // of the frame itself, a name for each component
  Vec3 angular_rate{}, velocity_rate{};          // their time derivatives
  Vec3 force{}, moment{};                        // from outside
  std::vector<Expr> effort{};                    // one for each speed of the joint
};

// Names of joints: "h.recursion_1" and so on. `order`: frames, parents first. Gives, frame by frame, the
// accelerations of the joint's speeds.
struct TreeRecursion {
  std::vector<NamedFormula> definitions;  // each in those before it, coordinates, speeds and accelerations
  std::vector<std::vector<Expr>> accelerations;
  bool undetermined = false;  // nothing with mass moves along with a joint: it has no such formula
};
TreeRecursion recurse(const Mechanism& mechanism, std::span<const TreeLink> links,
                      std::span<const int> order);

}  // namespace tellegen
