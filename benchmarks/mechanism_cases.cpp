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
                  {{1, 2, {L2, 0, 0}, {}}}};
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
          {{1, 2, {L2, 0, 0}, {L3, 0, 0}}}};
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
  return {two, pendulum_3d(), slider_crank(), four_bar(), arm_6()};
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
  for (std::size_t k = 0; k < c.links.size(); ++k) {
    const CaseLink& l = c.links[k];
    const std::string from = arm(fmt::format("j{}", k), l.parent, l.place);
    using Joint = CaseLink::Joint;
    std::string how = fmt::format("axis = {}, {}0 = {:.17g}, speed0 = {:.17g}", list_of(l.axis),
                                  l.joint == Joint::slide ? "position" : "angle", l.q[0], l.u[0]);
    if (l.joint == Joint::ball) {
      how.clear();
      for (int i = 0; i < 3; ++i)
        how += fmt::format("{0}angle_{1}0 = {2:.17g}, angle_{1}_rate0 = {3:.17g}", i == 0 ? "" : ", ", i + 1,
                           l.q[i], l.u[i]);
    }
    text += fmt::format("h{0} = {{ kind = \"multibody.{1}\", from = \"{2}\", to = \"f{0}\", {3} }}\n", k,
                        l.joint == Joint::ball    ? "spherical"
                        : l.joint == Joint::slide ? "prismatic"
                                                  : "revolute",
                        from, how);
    text += fmt::format(
        "b{0} = {{ kind = \"multibody.body\", at = \"f{0}\", mass = {1:.17g}, com = {2}, inertia = {3} }}\n",
        k, l.mass, list_of(l.centre), list_of(l.inertia));
  }
  for (std::size_t k = 0; k < c.loops.size(); ++k) {
    const CaseLoop& loop = c.loops[k];
    const std::string from = arm(fmt::format("p{}", k), loop.first, loop.first_point),
                      to = arm(fmt::format("q{}", k), loop.second, loop.second_point);
    text +=
        fmt::format("loop{} = {{ kind = \"multibody.revolute\", from = \"{}\", to = \"{}\", cut = true }}\n",
                    k, from, to);
  }
  return text;
}

std::vector<std::string> coordinate_names(const MechanismCase& c) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < c.links.size(); ++k) {
    if (c.links[k].joint == CaseLink::Joint::ball)
      for (int i = 1; i <= 3; ++i) names.push_back(fmt::format("h{}.angle_{}", k, i));
    else
      names.push_back(
          fmt::format("h{}.{}", k, c.links[k].joint == CaseLink::Joint::slide ? "position" : "angle"));
  }
  return names;
}

}  // namespace tellegen
