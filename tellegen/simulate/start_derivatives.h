// How the start of a run follows from parameters and discrete variables: d(x, rates)/dp, and back.
//
// The values are consistent before and after, so their changes solve the equations of initial.h, linearised.
// Where nodes were held until just before the start, or sources rested, there are two such solutions, the
// second with the states of the first.
#pragma once

#include <span>
#include <vector>

#include "tellegen/simulate/initial.h"

namespace tellegen {

class StartDerivatives {
 public:
  StartDerivatives(Tableau& tableau, const Storage& storage, const InitialState& state,
                   std::span<const int> wrt);
  ~StartDerivatives();
  bool good() const { return good_; }  // false: singular
  // Discrete variables may move too: held[discrete * parameters + parameter].
  void forward(std::span<const double> held, std::vector<double>& x, std::vector<double>& rates) const;
  void backward(std::span<const double> x, std::span<const double> rates, std::span<double> p,
                std::span<double> held) const;

 private:
  struct Stage;
  std::vector<Stage> stages_;  // one or two
  const EquationSystem& system_;
  int count_;
  bool good_ = true;
};

}  // namespace tellegen
