// A problem in minimal form (equations/minimal.h), and the fixed-step methods that work on it.
#pragma once

#include <memory>
#include <string>

#include "tellegen/equations/minimal.h"
#include "tellegen/simulate/integrator.h"

namespace tellegen {

struct MinimalProblem {
  enum class Size { written_out, any };  // whether formulas or numbers are made of it: see written_out_limit
  explicit MinimalProblem(const Problem& full, Size size = Size::written_out);
  MinimalProblem(const MinimalProblem&) = delete;
  MinimalProblem& operator=(const MinimalProblem&) = delete;
  bool restart(const Problem& full);  // with the numbers and initial values it has now; false: build another
  const EquationSystem* full;         // what the form was made of
  MinimalForm form;
  EquationSystem system;  // the form as a system: columns are states, then unknowns
  Problem problem;        // on that system

 private:
  void begin(const Problem& full);
};

// The domain of a differentiated variable that is an edge's; empty where it is one of a component's own.
std::string rate_domain(const EquationSystem& system, std::int32_t rate);

std::unique_ptr<Integrator> minimal_fixed_step(const Problem& problem);  // tr, trnp, bdf1 .. bdf3
std::unique_ptr<Integrator> minimal_rk4(const Problem& problem);
std::unique_ptr<Integrator> minimal_exact(const Problem& problem);

}  // namespace tellegen
