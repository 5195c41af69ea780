// A mechanism as plain numbers, for programs that know nothing of model files: links in a tree, each on one
// joint of its parent, points that coincide where chains close, and springs, dampers and tyres. `tellegen
// benchmark mechanisms` writes it as a model file for Tellegen and as text for the programs beside it
// (mechanism_simbody.cpp, mechanism_dart.cpp).
#pragma once

#include <array>
#include <iosfwd>
#include <string>
#include <vector>

namespace tellegen {

using Triple = std::array<double, 3>;

using Coordinates = std::array<double, 6>;

struct CaseLink {
  // Ball: body-fixed 1-2-3 angles. Universal: about x of the parent, then about z of the link. Free: place
  // along the parent's axes, then the angles of a ball.
  enum class Joint { hinge, slide, ball, universal, free } joint = Joint::hinge;
  int parent = -1;       // -1: the ground
  Triple place{};        // of the joint, in the parent
  Triple axis{0, 0, 1};  // of a hinge or slide
  double mass = 0;
  Triple centre{}, inertia{};                   // in the link; about the centre, along the link's axes
  Coordinates q{}, u{};                         // at the start; as many as there are
  double stiffness = 0, rest = 0, damping = 0;  // of a spring and a damper in a hinge or slide

  std::size_t coordinates() const {
    constexpr std::size_t counts[] = {1, 1, 3, 2, 6};
    return counts[static_cast<std::size_t>(joint)];
  }
};

// Two points of links; -1 is the ground.
struct CasePoints {
  int first = 0, second = 0;
  Triple first_point{}, second_point{};
};

struct CaseLoop : CasePoints {
  // Points that coincide in x and y of the ground (of a plane circuit), points that coincide, points that
  // keep their distance.
  enum class Kind { plane, ball, rod } kind = Kind::plane;
  double length = 0;  // of a rod
};

struct CaseSpring : CasePoints {
  double stiffness = 0, length = 0, damping = 0;
};

// On the plane y = 0, always in touch with it: a load along y by deflection and its rate, a side force
// -friction*load*tanh(cornering*slip/friction) on the point of the road below the axle.
struct CaseTyre {
  int link = 0;
  Triple point{}, axle{0, 0, 1};  // in the link
  double radius = 0, stiffness = 0, damping = 0, cornering = 0, friction = 1;
};

struct MechanismCase {
  std::string name;
  std::vector<CaseLink> links;
  std::vector<CaseLoop> loops;
  std::vector<CaseSpring> springs{};
  std::vector<CaseTyre> tyres{};
  double step = 1e-3;
  int steps = 1000;
};

inline constexpr double case_gravity = 9.81;  // along -y
inline constexpr double case_slow = 0.1;  // m/s, speed along a tyre's plane below which its slip angle fades

std::string to_text(const MechanismCase& c);
MechanismCase read_case(std::istream& in);  // throws std::runtime_error

// What a program answers: coordinates at the end, link by link, and how long the step loop took.
struct CaseAnswer {
  std::vector<double> q;
  double seconds_per_step = 0;
  std::string program;
};
std::string to_text(const CaseAnswer& answer);
CaseAnswer read_answer(std::istream& in);

}  // namespace tellegen
