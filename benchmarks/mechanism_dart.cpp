// A mechanism by DART: the case on standard input, the answer on standard output. Accelerations by its
// articulated-body recursion; where chains close, which its skeletons do not know, by its mass matrix and
// Jacobians with multipliers, and the loops closed again after every step. The integrator is the classical
// Runge-Kutta formula, as in the programs beside it.
#include <cmath>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/EulerJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/TranslationalJoint.hpp>
#include <dart/dynamics/UniversalJoint.hpp>
#include <iostream>

#include "benchmarks/best_of.h"
#include "benchmarks/mechanism_case.h"

namespace {

using tellegen::CaseLink;
using tellegen::CaseLoop;
using tellegen::MechanismCase;
using tellegen::Triple;
namespace dd = dart::dynamics;

Eigen::Vector3d vector(const Triple& v) { return {v[0], v[1], v[2]}; }

class DartCase {
 public:
  explicit DartCase(const MechanismCase& c) : case_(c), skeleton_(dd::Skeleton::create("mechanism")) {
    skeleton_->setGravity(Eigen::Vector3d(0, -tellegen::case_gravity, 0));
    for (const CaseLink& l : c.links) {
      add(l);
      has_forces_ = has_forces_ || l.stiffness != 0 || l.damping != 0;
    }
    has_forces_ = has_forces_ || !c.springs.empty() || !c.tyres.empty();
    q_.resize(static_cast<long>(skeleton_->getNumDofs()));
    u_.resize(q_.size());
    long at = 0;
    for (const CaseLink& l : c.links)
      for (std::size_t i = 0; i < l.coordinates(); ++i, ++at) q_[at] = l.q[i], u_[at] = l.u[i];
  }

  std::vector<double> run() {
    Eigen::VectorXd q = q_, u = u_, dq[4], du[4];
    const double h = case_.step;
    for (int step = 0; step < case_.steps; ++step) {
      dq[0] = u;
      du[0] = acceleration(q, u);
      for (int k = 1; k < 4; ++k) {
        const double part = k < 3 ? h / 2 : h;
        dq[k] = u + part * du[k - 1];
        du[k] = acceleration(q + part * dq[k - 1], dq[k]);
      }
      q += h / 6 * (dq[0] + 2 * dq[1] + 2 * dq[2] + dq[3]);
      u += h / 6 * (du[0] + 2 * du[1] + 2 * du[2] + du[3]);
      if (!case_.loops.empty()) close(q, u);
    }
    return {q.data(), q.data() + q.size()};
  }

 private:
  template <class Joint>
  dd::BodyNode* body_on(const CaseLink& l, dd::BodyNode* parent, typename Joint::Properties properties,
                        const std::string& name) {
    dd::BodyNode::Properties body;
    properties.mName = "joint of " + name;  // or it says that it made one up
    body.mName = name;
    body.mInertia.setMass(l.mass);
    body.mInertia.setLocalCOM(vector(l.centre));
    body.mInertia.setMoment(l.inertia[0], l.inertia[1], l.inertia[2], 0, 0, 0);
    return skeleton_->createJointAndBodyNodePair<Joint>(parent, properties, body).second;
  }
  template <class Joint>
  void add_as(const CaseLink& l, typename Joint::Properties properties) {
    properties.mT_ParentBodyToJoint.translation() = vector(l.place);
    dd::BodyNode* parent = l.parent < 0 ? nullptr : bodies_[l.parent];
    bodies_.push_back(body_on<Joint>(l, parent, properties, std::to_string(bodies_.size())));
  }
  void add(const CaseLink& l) {
    if (l.joint == CaseLink::Joint::ball || l.joint == CaseLink::Joint::free) {
      dd::EulerJoint::Properties properties;
      properties.mAxisOrder = dd::EulerJoint::AxisOrder::XYZ;
      if (l.joint == CaseLink::Joint::ball) return add_as<dd::EulerJoint>(l, properties);
      // Its own free joint has other coordinates: a body without mass (of any that can be neglected) between.
      CaseLink light;
      light.mass = 1e-12;
      light.inertia = {1e-12, 1e-12, 1e-12};
      dd::TranslationalJoint::Properties translation;
      translation.mT_ParentBodyToJoint.translation() = vector(l.place);
      dd::BodyNode* parent = l.parent < 0 ? nullptr : bodies_[l.parent];
      const std::string name = std::to_string(bodies_.size());
      parent = body_on<dd::TranslationalJoint>(light, parent, translation, name + " moved");
      bodies_.push_back(body_on<dd::EulerJoint>(l, parent, properties, name));
    } else if (l.joint == CaseLink::Joint::universal) {
      dd::UniversalJoint::Properties properties;
      properties.mAxis = {Eigen::Vector3d::UnitX(), Eigen::Vector3d::UnitZ()};
      add_as<dd::UniversalJoint>(l, properties);
    } else if (l.joint == CaseLink::Joint::slide) {
      dd::PrismaticJoint::Properties properties;
      properties.mAxis = vector(l.axis);
      add_as<dd::PrismaticJoint>(l, properties);
    } else {
      dd::RevoluteJoint::Properties properties;
      properties.mAxis = vector(l.axis);
      add_as<dd::RevoluteJoint>(l, properties);
    }
  }

