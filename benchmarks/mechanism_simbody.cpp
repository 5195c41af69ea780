// A mechanism by Simbody: the case on standard input, the answer on standard output. Its own formulation and
// constraints; the integrator is the classical Runge-Kutta formula, as in the programs beside it.
//
// Debian's library is built with its checks on, and a program without them crashes against it: NDEBUG is not
// set here.
#include <Simbody.h>

#include <iostream>

#include "benchmarks/best_of.h"
#include "benchmarks/mechanism_case.h"

namespace {

using tellegen::CaseLink;
using tellegen::MechanismCase;
using tellegen::Triple;

SimTK::Vec3 vector(const Triple& v) { return {v[0], v[1], v[2]}; }

class SimbodyCase {
 public:
  explicit SimbodyCase(const MechanismCase& c) : case_(c) {
    SimTK::Force::UniformGravity(forces_, matter_, SimTK::Vec3(0, -tellegen::case_gravity, 0));
    for (const CaseLink& l : c.links) add(l);
    for (const tellegen::CaseLoop& loop : c.loops)
      for (const SimTK::UnitVec3& direction : {SimTK::UnitVec3(1, 0, 0), SimTK::UnitVec3(0, 1, 0)})
        SimTK::Constraint::PointInPlane(bodies_[loop.second], direction,
                                        dot(direction, vector(loop.second_point)), bodies_[loop.first],
                                        vector(loop.first_point));
    start_ = system_.realizeTopology();
    system_.realizeModel(start_);
    for (std::size_t k = 0; k < c.links.size(); ++k)
      for (std::size_t i = 0; i < c.links[k].coordinates(); ++i) {
        bodies_[k].setOneQ(start_, static_cast<int>(i), c.links[k].q[i]);
        bodies_[k].setOneU(start_, static_cast<int>(i), c.links[k].u[i]);
      }
  }

  std::vector<double> run() {
    SimTK::State s = start_;
    const double h = case_.step;
    SimTK::Vector q, u, dq[4], du[4];
    const auto slope = [&](int k) {
      system_.realize(s, SimTK::Stage::Acceleration);
      dq[k] = s.getQDot();
      du[k] = s.getUDot();
    };
    for (int step = 0; step < case_.steps; ++step) {
      q = s.getQ();
      u = s.getU();
      slope(0);
      for (int k = 1; k < 4; ++k) {
        const double part = k < 3 ? h / 2 : h;
        s.updQ() = q + part * dq[k - 1];
        s.updU() = u + part * du[k - 1];
        slope(k);
      }
      s.updQ() = q + h / 6 * (dq[0] + 2 * dq[1] + 2 * dq[2] + dq[3]);
      s.updU() = u + h / 6 * (du[0] + 2 * du[1] + 2 * du[2] + du[3]);
      if (!case_.loops.empty()) {
        system_.realize(s, SimTK::Stage::Velocity);
        system_.project(s, 1e-9);
      }
    }
    std::vector<double> all;
    for (std::size_t k = 0; k < bodies_.size(); ++k)
      for (std::size_t i = 0; i < case_.links[k].coordinates(); ++i)
        all.push_back(bodies_[k].getOneQ(s, static_cast<int>(i)));
    return all;
  }

 private:
  void add(const CaseLink& l) {
    SimTK::MobilizedBody parent = matter_.updGround();
    if (l.parent >= 0) parent = bodies_[l.parent];
    const SimTK::Vec3 centre = vector(l.centre);
    const SimTK::Body::Rigid body(SimTK::MassProperties(
        l.mass, centre,
        SimTK::Inertia(l.inertia[0], l.inertia[1], l.inertia[2]).shiftFromMassCenter(-centre, l.mass)));
    const bool slides = l.joint == CaseLink::Joint::slide, ball = l.joint == CaseLink::Joint::ball;
    SimTK::Rotation turn;
    if (!ball)
      turn = SimTK::Rotation(SimTK::UnitVec3(vector(l.axis)), slides ? SimTK::CoordinateAxis(SimTK::XAxis)
                                                                     : SimTK::CoordinateAxis(SimTK::ZAxis));
    const SimTK::Transform at(turn, vector(l.place)), own(turn, SimTK::Vec3(0));
    if (ball)
      bodies_.push_back(SimTK::MobilizedBody::Gimbal(parent, at, body, own));
    else if (slides)
      bodies_.push_back(SimTK::MobilizedBody::Slider(parent, at, body, own));
    else
      bodies_.push_back(SimTK::MobilizedBody::Pin(parent, at, body, own));
  }

  const MechanismCase& case_;
  SimTK::MultibodySystem system_;
  SimTK::SimbodyMatterSubsystem matter_{system_};
  SimTK::GeneralForceSubsystem forces_{system_};
  std::vector<SimTK::MobilizedBody> bodies_;
  SimTK::State start_;
};

}  // namespace

int main() {
  try {
    const MechanismCase c = tellegen::read_case(std::cin);
    SimbodyCase simbody(c);
    tellegen::CaseAnswer answer;
    answer.program = "Simbody";
    answer.seconds_per_step = tellegen::best_of([&] { answer.q = simbody.run(); }, 1.0) / c.steps;
    std::cout << to_text(answer);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
