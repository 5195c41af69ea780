// A model as estimators see it: states with unknowns among them, rates, readings, and their derivatives at a
// point.
//
//   x' = f(x, w, u, t)     x: states of the minimal form, unknowns among them (unknown_states.h)
//   0  = g(x, w, u, t)     w: what only nonlinear equations determine; u: inputs that the data give
//   y  = h(x, w, u, t)     sensors, and whatever else is to be estimated
//
// Derivatives are symbolic and w is eliminated: F = fx - fw gw^-1 gx, H likewise. One small program, compiled
// where a compiler exists, evaluates all of them at once.
#pragma once

#include <Eigen/LU>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/sampled_states.h"
#include "tellegen/estimate/unknown_states.h"
#include "tellegen/program/batch.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

struct TwinState {
  std::string name, unit;
  int unknown =
      -1;  // position in TwinModel::unknowns() of the unknown it belongs to; -1: a state of the model
  double start = 0.0, deviation = 0.0;
  double noise = 0.0, rate_noise = 0.0;  // standard deviation after one second
  double keep = 0.0;
  bool fresh = false;    // what an input's reading is wrong by: another one in every step, `noise` is of that
  bool sampled = false;  // sampled_states.h: it stands still between events, and is no quantity of its own
};

// Derivatives of several quantities, row by row; what is zero for all models of the form is left out.
struct SlopeRows {
  std::vector<std::int32_t> start{0}, column;
  std::vector<double> value;
  std::size_t rows() const { return start.size() - 1; }
};

// The model at one point.
struct TwinPoint {
  Vector rates;     // f
  Matrix by_state;  // F
  Vector by_time;   // df/dt, inputs included
  Vector readings;  // h of the sensors
  Matrix readings_by_state;
  const void* slopes_of = nullptr;  // the model whose constant slopes are in it
};

// A discrete variable that is held, and what decides when it changes: a stretch of the conditions.
struct TwinDiscrete {
  std::int32_t of_system = 0;  // in EquationSystem::discrete
  std::size_t first_condition = 0, conditions = 0;
};

// A state that is sampled (sampled_states.h).
struct TwinSample {
  long state = 0;
  double every = 0.0;  // as Discrete::every
};

// What discrete variables want to be, what samples would give, then all conditions: quantities whose sign
// decides; and behind them those of the equations' own kinks (`if`, min, max: a diode of two straight lines).
struct TwinEventPoint {
  Vector value, by_time;
  Matrix by_state;
};

// Rates, readings and quantities in states, t, inputs and parameters alone.
struct TwinFormulas {
  std::vector<Expr> rates, readings, quantities;
};

// What is estimated as a program: inputs are states, t, inputs and `numbers`; roots the values, then their
// derivatives by the states that are not zero.
struct QuantityCode {
  Program program = {};
  std::vector<double> numbers = {};
  std::vector<std::size_t> quantities = {};  // of TwinModel::quantities()
  std::vector<std::int32_t> column = {};     // of derivatives: the state
  std::vector<std::int32_t> last = {};       // of quantities: the end of their derivatives
  std::vector<std::string> left_out = {};    // names of those that follow from equations to be solved
};

struct TwinOptions {
  std::vector<int> sensors;         // in Model::outputs
  std::vector<int> unknowns;        // in Model::unknowns
  std::vector<std::string> inputs;  // given by the data
  bool plain = false;  // unknowns as they are, whatever coordinate would be better (the paper's form)
  bool compile = true;
  bool input_noise = false;               // errors of inputs' readings are states
  bool events = false;                    // whoever asks knows what to do with them (twin_events.h)
  std::size_t listed_states = 1'000'000;  // with more, states are no quantities of their own
};

class TwinModel {
 public:
  // Throws ModelError: T621 where there is nothing to estimate or a state pattern fits none, T622 where the
  // model has events that nobody asks for, and what the minimal form cannot do.
  TwinModel(const Model& model, const TwinOptions& options);
  TwinModel(const TwinModel&) = delete;
  TwinModel& operator=(const TwinModel&) = delete;

  const std::vector<TwinState>& states() const { return states_; }
  std::size_t size() const { return states_.size(); }
  const std::vector<EstimatedQuantity>& quantities() const { return quantities_; }
  std::size_t sensors() const { return sensors_; }
  std::size_t inputs() const { return inputs_.size(); }
  const std::vector<double>& noise() const { return noise_; }  // of each sensor, standard deviation
  const Model& model() const { return augmented_.model; }

  // F and H never change: linear, and no unknown multiplies a state.
  bool constant_slopes() const { return constant_; }
  bool constant_reading_slopes() const { return constant_readings_; }  // H alone

  // `u`: inputs now, `du`: their rates. False where Newton fails for w. Allocates nothing once the point has
  // its size.
  bool evaluate(const Vector& x, double t, const double* u, const double* du, TwinPoint& point);
  // The readings and their slopes alone: the rest of the point stays as it is.
  bool evaluate_readings(const Vector& x, double t, const double* u, TwinPoint& point);
  // Without derivatives.
  bool rates(const Vector& x, double t, const double* u, Vector& f);
  bool readings(const Vector& x, double t, const double* u, Vector& y);
  // What is estimated, and its derivatives, at the point last evaluated for this x.
  bool quantities_at(const Vector& x, double t, const double* u, Vector& value, SlopeRows& by_state);
  // From now on these come from formulas, where there are any, and no equations are solved for them: as in
  // code for a target, which has the same bits then.
  void take_quantities_from_formulas();
  QuantityCode quantity_code();
  // The unit of a quantity; of a variable of the model, where its output says none.
  std::string unit_of(const EstimatedQuantity& quantity) const;
  // The rates and their slope by time alone, where the slopes by the states are constant.
  bool rates(const Vector& x, double t, const double* u, const double* du, Vector& f, Vector& by_time);
  // F, by rows, at the point last evaluated.
  void rate_slopes_at(SlopeRows& by_state);

