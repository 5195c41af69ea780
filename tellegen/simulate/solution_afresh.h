// Everything but the differentiated variables, without a guess: by Newton, gmin and source stepping as at the
// start of a run (initial.h). For the middle of a run, where Newton fails from the values before.
#pragma once

#include <memory>
#include <span>

#include "tellegen/simulate/initial.h"

namespace tellegen {

class SolutionAfresh {
 public:
  SolutionAfresh(Tableau& tableau, const Storage& storage);
  ~SolutionAfresh();
  // With these values of the differentiated variables and the tableau's discrete ones; the state is only
  // written. Throws as find_initial_state does.
  void find(double t, std::span<const double> values, InitialState& state);

 private:
  std::unique_ptr<class InitialProblem> problem_;
};

}  // namespace tellegen
