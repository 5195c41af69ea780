// A mechanism as its model file has it, for the oracle.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "tests/differential/expression.h"

namespace differential {

using Eigen::Matrix3d;
using Eigen::Vector3d;

struct FileJoint {
  std::string name, kind;  // the kind after "multibody."
  int from = 0, to = 0;    // frames
  Vector3d axis = Vector3d::UnitZ(), second = Vector3d::UnitY();
  double advance = 0.0;  // of a screw, per radian
  Vector3d offset = Vector3d::Zero();
  Matrix3d rotation = Matrix3d::Identity();
  std::vector<double> places, speeds;                         // at the start
  TreePtr applied, stiffness, rest, damping, friction, slip;  // null: none
  int angle = -1;                                             // among the angles that are integrated
};
struct FileBody {
  int frame = 0;
  double mass = 0.0;
  Vector3d centre = Vector3d::Zero();
  Matrix3d inertia = Matrix3d::Zero();  // about the centre
};
struct FileSpring {
  int from = 0, to = 0;
  TreePtr stiffness, length, damping, preload;
};
struct FileBushing {
  int from = 0, to = 0;
  Vector3d stiffness, damping, turning_stiffness, turning_damping;
};
struct FileLoad {
  int at = 0, in = 0;
  bool turns = false;
  std::vector<TreePtr> along;
};
struct FileConstraint {
  std::string name, kind;
  int from = 0, to = 0;  // frames; of gear and driver: joints
  Vector3d axis = Vector3d::UnitX();
  double value = 0.0;  // length, ratio
  TreePtr motion;
};

struct MechanismFile {
  std::vector<std::string> frames{"datum"};
  std::vector<FileJoint> joints;
  std::vector<FileBody> bodies;
  std::vector<FileSpring> springs;
  std::vector<FileBushing> bushings;
  std::vector<FileLoad> loads;
  std::vector<FileConstraint> constraints;
  Vector3d gravity = Vector3d::Zero();
  std::vector<std::string> variables;  // that formulas use: columns of their trees
};

MechanismFile read_mechanism(const std::string& model);  // throws OracleError
double value_of(const Tree& tree, const std::vector<double>& columns, double t);
double slope_in_time(const Tree& tree, double t);

Matrix3d cross_matrix(const Vector3d& v);
Matrix3d turn(const Vector3d& axis, double angle);  // axis of length 1
Matrix3d turn_123(double a, double b, double c);    // body-fixed
std::array<Vector3d, 2> plane_across(
    const Vector3d& axis);  // its two directions, as multibody.planar has them

}  // namespace differential