  // What a run has come to beside the states: w, since the next evaluation begins there, what discrete
  // variables hold, and until when events have been passed.
  Vector memory() const;
  void set_memory(const Vector& memory);

  // A model with events (twin_events.h): discrete variables, of which sampled states are no longer any.
  bool has_events() const { return !discrete_.empty() || !samples_.empty(); }
  const EquationSystem& system() const { return system_; }
  const std::vector<TwinDiscrete>& discrete() const { return discrete_; }
  const std::vector<TwinSample>& samples() const { return samples_; }
  std::size_t kinks() const { return kinks_; }
  const std::vector<std::int32_t>& external() const { return full_.external; }  // inputs among the system's
  double held(std::size_t k) const { return held_[static_cast<long>(k)]; }      // discrete()[k]
  void hold(std::size_t k, double value);
  double events_passed() const { return events_passed_; }
  void pass_events(double t) { events_passed_ = t; }
  bool evaluate_events(const Vector& x, double t, const double* u, const double* du, TwinEventPoint& point);

  Vector start() const;
  Matrix start_covariance() const;
  // Whether a reading can correct anything: a start is uncertain, or something is disturbed.
  bool uncertain() const;

  // Unknowns stay within their bounds, in their coordinates.
  void clamp(Vector& x) const;
  bool bounded() const;  // some of them have bounds
  std::pair<double, double> bounds(std::size_t state) const;

  // For the form with the rates as states (ekf-perfect): by what each state's rate is multiplied in its
  // terminal equation, at x; and how that changes with the states. `stored`: which states are the model's
  // own.
  bool storage_coefficients(const Vector& x, double t, const double* u, Vector& c, Matrix& by_state);

  // For code that takes the step itself: the expressions, and the numbers that go with their symbols.
  const MinimalForm& form() const { return problem_->form; }
  const std::vector<Expr>& reading_formulas() const { return reading_formulas_; }
  const std::vector<Expr>& quantity_formulas() const { return quantity_formulas_; }
  const std::vector<Expr>& input_symbols() const { return inputs_; }
  // With w in formulas (equations/explicit_form.h); nothing where it has to be iterated for.
  const std::optional<TwinFormulas>& formulas();

 private:
  void name_states(const Model& model, std::size_t listed);
  void collect_quantities(const Model& model, const TwinOptions& options);
  void storage_formulas();
  void event_formulas();
  void eliminate_unknowns(MinimalForm& form, std::vector<std::vector<Expr>*> formulas);
  void build_program(bool compile);
  bool solve(const Vector& x, double t, const double* u);
  void find_unknown_slopes();
  void read_readings(TwinPoint& point, Eigen::Index n);
  void read_quantities(const Vector& x, double t, const double* u, Vector& value, SlopeRows& by_state);
  void run_all();
  double root(std::size_t k) const { return *root_at_[k]; }
  // Derivatives that are not zero: the roots from `first` on.
  struct Slopes {
    std::size_t first = 0, width = 0;
    std::vector<std::int32_t> start{0}, column;
    std::size_t rows() const { return start.size() - 1; }
  };
  void read(Matrix& into, const Slopes& slopes);
  void read(SlopeRows& into, const Slopes& slopes);
  void read(Vector& into, std::size_t first);
  void eliminate(Matrix& by_state, const Matrix& by_unknown);

  std::vector<ModelUnknown::Coordinate> coordinates_;
  UnknownStates augmented_;
  std::vector<SampledState> sampled_;  // before the system is built: it is of them
  EquationSystem system_;
  Problem full_;
  std::unique_ptr<MinimalProblem> problem_;
  std::vector<TwinState> states_;
  std::vector<EstimatedQuantity> quantities_;
  std::vector<Expr> reading_formulas_, quantity_formulas_, inputs_, coefficient_formulas_, event_formulas_;
  std::vector<TwinDiscrete> discrete_;
  std::vector<TwinSample> samples_;
  std::size_t kinks_ = 0;
  Vector held_;
  double events_passed_ = -std::numeric_limits<double>::infinity();
  std::vector<double> noise_;
  std::vector<std::pair<double, double>> bounds_;  // per state
  std::size_t sensors_ = 0;
  bool constant_ = false, constant_readings_ = false;
  bool looked_for_formulas_ = false;
  std::optional<QuantityCode> quantity_code_;  // for quantities_at()
  std::vector<double> quantity_registers_;
  std::optional<TwinFormulas> formulas_;

  // Of the program. Slopes of the readings need those of the residuals; whoever runs one runs all before it.
  enum Section {
    constants,
    residuals,
    sensor_readings,
    state_rates,
    reading_slopes,
    rate_slopes,
    the_rest,  // quantities, storage coefficients, what changes at events
    section_count
  };
  std::unique_ptr<Batch> batch_;
  struct Roots {
    std::size_t g, f, ft, gt, y, q, c, e, et;
    Slopes gw, fx, fw, gx, yx, yw, qx, qw, cx, cw, ex, ew;
  } roots_{};
  std::vector<const double*> root_at_;
  std::size_t input_t_ = 0, input_u_ = 0, input_du_ = 0, input_held_ = 0;
  Vector w_, residual_, change_;
  Matrix gw_, gx_, wx_, fw_, yw_, qw_, cw_, ew_;
  Vector gt_, wt_;
  Eigen::PartialPivLU<Matrix> lu_;
};

}  // namespace tellegen
