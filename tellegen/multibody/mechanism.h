// A mechanism in three dimensions: frames joined by joints and rigid arms, with bodies and forces at frames.
//
// Frames are the nodes of a graph and frame 0, the datum, is its ground. A spanning tree of joints and arms
// gives the coordinates q with speeds u (q' = u, or the quaternion's rule); every other joint, and every rod,
// gear and driver, closes a circuit and says
//
//   phi(q, t) = 0      and with it      phi' = 0,   phi'' = 0.
//
// The tree is one of fewest coordinates. The balance of forces and moments on each cutset of the tree,
// projected on the motion that its joint allows, is the equation of motion of that joint's coordinates
// (Newton and Euler outward, forces inward along the tree):
//
//   r_j(q, u, a, t) = effort_j + sum over k of lambda_k d phi_k'/d u_j
//
// Where circuits leave fewer freedoms than there are coordinates, some coordinates are independent (states)
// and the others follow from phi = 0 at every instant: nothing can drift. Which are independent is chosen at
// the assembled start by elimination, joints that something drives first, then in the order of the file.
//
// In an open tree with many coordinates each acceleration has a formula instead, by recursion along the tree
// (recursion.h): equations of motion that all have all accelerations grow as the cube of their number.
//
// [McPhee 1996] McPhee, On the use of linear graph theory in multibody system dynamics.
// [Featherstone 2008] Featherstone, Rigid Body Dynamics Algorithms, ch. 5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tellegen/multibody/vector.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

enum class JointKind {
  rigid,  // an arm or a weld: no coordinates
  revolute,
  prismatic,
  cylindrical,
  screw,
  universal,
  spherical,             // 1-2-3 angles
  spherical_quaternion,  // four coordinates, three speeds
  planar,
  free,
  free_quaternion,
};

// Coordinates and speeds of a joint of each kind.
struct JointSize {
  int coordinates, speeds;
};
JointSize size_of(JointKind kind);
int closing_equations(JointKind kind);  // where it closes a circuit

struct MechanismJoint {
  std::string name;
  JointKind kind = JointKind::rigid;
  int from = 0, to = 0;             // frames
  Vec3 axis{}, second{};            // of length 1
  Expr pitch{};                     // of a screw
  Vec3 offset{};                    // of an arm
  Mat3 rotation{};                  // of an arm: `to` to `from`
  std::vector<Expr> q{}, u{}, a{};  // symbols of coordinates, speeds, accelerations
  std::vector<double> start{};      // of the coordinates
  std::vector<Expr> effort{};       // of each speed, what acts in the joint on `to`; empty: nothing
  bool preferred = false;           // something drives it: in the tree, and independent if possible
  bool has_effort = false;          // it must be in the tree
  bool cut = false;                 // the user wants it to close a circuit
  bool wanted = false;              // the user wants it in the tree
  std::vector<Expr> reactions{};    // symbols of its multipliers, where it closes a circuit
};

struct MechanismBody {
  int frame = 0;
  Expr mass{};
  Vec3 centre{};
  Mat3 inertia{};  // about the centre, along the frame's axes
};

// Force and torque on a frame, in the axes of `in`; or a spring between two frames.
struct MechanismForce {
  int frame = 0, in = 0;
  Vec3 force{}, torque{};
};
struct MechanismSpring {
  int from = 0, to = 0;
  Expr stiffness{}, length{}, damping{}, preload{};
};

// Springs and dampers along and about the axes of `from`.
struct MechanismBushing {
  int from = 0, to = 0;
  Vec3 stiffness{}, damping{}, turning_stiffness{}, turning_damping{};
};

// A wheel on the plane of `from` through its origin.
struct MechanismTyre {
  int from = 0, to = 0;
  Vec3 normal{};                      // of the plane, in `from`
  Vec3 axis{};                        // of the wheel, in `to`
  Expr radius{}, slow{};              // below the speed `slow` the slip angle fades
  Expr deflection{}, rate{}, slip{};  // symbols
  Expr load{}, lateral{};             // in these
};

struct MechanismConstraint {
  enum class What { closure, distance, line, plane, gear, driver, point_driver } what = What::distance;
  std::string name;
  int from = 0, to = 0;  // frames; of gear and driver: joints, first and second
  Vec3 axis{};
  Expr value{};                     // length, ratio or motion; empty length: that of the design position
  Expr offset{};                    // of a gear
  std::vector<Expr> multipliers{};  // their symbols, one for each equation
};

struct Mechanism {
  Pool* pool = nullptr;
  std::vector<std::string> frames{"datum"};
  std::vector<MechanismJoint> joints;
  std::vector<MechanismBody> bodies;
  std::vector<MechanismForce> forces;
  std::vector<MechanismSpring> springs;
  std::vector<MechanismBushing> bushings;
  std::vector<MechanismTyre> tyres;
  std::vector<MechanismConstraint> constraints;
  Vec3 gravity{};
  ExprMap<double> numbers;  // of the parameters, to choose by
};

// What is wrong: of a joint, constraint or frame by its name.
struct MechanismFault {
  std::string_view code;
  std::string name;
  std::string message;
  std::vector<std::string> details;
};

// Position, velocity and acceleration of a frame's origin and its turning, along the datum's axes.
struct FrameMotion {
  Vec3 position{}, velocity{}, acceleration{}, angular{}, angular_acceleration{};
  Mat3 orientation{};  // frame to datum
};

struct CoordinateMotion {
  int joint = 0, index = 0;  // of the speed
  Expr q, u, a, motion;      // motion = 0 is its equation of motion
  bool independent = true;
  int constraint = -1;  // of a dependent one: in `circuits`
  double start = 0.0;   // of a dependent one: assembled
};

struct CircuitEquation {
  int constraint = 0, index = 0;  // in Mechanism::constraints, joints that close circuits come after them
  Expr multiplier;
  Expr position, velocity, acceleration;
  bool redundant = false;
};

// Coordinates, speeds and accelerations of a joint out of the tree, as its frames have them.
struct ClosingMotion {
  std::vector<Expr> q, u, a;
};

// What a joint has a name for, so that what is written in it stays short.
struct NamedFormula {
  int joint = 0;
  Expr symbol, value;
  double start = 0.0;  // its value at the start, as far as numbers are known
};

struct MechanismEquations {
  std::vector<char> in_tree;                     // per joint
  std::vector<MechanismConstraint> constraints;  // the mechanism's, then one for each joint out of the tree
  std::vector<int> closing;                      // per constraint: the joint it is, or -1
  std::vector<FrameMotion> frames;
  std::vector<CoordinateMotion> coordinates;
  std::vector<NamedFormula> named;  // of open trees with many coordinates; see recursion.h
  std::vector<std::pair<Expr, Expr>> quaternion_rates;  // coordinates that are no integrals of a speed
  std::vector<CircuitEquation> circuits;
  std::vector<Vec3> joint_force, joint_moment;  // on `to`, along the axes of `from`
  std::vector<ClosingMotion> closing_motions;   // per joint
  std::vector<std::array<Expr, 3>> tyres;       // deflection, rate and slip of each
  Expr kinetic, potential;
  Expr power;      // of everything that acts: the rate of the kinetic energy
  Expr exchanged;  // magnitudes of what bodies give one another; zero of long trees, where it would be long
  std::vector<MechanismFault> faults;
};
MechanismEquations mechanism_equations(const Mechanism& mechanism);

}  // namespace tellegen
