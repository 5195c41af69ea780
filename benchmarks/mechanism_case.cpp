#include "benchmarks/mechanism_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <istream>
#include <stdexcept>

namespace tellegen {
namespace {

template <std::size_t n>
std::string numbers(const std::array<double, n>& v) {
  return fmt::format("{:.17g}", fmt::join(v, " "));
}

template <class... Values>
void take(std::istream& in, Values&... values) {
  (in >> ... >> values);
}
template <std::size_t n>
void take_all(std::istream& in, std::array<double, n>& v) {
  for (double& x : v) in >> x;
}

std::string points_text(const CasePoints& p) {
  return fmt::format("{} {} {} {}", p.first, p.second, numbers(p.first_point), numbers(p.second_point));
}
void take_points(std::istream& in, CasePoints& p) {
  take(in, p.first, p.second);
  for (Triple* v : {&p.first_point, &p.second_point}) take_all(in, *v);
}

}  // namespace

std::string to_text(const MechanismCase& c) {
  std::string text = fmt::format("{:.17g} {} {} {} {} {}\n", c.step, c.steps, c.links.size(), c.loops.size(),
                                 c.springs.size(), c.tyres.size());
  for (const CaseLink& l : c.links)
    text +=
        fmt::format("{} {} {} {} {:.17g} {} {} {} {} {:.17g} {:.17g} {:.17g}\n", static_cast<int>(l.joint),
                    l.parent, numbers(l.place), numbers(l.axis), l.mass, numbers(l.centre),
                    numbers(l.inertia), numbers(l.q), numbers(l.u), l.stiffness, l.rest, l.damping);
  for (const CaseLoop& l : c.loops)
    text += fmt::format("{} {:.17g} {}\n", static_cast<int>(l.kind), l.length, points_text(l));
  for (const CaseSpring& s : c.springs)
    text += fmt::format("{:.17g} {:.17g} {:.17g} {}\n", s.stiffness, s.length, s.damping, points_text(s));
  for (const CaseTyre& t : c.tyres)
    text += fmt::format("{} {} {} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g}\n", t.link, numbers(t.point),
                        numbers(t.axle), t.radius, t.stiffness, t.damping, t.cornering, t.friction);
  return text;
}

MechanismCase read_case(std::istream& in) {
  MechanismCase c;
  std::size_t links = 0, loops = 0, springs = 0, tyres = 0;
  take(in, c.step, c.steps, links, loops, springs, tyres);
  for (std::size_t k = 0; k < links && in; ++k) {
    CaseLink& l = c.links.emplace_back();
    int joint = 0;
    take(in, joint, l.parent);
    l.joint = static_cast<CaseLink::Joint>(joint);
    for (Triple* v : {&l.place, &l.axis}) take_all(in, *v);
    take(in, l.mass);
    for (Triple* v : {&l.centre, &l.inertia}) take_all(in, *v);
    for (Coordinates* v : {&l.q, &l.u}) take_all(in, *v);
    take(in, l.stiffness, l.rest, l.damping);
  }
  for (std::size_t k = 0; k < loops && in; ++k) {
    CaseLoop& l = c.loops.emplace_back();
    int kind = 0;
    take(in, kind, l.length);
    l.kind = static_cast<CaseLoop::Kind>(kind);
    take_points(in, l);
  }
  for (std::size_t k = 0; k < springs && in; ++k) {
    CaseSpring& s = c.springs.emplace_back();
    take(in, s.stiffness, s.length, s.damping);
    take_points(in, s);
  }
  for (std::size_t k = 0; k < tyres && in; ++k) {
    CaseTyre& t = c.tyres.emplace_back();
    take(in, t.link);
    for (Triple* v : {&t.point, &t.axle}) take_all(in, *v);
    take(in, t.radius, t.stiffness, t.damping, t.cornering, t.friction);
  }
  if (!in) throw std::runtime_error("a mechanism that cannot be read");
  return c;
}

std::string to_text(const CaseAnswer& answer) {
  return fmt::format("{} {:.9g} {} {:.17g}\n", answer.program, answer.seconds_per_step, answer.q.size(),
                     fmt::join(answer.q, " "));
}

CaseAnswer read_answer(std::istream& in) {
  CaseAnswer answer;
  std::size_t count = 0;
  take(in, answer.program, answer.seconds_per_step, count);
  answer.q.resize(in ? count : 0);
  for (double& q : answer.q) in >> q;
  if (!in) throw std::runtime_error("it gave no answer");
  return answer;
}

}  // namespace tellegen