  struct Point {
    dd::BodyNode* body;  // none: the ground
    Eigen::Vector3d offset;
    Eigen::Vector3d place() const {
      return body ? Eigen::Vector3d(body->getWorldTransform() * offset) : offset;
    }
    Eigen::Vector3d velocity() const {
      return body ? body->getLinearVelocity(offset) : Eigen::Vector3d::Zero();
    }
  };
  Point point(int link, const Triple& offset) const {
    return {link < 0 ? nullptr : bodies_[link], vector(offset)};
  }

  // What the loops say: gap, its Jacobian, and the part of its second derivative that has no acceleration.
  void look_at_loops(const Eigen::VectorXd& u) {
    using Kind = CaseLoop::Kind;
    long rows = 0, row = 0;
    for (const CaseLoop& loop : case_.loops) rows += rows_of(loop);
    gap_.setZero(rows);
    jacobian_.setZero(rows, q_.size());
    rest_.setZero(rows);
    for (const CaseLoop& loop : case_.loops) {
      const Point first = point(loop.first, loop.first_point), second = point(loop.second, loop.second_point);
      const Eigen::Vector3d line = first.place() - second.place();
      const long count = rows_of(loop);
      Eigen::Matrix3d along = Eigen::Matrix3d::Identity();  // directions that are held
      if (loop.kind == Kind::rod) along.row(0) = line.normalized().transpose();
      const auto held = along.topRows(count);
      gap_.segment(row, count) = held * line;
      if (loop.kind == Kind::rod) {
        const Eigen::Vector3d speed = first.velocity() - second.velocity();
        const double closing = along.row(0) * speed;
        gap_[row] -= loop.length;
        rest_[row] = (speed.squaredNorm() - closing * closing) / line.norm();
      }
      for (const auto& [p, sign] : {std::pair(first, 1.0), std::pair(second, -1.0)}) {
        if (!p.body) continue;
        const auto columns = p.body->getDependentGenCoordIndices();
        const auto j = p.body->getLinearJacobian(p.offset);
        const auto rate = p.body->getLinearJacobianDeriv(p.offset);
        for (std::size_t k = 0; k < columns.size(); ++k) {
          const long c = static_cast<long>(columns[k]), own = static_cast<long>(k);
          jacobian_.block(row, c, count, 1) += sign * held * j.col(own);
          rest_.segment(row, count) += sign * held * rate.col(own) * u[c];
        }
      }
      row += count;
    }
  }
  static long rows_of(const CaseLoop& loop) {
    return loop.kind == CaseLoop::Kind::plane ? 2 : loop.kind == CaseLoop::Kind::ball ? 3 : 1;
  }

