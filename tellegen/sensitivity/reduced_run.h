// A run on the equations reduced to states (reduction.h), with the derivatives of its outputs by parameters:
// for models whose rates are sums of factor(parameters) * signal(t) * product of states, as machines and
// linear networks have them. Nothing of it is built again for other numbers, and a step is some hundred
// multiplications: calibration goes over a record a hundred times.
//
//   z' = f(z, t; p)        S' = df/dz S + df/dp        the classical Runge-Kutta formula for both
//
// A source that jumps at a row is taken from the left up to there, and from the right from then on.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tellegen/sensitivity/reduction.h"
#include "tellegen/symbolic/evaluator.h"

namespace tellegen {

class ReducedRun {
 public:
  // `parameters`: indices into model.parameters; `outputs` in the model's names, at `rows` times from 0 on
  // with so many steps between two, an even number. Empty: the model has events, its equations are no such
  // sums, or where it starts depends on a parameter.
  static std::unique_ptr<ReducedRun> build(const Model& model, std::span<const int> parameters,
                                           std::span<const Expr> outputs, double interval, std::int64_t rows,
                                           int steps);

  // values: [row][output], slopes: [row][output][parameter]. False: a number is not finite.
  bool run(std::span<const double> numbers, std::vector<double>& values, std::vector<double>& slopes);
  // Without slopes, for a fraction of the time; `coarse`: with steps of twice the length, whose points are
  // among those of the others.
  bool values(std::span<const double> numbers, bool coarse, std::vector<double>& values);
  // From now on run() takes steps of twice the length.
  void use_coarse_steps() { stride_ = 2; }

 private:
  struct Product {
    int factor = -1;  // none: 1
    int signal = -1;  // none: constant
    double constant = 1.0;
    std::vector<int> states;
  };
  using Sum = std::vector<Product>;

  ReducedRun() = default;
  bool take_over(const Reduction& reduction);
  bool sum_of(const Form& form, const Reduction& reduction, Sum& sum);
  double coefficient(const Product& p, std::size_t row) const {
    return p.signal < 0 ? p.constant : signals_[static_cast<std::size_t>(p.signal)][row];
  }
  // `p` parameters are carried along: all, or none.
  bool take_steps(std::span<const double> numbers, std::size_t stride, std::size_t p,
                  std::vector<double>& values, std::vector<double>& slopes);
  void rates(std::size_t row, std::size_t p, const double* z, const double* s, double* dz, double* ds);
  void tell(std::size_t row, std::size_t p, const double* z, const double* s, double* values,
            double* slopes) const;

  std::size_t rows_ = 0, steps_ = 0, states_ = 0, parameters_ = 0;
  std::size_t stride_ = 1;  // steps that are taken as one
  double step_ = 0.0;
  std::vector<Sum> rates_, outputs_;
  std::vector<Signal> signals_;
  std::vector<Expr> factors_;
  std::vector<double> start_;
  Evaluator evaluator_;
  std::vector<double> factor_values_;  // then their derivatives, [factor][parameter]
  std::vector<double> tangent_;        // df/dz
};

}  // namespace tellegen
