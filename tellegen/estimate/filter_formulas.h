// The step of a Kalman filter in formulas, of registers that the step is given: what is written out for the
// program (filter_program.h).
//
// A model with constant slopes has constant matrices. Of others the flow of a step is one exponential of the
// joined system, linearised where the step begins (filter.cpp): a Taylor series of a matrix that is halved
// until it is small, squared as often.
//
//   delta' = F delta + f + f_t tau,  tau' = 1     over h/2^s:  Phi, c = delta from tau = 0, d = delta by tau
//   over twice as long:  Phi^2,  c + Phi c + h d,  d + Phi d,  2 h
//
// For a target without floating point the covariance is kept in factors (factored_formulas.cpp).
//
// Sigma points (sigma_formulas.cpp) take this flow one after the other, in registers of their own.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tellegen/estimate/filter.h"
#include "tellegen/program/program.h"

namespace tellegen {

// A pivot of the covariance that is smaller, relative to the state's variance, is rounding.
inline constexpr double least_pivot = 1e-14;

// A step for a target without floating point: no loops, no choices, the covariance in factors.
struct StraightForm {
  int halvings = 0;        // of the flow's matrix, in every step
  std::vector<char> held;  // inputs that keep their values from row to row
};

// P = U D U': U above the diagonal, D on it.
Matrix factors_of(Matrix p);

class FilterFormulas {
 public:
  // One reading after the other (kf, ekf); all together, of which states keep a part of their values (pkf);
  // by sigma points (ukf); by the gain that does not change any more.
  enum class Method { one_by_one, together, sigma_points, steady };
  static std::optional<Method> method_of(std::string_view estimator);  // nothing: it has no formulas
  // Whether a step of this model can be written out.
  static bool possible(TwinModel& model, const FilterOptions& options, Method method);
  // Whether sigma points of this model say more than slopes: it is not linear, or has bounds.
  static bool points_matter(TwinModel& model);
  // Readings that need points: not linear in the states, or of one that has bounds. There are formulas.
  static std::size_t readings_by_points(TwinModel& model);
  FilterFormulas(TwinModel& model, const FilterOptions& options, const Vector& process_noise, Method method,
                 const StraightForm* straight = nullptr);

  // Registers at the front: states, the upper triangle of the covariance (or of its factors) by rows, ...
  struct Register {
    Expr symbol;
    double value;
    int section;  // of the prediction that it belongs to; 0: a constant
  };
  std::vector<Register> registers;
  struct {
    std::int32_t time, u, du, reading, value, there;  // the first of each; value, there: what a reading is
    std::int32_t scale, flow;                         // -1: the flow is constant
    std::int32_t point, points;                       // one that is led on; all of them, one by one
    std::size_t noise;
  } at{};

  // Sections of the prediction: 0 constants, 1 the model at the point; where the flow is not constant also
  // 2 the series at `scale`, 3 the square, 4 the rest.
  enum Section { constants, model, series, square, rest };
  int sections = 2;
  Assignments predict, correct;
  Expr size;                        // of the matrix of the flow, to be scaled; empty: nothing is
  std::vector<Expr> flow, squared;  // Phi, c, d and the length: of the series, and over twice as long
  std::vector<Expr> predicted;      // states and covariance; of a sigma point, and of a steady gain, states
  std::vector<Expr> corrected;      // likewise; of a steady gain states
  std::vector<Expr> innovations, variances;
  Expr likelihood;  // of readings that are taken together, its logarithm; else empty
  // Where the gain is steady: whether all readings are there, and the states where some are not (section 2).
  Expr complete;
  std::vector<Expr> corrected_in_part;
  // Sigma points: where they begin, and what they say together when all are led on. Empty: there are none.
  Assignments spread, gather;
  std::vector<Expr> points, gathered;
  Matrix transition;                 // Phi where it is constant
  std::vector<std::int32_t> phi_at;  // else its registers, by rows; -1: zero

 private:
  using Exprs = std::vector<Expr>;  // matrices by rows
  Expr input(Expr symbol, double value, int section);
  Expr input(const char* what, std::size_t k, double value = 0.0, int section = 1);
  Expr number(double value);  // structure where it is 0, 1 or -1, otherwise a register
  Expr& p(std::size_t i, std::size_t j);
  Expr in_registers(Expr value) const { return substitute(value, names_); }
  Exprs product(Assignments& list, const Exprs& a, const Exprs& b) const;  // a square
  void name_registers(const Vector& process_noise);
  void find_values_at_zero();
  void predict_constant(bool euler);
  void predict_extended(bool euler);
  Exprs keep_flow(const Exprs& phi, const Exprs& c, const Exprs& d, Expr length);
  void propagate(const Exprs& phi);
  void linearise_readings();
  // 1 where the reading is there and the gate lets it pass, else 0.
  Expr taken(std::size_t reading, Expr innovation, Expr variance, double gate);
  void correct_one_by_one(double gate);
  void correct_by(std::size_t reading, const Exprs& begin, double gate);
  void correct_together(double gate);
  void correct_steadily(double gate, const Vector& process_noise);
  Expr within_bounds(Assignments& list, std::size_t state, Expr value);
  Expr led_on(std::size_t state, Expr value);  // of a prediction, within bounds

  // factored_formulas.cpp
  void factorise(Assignments& list, std::vector<Exprs> rows, const Exprs& weights);
  Expr or_nothing(Expr value, Expr variance);
  void propagate_factors(const Exprs& phi);
  Exprs in_factors(std::size_t reading);
  Expr variance_in_factors(std::size_t reading, const Exprs& f);
  void correct_factors(double gate);
  void keep_in_part(const Exprs& begin, const std::vector<Exprs>& columns, const Exprs& alphas);

  // sigma_formulas.cpp
  static bool needs_points(TwinModel& model, std::size_t reading);
  double kappa() const;
  double weight(std::size_t point) const;
  std::vector<Exprs> factor(Assignments& list);
  std::vector<Exprs> points_of(Assignments& list, const std::vector<Exprs>& columns);
  void spread_points();
  void gather_points();
  void correct_by_points(std::size_t reading, double gate);
  Expr reading_at(std::size_t reading, const Exprs& point);

  Pool& pool_;
  TwinModel& model_;
  const Method method_;
  const StraightForm* straight_;
  const double step_;
  const std::size_t n_, sensors_, inputs_;
  std::vector<Expr> x_, p_, u_, du_, readings_, there_, noise_;
  bool certain_ = false;     // some state has no variance at the start
  std::vector<Expr> point_;  // a sigma point as it is; x_ is then within the bounds
  std::vector<std::pair<Expr, double>> constants_;
  ExprMap<Expr> names_;         // of the form's symbols: registers
  ExprMap<Expr> zero_;          // states at zero, and what follows from them where slopes are constant
  std::vector<Expr> expected_;  // readings where the correction begins
  std::vector<Exprs> slopes_;   // of each, by the states: a row; empty: it needs points
};

}  // namespace tellegen
