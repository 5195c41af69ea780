// dF/dp of the tableau for all parameters of a study: a sparse matrix, rows by parameters.
//
// Only members whose numbers follow a parameter are looked at, each once for all its parameters. Discrete
// variables are numbers too: a direction may move them as well.
#pragma once

#include <span>
#include <vector>

#include "tellegen/equations/slopes.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {

struct DerivativeEntry {
  std::int32_t row = 0;
  int parameter = 0;  // index into `wrt`
  double value = 0.0;
};

class ParameterDerivatives {
 public:
  ParameterDerivatives(const EquationSystem& system, std::span<const int> wrt);
  int count() const { return count_; }

  // The entries at a point; the same rows and parameters in the same order each time.
  void evaluate(Tableau& tableau, std::span<const double> x, std::span<const double> rates, double t,
                std::vector<DerivativeEntry>& entries) const;
  bool touches(int parameter) const { return touched_[parameter]; }  // any equation at all

 private:
  struct Member {
    std::int32_t group = 0, member = 0;
    std::vector<GroupSlope> slopes;  // their `group` is the parameter here
  };
  int count_ = 0;
  std::vector<Member> members_;
  std::vector<char> touched_;
};

}  // namespace tellegen
