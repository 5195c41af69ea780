#include "benchmarks/mechanism_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <istream>
#include <stdexcept>

namespace tellegen {
namespace {

std::string numbers(const Triple& v) { return fmt::format("{:.17g} {:.17g} {:.17g}", v[0], v[1], v[2]); }

template <class... Values>
void take(std::istream& in, Values&... values) {
  (in >> ... >> values);
}
void take_triple(std::istream& in, Triple& v) { take(in, v[0], v[1], v[2]); }

}  // namespace

std::string to_text(const MechanismCase& c) {
  std::string text = fmt::format("{:.17g} {} {} {}\n", c.step, c.steps, c.links.size(), c.loops.size());
  for (const CaseLink& l : c.links)
    text += fmt::format("{} {} {} {} {:.17g} {} {} {} {}\n", static_cast<int>(l.joint), l.parent,
                        numbers(l.place), numbers(l.axis), l.mass, numbers(l.centre), numbers(l.inertia),
                        numbers(l.q), numbers(l.u));
  for (const CaseLoop& l : c.loops)
    text += fmt::format("{} {} {} {}\n", l.first, l.second, numbers(l.first_point), numbers(l.second_point));
  return text;
}

MechanismCase read_case(std::istream& in) {
  MechanismCase c;
  std::size_t links = 0, loops = 0;
  take(in, c.step, c.steps, links, loops);
  for (std::size_t k = 0; k < links && in; ++k) {
    CaseLink& l = c.links.emplace_back();
    int joint = 0;
    take(in, joint, l.parent);
    l.joint = static_cast<CaseLink::Joint>(joint);
    for (Triple* v : {&l.place, &l.axis}) take_triple(in, *v);
    take(in, l.mass);
    for (Triple* v : {&l.centre, &l.inertia, &l.q, &l.u}) take_triple(in, *v);
  }
  for (std::size_t k = 0; k < loops && in; ++k) {
    CaseLoop& l = c.loops.emplace_back();
    take(in, l.first, l.second);
    for (Triple* v : {&l.first_point, &l.second_point}) take_triple(in, *v);
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
