// How a condition's quantity moves: the derivative that the time of its event follows from.
//
//   g(x, r, t, p) = 0 at t = T:    dT/dp = -(dg along the parameter at fixed t) / (dg along time)
#pragma once

#include <map>
#include <span>
#include <vector>

#include "tellegen/sensitivity/formulas.h"
#include "tellegen/simulate/conditions.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {

class ConditionSlopes {
 public:
  ConditionSlopes(const EquationSystem& system, const Conditions& conditions, std::span<const int> wrt);

  void at(int condition, const InitialState& state, double t);  // a point; what follows is there
  // Columns and rates move by these, time by dt, a parameter (not -1) by 1.
  double along(std::span<const double> dx, std::span<const double> dr, double dt, int parameter = -1) const;

 private:
  const EquationSystem& system_;
  const Conditions& conditions_;
  std::vector<int> wrt_;
  std::vector<std::vector<GroupSlope>> slopes_;  // per parameter
  // Of the condition at hand, where it stands in a group's equations.
  struct Term {
    enum class What { symbol, rate, parameter, time } what;
    int index = 0;
    double slope = 0.0;
  };
  std::vector<Term> terms_;
  int group_ = -1, member_ = -1;
  DifferentiatedFormulas* formula_ = nullptr;  // where it is a discrete variable's
  std::map<int, DifferentiatedFormulas> formulas_;
};

}  // namespace tellegen
