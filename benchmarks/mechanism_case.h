// A mechanism as plain numbers, for programs that know nothing of model files: links in a tree, each on one
// joint of its parent, and points that coincide where chains close. `tellegen benchmark mechanisms` writes it
// as a model file for Tellegen and as text for the programs beside it (mechanism_simbody.cpp,
// mechanism_dart.cpp).
#pragma once

#include <array>
#include <iosfwd>
#include <string>
#include <vector>

namespace tellegen {

using Triple = std::array<double, 3>;

struct CaseLink {
  enum class Joint { hinge, slide, ball } joint = Joint::hinge;  // ball: body-fixed 1-2-3 angles
  int parent = -1;                                               // -1: the ground
  Triple place{};                                                // of the joint, in the parent
  Triple axis{0, 0, 1};
  double mass = 0;
  Triple centre{}, inertia{};  // in the link; about the centre, along the link's axes
  Triple q{}, u{};             // at the start; the first alone, but for a ball

  std::size_t coordinates() const { return joint == Joint::ball ? 3 : 1; }
};

// The points coincide in x and y of the ground: circuits are plane.
struct CaseLoop {
  int first = 0, second = 0;
  Triple first_point{}, second_point{};
};

struct MechanismCase {
  std::string name;
  std::vector<CaseLink> links;
  std::vector<CaseLoop> loops;
  double step = 1e-3;
  int steps = 1000;
};

inline constexpr double case_gravity = 9.81;  // along -y

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
