// A mechanism by DART: the case on standard input, the answer on standard output. Accelerations by its
// articulated-body recursion; where chains close, which its skeletons do not know, by its mass matrix and
// Jacobians with multipliers, and the loops closed again after every step. The integrator is the classical
// Runge-Kutta formula, as in the programs beside it.
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/EulerJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
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
    for (const CaseLink& l : c.links) add(l);
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
  void add_as(const CaseLink& l, typename Joint::Properties properties) {
    properties.mT_ParentBodyToJoint.translation() = vector(l.place);
    dd::BodyNode::Properties body;
    properties.mName = "j" + std::to_string(bodies_.size());  // or it says that it made one up
    body.mName = "b" + std::to_string(bodies_.size());
    body.mInertia.setMass(l.mass);
    body.mInertia.setLocalCOM(vector(l.centre));
    body.mInertia.setMoment(l.inertia[0], l.inertia[1], l.inertia[2], 0, 0, 0);
    dd::BodyNode* parent = l.parent < 0 ? nullptr : bodies_[l.parent];
    bodies_.push_back(skeleton_->createJointAndBodyNodePair<Joint>(parent, properties, body).second);
  }
  void add(const CaseLink& l) {
    if (l.joint == CaseLink::Joint::ball) {
      dd::EulerJoint::Properties properties;
      properties.mAxisOrder = dd::EulerJoint::AxisOrder::XYZ;
      add_as<dd::EulerJoint>(l, properties);
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

  // What the loops say: gap, its Jacobian, and the part of its second derivative that has no acceleration.
  void look_at_loops(const Eigen::VectorXd& u) {
    const long rows = 2 * static_cast<long>(case_.loops.size());
    gap_.setZero(rows);
    jacobian_.setZero(rows, q_.size());
    rest_.setZero(rows);
    long row = 0;
    for (const CaseLoop& loop : case_.loops) {
      for (const auto& [link, point, sign] : {std::tuple(loop.first, loop.first_point, 1.0),
                                              std::tuple(loop.second, loop.second_point, -1.0)}) {
        dd::BodyNode* body = bodies_[link];
        const Eigen::Vector3d offset = vector(point);
        const auto columns = body->getDependentGenCoordIndices();
        const auto j = body->getLinearJacobian(offset);
        const auto rate = body->getLinearJacobianDeriv(offset);
        gap_.segment<2>(row) += sign * (body->getWorldTransform() * offset).head<2>();
        for (std::size_t k = 0; k < columns.size(); ++k) {
          const long c = static_cast<long>(columns[k]), own = static_cast<long>(k);
          jacobian_.block<2, 1>(row, c) += sign * j.col(own).head<2>();
          rest_.segment<2>(row) += sign * rate.col(own).head<2>() * u[c];
        }
      }
      row += 2;
    }
  }

  Eigen::VectorXd acceleration(const Eigen::VectorXd& q, const Eigen::VectorXd& u) {
    skeleton_->setPositions(q);
    skeleton_->setVelocities(u);
    if (case_.loops.empty()) {
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
  Eigen::VectorXd q_, u_, gap_, rest_;
  Eigen::MatrixXd jacobian_;
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