  // Springs, dampers and tyres, at the coordinates. Its own springs and dampers in joints reckon with a step
  // of its own.
  void add_force(const Point& p, const Eigen::Vector3d& force, const Eigen::Vector3d& arm) {
    if (!p.body) return;
    const auto columns = p.body->getDependentGenCoordIndices();
    const auto linear = p.body->getLinearJacobian(p.offset);
    const auto angular = p.body->getAngularJacobian();
    const Eigen::Vector3d moment = arm.cross(force);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const long own = static_cast<long>(k);
      forces_[static_cast<long>(columns[k])] += linear.col(own).dot(force) + angular.col(own).dot(moment);
    }
  }
  void sum_forces(const Eigen::VectorXd& q, const Eigen::VectorXd& u) {
    forces_.setZero(q.size());
    long at = 0;
    for (const CaseLink& l : case_.links) {
      if (l.stiffness != 0 || l.damping != 0)
        forces_[at] = l.stiffness * (l.rest - q[at]) - l.damping * u[at];
      at += static_cast<long>(l.coordinates());
    }
    for (const tellegen::CaseSpring& s : case_.springs) {
      const Point first = point(s.first, s.first_point), second = point(s.second, s.second_point);
      const Eigen::Vector3d line = second.place() - first.place(), along = line.normalized();
      const double pull = s.stiffness * (line.norm() - s.length) +
                          s.damping * along.dot(second.velocity() - first.velocity());
      add_force(first, pull * along, Eigen::Vector3d::Zero());
      add_force(second, -pull * along, Eigen::Vector3d::Zero());
    }
    for (const tellegen::CaseTyre& t : case_.tyres) {
      const Point wheel = point(t.link, t.point);
      const Eigen::Vector3d up = Eigen::Vector3d::UnitY(), velocity = wheel.velocity();
      const Eigen::Vector3d axle = wheel.body->getWorldTransform().linear() * vector(t.axle);
      const Eigen::Vector3d ahead = axle.cross(up).normalized(), side = up.cross(ahead);
      const double along = ahead.dot(velocity), height = wheel.place()[1];
      const double slip = std::atan(side.dot(velocity) / std::hypot(along, tellegen::case_slow));
      const double load = t.stiffness * (t.radius - height) - t.damping * velocity[1];
      const double lateral = -t.friction * load * std::tanh(t.cornering * slip / t.friction);
      add_force(wheel, load * up + lateral * side, -height * up);
    }
  }

  Eigen::VectorXd acceleration(const Eigen::VectorXd& q, const Eigen::VectorXd& u) {
    skeleton_->setPositions(q);
    skeleton_->setVelocities(u);
    if (has_forces_) sum_forces(q, u);
    if (case_.loops.empty()) {
      if (has_forces_) skeleton_->setForces(forces_);
      skeleton_->computeForwardDynamics();
      return skeleton_->getAccelerations();
    }
    look_at_loops(u);
    const long n = q.size(), m = gap_.size();
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(n + m, n + m);
    all.topLeftCorner(n, n) = skeleton_->getMassMatrix();
    all.topRightCorner(n, m) = jacobian_.transpose();
    all.bottomLeftCorner(m, n) = jacobian_;
    Eigen::VectorXd right(n + m);
    right << -skeleton_->getCoriolisAndGravityForces(), -rest_;
    if (has_forces_) right.head(n) += forces_;
    return all.partialPivLu().solve(right).head(n);
  }

  // Positions by one step of Newton, then speeds.
  void close(Eigen::VectorXd& q, Eigen::VectorXd& u) {
    skeleton_->setPositions(q);
    skeleton_->setVelocities(u);
    look_at_loops(u);
    const auto back = [&](const Eigen::VectorXd& error) -> Eigen::VectorXd {
      return jacobian_.transpose() * (jacobian_ * jacobian_.transpose()).ldlt().solve(error);
    };
    q -= back(gap_);
    u -= back(jacobian_ * u);
  }

  const MechanismCase& case_;
  dd::SkeletonPtr skeleton_;
  std::vector<dd::BodyNode*> bodies_;  // the skeleton's
  Eigen::VectorXd q_, u_, gap_, rest_, forces_;
  Eigen::MatrixXd jacobian_;
  bool has_forces_ = false;
};

}  // namespace

int main() {
  try {
    const MechanismCase c = tellegen::read_case(std::cin);
    DartCase dart(c);
    tellegen::CaseAnswer answer;
    answer.program = "DART";
    answer.seconds_per_step = tellegen::best_of([&] { answer.q = dart.run(); }, 1.0) / c.steps;
    std::cout << to_text(answer);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
