// The equations of a model with an integration formula put in, whatever formula and step length:
//
//   F(x, r, t) = 0      r = alpha * d + history      for every differentiated variable d
//
// solved by the executors of the fixed-step methods: the whole step, or kernels per kind. The formula's owner
// keeps values and rates; here only Newton's iterates live from one solution to the next.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/simulate/integrator.h"

namespace tellegen {

class ImplicitStage {
 public:
  virtual ~ImplicitStage() = default;
  // As new, with the numbers and initial values that the problem has now. False where what was built does not
  // fit them.
  virtual bool restart(const Problem&) { return false; }
  virtual void set_alpha(double alpha) = 0;
  virtual void hold(std::span<const double> held) = 0;
  // Differentiated variables, then the problem's totals where this executor keeps them. False: no
  // convergence. `row`: where outputs go; null: none are wanted.
  virtual bool solve(double t, std::span<const double> history, std::span<double> values, double* row) = 0;
  virtual void updates(double t, std::span<double> values) = 0;  // of discrete variables, after a solution
  // Where Newton begins: iterates and arguments of exponentials, of the last solution or set from outside.
  virtual std::size_t iterate_count() const = 0;
  virtual void iterates(std::span<double> values) const = 0;
  virtual void set_iterates(std::span<const double> values) = 0;
  std::vector<double> iterates_of(const InitialState& state) const;
  virtual std::string still_changing() const = 0;  // after a failure: which variable

  // Solutions in between leave no trace in those to come.
  virtual void begin_aside() {}
  virtual void end_aside() {}

  virtual void keep(Checkpoint& parts) { parts(iterations, worst_iterations, factorisations); }
  virtual bool keeps_totals() const = 0;
  // Where it does not: at the last solution, the problem's integrands, its stored energy and what is
  // exchanged.
  virtual void integrands(double, std::span<double>) {}
  virtual const Network& network() const = 0;
  virtual std::string executor() const = 0;
  bool iterative() const { return network().iterative(); }  // false: one linear solution
  virtual void compile(double interpreting) = 0;  // where the compiler takes less than so many seconds
  virtual bool compiled() const = 0;
  virtual double printing_seconds() const = 0;  // about as long it takes to write what a compiler reads
  std::int64_t iterations = 0, worst_iterations = 0, factorisations = 0;
  int max_iterations = 20, fixed_iterations = 0;  // fixed: so many, whatever they change; 0: to tolerance
};

// The executor follows from the size. `outputs`: of each row; `alpha`: a first one, of the size to come.
std::unique_ptr<ImplicitStage> make_implicit_stage(const Problem& problem, std::span<const Expr> outputs,
                                                   double alpha);

}  // namespace tellegen
