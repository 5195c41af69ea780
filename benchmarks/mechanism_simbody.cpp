// A mechanism by Simbody: the case on standard input, the answer on standard output. Its own formulation and
// constraints; the integrator is the classical Runge-Kutta formula, as in the programs beside it.
//
// Debian's library is built with its checks on, and a program without them crashes against it: NDEBUG is not
// set here.
#include <Simbody.h>

#include <cmath>
#include <iostream>

#include "benchmarks/best_of.h"
#include "benchmarks/mechanism_case.h"

namespace {

using tellegen::CaseLink;
using tellegen::MechanismCase;
using tellegen::Triple;

SimTK::Vec3 vector(const Triple& v) { return {v[0], v[1], v[2]}; }

// The road on a wheel, as in CaseTyre.
class Tyre : public SimTK::Force::Custom::Implementation {
 public:
  Tyre(const SimTK::MobilizedBody& wheel, const tellegen::CaseTyre& tyre) : wheel_(wheel), tyre_(tyre) {}
  void calcForce(const SimTK::State& s, SimTK::Vector_<SimTK::SpatialVec>& on_bodies,
                 SimTK::Vector_<SimTK::Vec3>&, SimTK::Vector&) const override {
    const SimTK::Vec3 point = vector(tyre_.point);
    const SimTK::Vec3 place = wheel_.findStationLocationInGround(s, point),
                      velocity = wheel_.findStationVelocityInGround(s, point);
    const SimTK::Vec3 up(0, 1, 0), axle = wheel_.expressVectorInGroundFrame(s, vector(tyre_.axle));
    const SimTK::Vec3 ahead = (axle % up).normalize(), side = up % ahead;
    const double along = dot(ahead, velocity);
    const double slip =
        std::atan(dot(side, velocity) / std::sqrt(along * along + tellegen::case_slow * tellegen::case_slow));
    const double load = tyre_.stiffness * (tyre_.radius - place[1]) - tyre_.damping * velocity[1];
    const double lateral = -tyre_.friction * load * std::tanh(tyre_.cornering * slip / tyre_.friction);
    const SimTK::Vec3 contact(place[0], 0, place[2]), force = load * up + lateral * side;
    const SimTK::Vec3 arm = contact - wheel_.getBodyOriginLocation(s);
    on_bodies[wheel_.getMobilizedBodyIndex()] += SimTK::SpatialVec(arm % force, force);
  }
  SimTK::Real calcPotentialEnergy(const SimTK::State&) const override { return 0; }

 private:
  const SimTK::MobilizedBody wheel_;
  const tellegen::CaseTyre tyre_;
};

class SimbodyCase {
 public:
  explicit SimbodyCase(const MechanismCase& c) : case_(c) {
    SimTK::Force::UniformGravity(forces_, matter_, SimTK::Vec3(0, -tellegen::case_gravity, 0));
    for (const CaseLink& l : c.links) add(l);
    for (const tellegen::CaseLoop& loop : c.loops) close(loop);
    for (const tellegen::CaseSpring& s : c.springs) {
      const SimTK::Vec3 first = vector(s.first_point), second = vector(s.second_point);
      SimTK::Force::TwoPointLinearSpring(forces_, body(s.first), first, body(s.second), second, s.stiffness,
                                         s.length);
      SimTK::Force::TwoPointLinearDamper(forces_, body(s.first), first, body(s.second), second, s.damping);
    }
    for (const tellegen::CaseTyre& t : c.tyres) SimTK::Force::Custom(forces_, new Tyre(bodies_[t.link], t));
    start_ = system_.realizeTopology();
    system_.realizeModel(start_);
    for (std::size_t k = 0; k < c.links.size(); ++k)
      for (std::size_t i = 0; i < c.links[k].coordinates(); ++i) {
        bodies_[k].setOneQ(start_, place_of(k, i), c.links[k].q[i]);
        bodies_[k].setOneU(start_, place_of(k, i), c.links[k].u[i]);
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
        all.push_back(bodies_[k].getOneQ(s, place_of(k, i)));
    return all;
  }

 private:
  // A bushing has its angles first.
  int place_of(std::size_t link, std::size_t coordinate) const {
    const bool free = case_.links[link].joint == CaseLink::Joint::free;
    return static_cast<int>(free ? (coordinate + 3) % 6 : coordinate);
  }
  SimTK::MobilizedBody& body(int link) { return link < 0 ? matter_.updGround() : bodies_[link]; }

  void close(const tellegen::CaseLoop& loop) {
    const SimTK::Vec3 first = vector(loop.first_point), second = vector(loop.second_point);
    SimTK::MobilizedBody &a = body(loop.first), &b = body(loop.second);
    using Kind = tellegen::CaseLoop::Kind;
    if (loop.kind == Kind::ball)
      SimTK::Constraint::Ball(a, first, b, second);
    else if (loop.kind == Kind::rod)
      SimTK::Constraint::Rod(a, first, b, second, loop.length);
    else
      for (const SimTK::UnitVec3& direction : {SimTK::UnitVec3(1, 0, 0), SimTK::UnitVec3(0, 1, 0)})
        SimTK::Constraint::PointInPlane(b, direction, dot(direction, second), a, first);
  }

  void add(const CaseLink& l) {
    SimTK::MobilizedBody parent = matter_.updGround();
    if (l.parent >= 0) parent = bodies_[l.parent];
    const SimTK::Vec3 centre = vector(l.centre);
    const SimTK::Body::Rigid body(SimTK::MassProperties(
        l.mass, centre,
        SimTK::Inertia(l.inertia[0], l.inertia[1], l.inertia[2]).shiftFromMassCenter(-centre, l.mass)));
    using Joint = CaseLink::Joint;
    const bool slides = l.joint == Joint::slide;
    SimTK::Rotation turn;
    if (l.joint == Joint::universal)  // about x, then about y
      turn = SimTK::Rotation(SimTK::UnitVec3(1, 0, 0), SimTK::XAxis, SimTK::Vec3(0, 0, 1), SimTK::YAxis);
    else if (slides || l.joint == Joint::hinge)
      turn = SimTK::Rotation(SimTK::UnitVec3(vector(l.axis)), slides ? SimTK::CoordinateAxis(SimTK::XAxis)
                                                                     : SimTK::CoordinateAxis(SimTK::ZAxis));
    const SimTK::Transform at(turn, vector(l.place)), own(turn, SimTK::Vec3(0));
    if (l.joint == Joint::ball)
      bodies_.push_back(SimTK::MobilizedBody::Gimbal(parent, at, body, own));
    else if (l.joint == Joint::universal)
      bodies_.push_back(SimTK::MobilizedBody::Universal(parent, at, body, own));
    else if (l.joint == Joint::free)
      bodies_.push_back(SimTK::MobilizedBody::Bushing(parent, at, body, own));
    else if (slides)
      bodies_.push_back(SimTK::MobilizedBody::Slider(parent, at, body, own));
    else
      bodies_.push_back(SimTK::MobilizedBody::Pin(parent, at, body, own));
    if (l.stiffness != 0)
      SimTK::Force::MobilityLinearSpring(forces_, bodies_.back(), SimTK::MobilizerQIndex(0), l.stiffness,
                                         l.rest);
    if (l.damping != 0)
      SimTK::Force::MobilityLinearDamper(forces_, bodies_.back(), SimTK::MobilizerUIndex(0), l.damping);
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
