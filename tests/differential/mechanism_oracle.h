// Mechanisms without a tree: every frame is a body of its own, with or without mass, that moves in six ways;
// every arm, joint and constraint is an equation between two of them [Haug 1989]. Accelerations a and
// multipliers follow from one linear system,
//
//   M a - J' lambda = f
//   J a             = gamma
//
// and positions, orientations and speeds are integrated by extrapolation of the midpoint rule [Gragg 1965] to
// 1e-11. Nothing keeps the equations closed: how far they are open at the end says how good the solution is.
//
// [Haug 1989] Computer Aided Kinematics and Dynamics of Mechanical Systems, ch. 11.
// [Gragg 1965] On extrapolation algorithms for ordinary initial value problems.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace differential {

class MechanismOracle {
 public:
  explicit MechanismOracle(const std::string& model);
  ~MechanismOracle();
  bool is_tree() const;                              // no circuits: the file decides where it starts
  void start();                                      // of a tree
  std::vector<std::string> start_variables() const;  // what the start of another mechanism is read from
  void start_at(const std::function<double(const std::string& variable)>& first);
  void advance(double to);
  // How far joints and circuits are open: in position (and orientation), in speed.
  double open_places();
  double open_speeds();
  int freedoms();                           // at the start
  bool unique_reactions();                  // no equation follows from the others
  bool near_singular();                     // 1-2-3 angles near a quarter turn
  int speeds_that_hold();                   // of joints, at the start: as the file gives them
  std::map<std::string, double> observe();  // variables as the program names them
  double potential();
  // Of a frame ("datum" too), after the start.
  Eigen::Vector3d place(const std::string& frame) const;
  Eigen::Matrix3d orientation(const std::string& frame) const;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace differential
