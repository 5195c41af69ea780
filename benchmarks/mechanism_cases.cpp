// The mechanisms of the benchmark, and each as a model file.
#include <fmt/format.h>

#include <cmath>

#include "benchmarks/mechanisms.h"

namespace tellegen {
namespace {

constexpr double circle = 2 * 3.14159265358979323846;

// A thin round bar from the joint along x (or -y).
CaseLink bar(int parent, Triple place, double mass, double length, double angle, bool hangs = false) {
  constexpr double radius = 0.03;
  const double along = mass * radius * radius / 2,
               across = mass * (radius * radius / 4 + length * length / 12);
  CaseLink l;
  l.parent = parent;
  l.place = place;
  l.mass = mass;
  l.centre = hangs ? Triple{0, -length / 2, 0} : Triple{length / 2, 0, 0};
  l.inertia = hangs ? Triple{across, along, across} : Triple{along, across, across};
  l.q[0] = angle;
  return l;
}

MechanismCase pendulum_3d() {
  MechanismCase c{"3-D pendulum", {bar(-1, {}, 2, 1, 0.5, true)}, {}};
  c.links[0].joint = CaseLink::Joint::ball;
  c.links[0].u = {0.3, 0, 0.1};
  return c;
}

MechanismCase slider_crank() {
  const double L1 = 0.5, L2 = 1.5, a = circle / 6, b = -std::asin(L1 * std::sin(a) / L2);
  MechanismCase c{"slider-crank",
                  {bar(-1, {}, 0.3, L1, a), bar(0, {L1, 0, 0}, 0.6, L2, b - a), bar(-1, {}, 0.5, 0.1, 0)},
                  {{{1, 2, {L2, 0, 0}, {}}}}};
  c.links[2].joint = CaseLink::Joint::slide;
  c.links[2].axis = {1, 0, 0};
  c.links[2].centre = {};
  c.links[2].q[0] = L1 * std::cos(a) + L2 * std::cos(b);
  return c;
}

// Where the circles about the crank's end and the rocker's pin meet, above.
MechanismCase four_bar() {
  const double L1 = 0.3, L2 = 0.9, L3 = 0.7, ground = 1.0, a = 1.0;
  const double x = ground - L1 * std::cos(a), y = -L1 * std::sin(a), d = std::hypot(x, y);
  const double to_pin = std::atan2(y, x), at_crank = std::acos((L2 * L2 + d * d - L3 * L3) / (2 * L2 * d));
  const double coupler = to_pin + at_crank;
  const double end_x = L1 * std::cos(a) + L2 * std::cos(coupler),
               end_y = L1 * std::sin(a) + L2 * std::sin(coupler);
  return {"4-bar",
          {bar(-1, {}, 1, L1, a), bar(0, {L1, 0, 0}, 2, L2, coupler - a),
           bar(-1, {ground, 0, 0}, 1.5, L3, std::atan2(end_y, end_x - ground))},
          {{{1, 2, {L2, 0, 0}, {L3, 0, 0}}}}};
}

MechanismCase arm_6() {
  MechanismCase c{"6-joint arm", {}, {}};
  const Triple axes[] = {{0, 1, 0}, {0, 0, 1}, {0, 0, 1}, {1, 0, 0}, {0, 0, 1}, {1, 0, 0}};
  for (int k = 0; k < 6; ++k) {
    c.links.push_back(bar(k - 1, k == 0 ? Triple{} : Triple{0.3, 0, 0}, 4.0 - 0.5 * k, 0.3, 0.1 * (k + 1)));
    c.links.back().axis = axes[k];
    c.links.back().u[0] = 0.5;
  }
  return c;
}

Triple operator+(const Triple& a, const Triple& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Triple operator-(const Triple& a, const Triple& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double length(const Triple& v) { return std::hypot(v[0], v[1], v[2]); }

// A plate on six legs, each of a cylinder on a universal joint and a piston in it, on springs and dampers
// that are out of balance at the start.
MechanismCase stewart_platform() {
  using Joint = CaseLink::Joint;
  constexpr double height = 0.8, slack[] = {0.02, -0.01, 0.005, 0.015, -0.02, 0.01};
  MechanismCase c{"Stewart platform", {}, {}};
  CaseLink plate;
  plate.joint = Joint::free;
  plate.mass = 20;
  plate.inertia = {0.9, 1.7, 0.9};
  plate.q = {0, height, 0, 0, 0, 0};
  c.links.push_back(plate);
  const auto around = [](double radius, double angle) {
    return Triple{radius * std::cos(angle), 0, radius * std::sin(angle)};
  };
  for (int k = 0; k < 6; ++k) {  // pairs on the ground meet pairs of the plate that stand between them
    const double pair = circle / 3 * (k / 2), side = k % 2 == 0 ? -1 : 1;
    const Triple foot = around(0.6, pair + side * 0.3), head = around(0.4, pair + side * (circle / 6 - 0.25));
    const Triple line = head + Triple{0, height, 0} - foot;
    const double reach = length(line);
    CaseLink cylinder;
    cylinder.joint = Joint::universal;
    cylinder.place = foot;
    cylinder.mass = 2;
    cylinder.centre = {0, 0.2, 0};
    cylinder.inertia = {0.03, 0.003, 0.03};
    cylinder.q = {std::atan2(line[2], line[1]), std::asin(-line[0] / reach)};
    CaseLink piston;
    piston.joint = Joint::slide;
    piston.parent = static_cast<int>(c.links.size());
    piston.axis = {0, 1, 0};
    piston.mass = 1;
    piston.centre = {0, -0.2, 0};
    piston.inertia = {0.015, 0.001, 0.015};
    piston.q = {reach};
    piston.stiffness = 2e4;
    piston.rest = reach + slack[k];
    piston.damping = 50;
    c.links.push_back(cylinder);
    c.links.push_back(piston);
    c.loops.push_back({{piston.parent + 1, 0, {}, head}, CaseLoop::Kind::ball});
  }
  return c;
}

// The hard points of models/double-wishbone under a quarter of a car that rolls at 15 m/s and was let down
// too early: x to the side, y up, z ahead.
MechanismCase wishbone_corner() {
  using Joint = CaseLink::Joint;
  const Triple A{0.36, 0.4794, -0.0862}, B{0.36, 0.5009, 0.0521}, C{0.5407, 0.498, -0.0183},
      D{0.352, 0.2654, -0.0778}, E{0.352, 0.2308, 0.1192}, F{0.6155, 0.229, 0.0173}, H{0.635, 0.36, 0},
      I{0.579, 0.3595, 0.1499}, J{0.2975, 0.3681, 0.04}, top{0.42, 0.62, 0}, seat{0.52, 0.245, 0.01};
  MechanismCase c{"wishbone corner", {}, {}};
  const auto link = [&](Joint joint, int parent, Triple place, Triple axis, double mass, Triple centre,
                        Triple inertia) {
    CaseLink l;
    l.joint = joint, l.parent = parent, l.place = place, l.axis = axis, l.mass = mass, l.centre = centre;
    l.inertia = inertia;
    c.links.push_back(l);
  };
  const auto half = [](const Triple& v) { return Triple{v[0] / 2, v[1] / 2, v[2] / 2}; };
  link(Joint::slide, -1, {}, {0, 0, 1}, 20, {}, {1, 1, 1});
  c.links[0].u = {15};
  link(Joint::slide, 0, {}, {0, 1, 0}, 300, {0, 0.4, 0}, {20, 30, 40});
  c.links[1].q = {-0.07};
  link(Joint::hinge, 1, A, B - A, 1.5, half(C - A), {0.005, 0.012, 0.01});
  link(Joint::hinge, 1, D, E - D, 3, half(F - D), {0.012, 0.03, 0.025});
  link(Joint::ball, 2, C - A, {}, 35, H - C, {0.9, 0.6, 0.6});
  c.loops.push_back({{3, 4, F - D, F - C}, CaseLoop::Kind::ball});
  c.loops.push_back({{1, 4, J, I - C}, CaseLoop::Kind::rod, length(I - J)});
  c.springs.push_back({{1, 3, top, seat - D}, 3.5e4, length(seat - top) + 0.14, 1800});
  c.tyres.push_back({4, H - C, {1, 0, 0}, 0.3, 2e5, 300, 10, 1});
  return c;
}

std::string list_of(const Triple& v) { return fmt::format("[{:.17g}, {:.17g}, {:.17g}]", v[0], v[1], v[2]); }

}  // namespace

MechanismCase chain_case(int count) {
  MechanismCase c{fmt::format("chain of {}", count), {}, {}};
  for (int k = 0; k < count; ++k)
    c.links.push_back(bar(k - 1, k == 0 ? Triple{} : Triple{0, -1, 0}, 1, 1, k == 0 ? 0.5 : 0.0, true));
  if (count > 100) c.steps = 200;
  return c;
}

std::vector<MechanismCase> mechanism_cases() {
  MechanismCase two{
      "double pendulum", {bar(-1, {}, 1, 1, 0.5, true), bar(0, {0, -1, 0}, 1, 1, 0.3, true)}, {}};
  return {two, pendulum_3d(), slider_crank(), four_bar(), arm_6(), stewart_platform(), wishbone_corner()};
}

std::string model_text(const MechanismCase& c) {
  std::string text = fmt::format(
      "[components]\ngravity = {{ kind = \"multibody.gravity\", g = [0, -{}, 0] }}\n", case_gravity);
  const auto frame = [](int link) { return link < 0 ? std::string("datum") : fmt::format("f{}", link); };
  const auto arm = [&](const std::string& name, int from, const Triple& offset) {
    if (offset == Triple{}) return frame(from);
    text +=
        fmt::format("a_{0} = {{ kind = \"multibody.arm\", from = \"{1}\", to = \"{0}\", offset = {2} }}\n",
                    name, frame(from), list_of(offset));
    return name;
  };
  using Joint = CaseLink::Joint;
  const auto starts = [](const CaseLink& l, const std::vector<std::string>& names) {
    std::string start;
    for (std::size_t i = 0; i < names.size(); ++i)
      start += fmt::format(", {0}0 = {1:.17g}, {0}_rate0 = {2:.17g}", names[i], l.q[i], l.u[i]);
    return start;
  };
  for (std::size_t k = 0; k < c.links.size(); ++k) {
    const CaseLink& l = c.links[k];
    const std::string from = arm(fmt::format("j{}", k), l.parent, l.place);
    std::string kind, how;
    if (l.joint == Joint::ball)
      kind = "spherical", how = starts(l, {"angle_1", "angle_2", "angle_3"});
    else if (l.joint == Joint::universal)
      kind = "universal", how = ", axis = [1, 0, 0], second = [0, 0, 1]" + starts(l, {"angle_1", "angle_2"});
    else if (l.joint == Joint::free)
      kind = "free", how = starts(l, {"x", "y", "z", "angle_1", "angle_2", "angle_3"});
    else {
      const bool slides = l.joint == Joint::slide;
      kind = slides ? "prismatic" : "revolute";
      how = fmt::format(", axis = {}, {}0 = {:.17g}, speed0 = {:.17g}", list_of(l.axis),
                        slides ? "position" : "angle", l.q[0], l.u[0]);
      if (l.stiffness != 0 || l.damping != 0)
        how += fmt::format(", stiffness = {:.17g}, rest = {:.17g}, damping = {:.17g}", l.stiffness, l.rest,
                           l.damping);
    }
    text += fmt::format("h{0} = {{ kind = \"multibody.{1}\", from = \"{2}\", to = \"f{0}\"{3} }}\n", k, kind,
                        from, how);
    text += fmt::format(
        "b{0} = {{ kind = \"multibody.body\", at = \"f{0}\", mass = {1:.17g}, com = {2}, inertia = {3} }}\n",
        k, l.mass, list_of(l.centre), list_of(l.inertia));
  }
  for (std::size_t k = 0; k < c.loops.size(); ++k) {
    const CaseLoop& loop = c.loops[k];
    const std::string from = arm(fmt::format("p{}", k), loop.first, loop.first_point),
                      to = arm(fmt::format("q{}", k), loop.second, loop.second_point);
    using Kind = CaseLoop::Kind;
    text += fmt::format("loop{} = {{ kind = \"multibody.{}\", from = \"{}\", to = \"{}\", {} }}\n", k,
                        loop.kind == Kind::plane  ? "revolute"
                        : loop.kind == Kind::ball ? "spherical"
                                                  : "rod",
                        from, to,
                        loop.kind == Kind::rod ? fmt::format("length = {:.17g}", loop.length) : "cut = true");
  }
  for (std::size_t k = 0; k < c.springs.size(); ++k) {
    const CaseSpring& s = c.springs[k];
    const std::string from = arm(fmt::format("s{}", k), s.first, s.first_point),
                      to = arm(fmt::format("t{}", k), s.second, s.second_point);
    text += fmt::format(
        "spring{} = {{ kind = \"multibody.spring\", from = \"{}\", to = \"{}\", stiffness = {:.17g}, length "
        "= "
        "{:.17g}, damping = {:.17g} }}\n",
        k, from, to, s.stiffness, s.length, s.damping);
  }
  for (std::size_t k = 0; k < c.tyres.size(); ++k) {
    const CaseTyre& t = c.tyres[k];
    text += fmt::format(
        "tyre{} = {{ kind = \"multibody.tyre\", from = \"datum\", to = \"{}\", axis = {}, radius = {:.17g}, "
        "stiffness = {:.17g}, damping = {:.17g}, cornering = {:.17g}, friction = {:.17g}, slow = {:.17g} "
        "}}\n",
        k, arm(fmt::format("w{}", k), t.link, t.point), list_of(t.axle), t.radius, t.stiffness, t.damping,
        t.cornering, t.friction, case_slow);
  }
  return text;
}

std::vector<std::string> coordinate_names(const MechanismCase& c) {
  std::vector<std::string> names;
  using Joint = CaseLink::Joint;
  for (std::size_t k = 0; k < c.links.size(); ++k) {
    const Joint joint = c.links[k].joint;
    if (joint == Joint::hinge || joint == Joint::slide) {
      names.push_back(fmt::format("h{}.{}", k, joint == Joint::slide ? "position" : "angle"));
      continue;
    }
    if (joint == Joint::free)
      for (const char* place : {"x", "y", "z"}) names.push_back(fmt::format("h{}.{}", k, place));
    for (int i = 1; i <= (joint == Joint::universal ? 2 : 3); ++i)
      names.push_back(fmt::format("h{}.angle_{}", k, i));
  }
  return names;
}

}  // namespace tellegen
