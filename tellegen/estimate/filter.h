// Estimators: each carries a belief (mean and covariance of the states) from reading to reading.
//
//   predict   x- = x(t + h) by the exact flow of the linearised model,  P- = Phi P Phi' + Q h
//   correct   with the readings that are there; a missing one changes nothing
//
//   kf, ekf       readings one after the other, covariance in Joseph's form: positive whatever rounding does
//   pkf           each state takes the part 1 - keep of its correction [Brink 2017]
//   ukf           sigma points instead of derivatives [Julier, Uhlmann 2004]
//   ekf-perfect   states, their rates and unknowns; the equations that tie them are readings without noise
//                 [Rodriguez et al. 2021], (29) to (44)
//   steady        the gain that does not change any more
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/estimate/twin_model.h"

namespace tellegen {

class TwinEvents;

struct Belief {
  Vector x;
  Matrix p;
};

// What the readings of one step had to say.
struct Innovations {
  std::vector<double> value, variance;  // per sensor; value NaN: there was no reading, or it was refused
  std::vector<char> refused;            // by the gate
  double log_likelihood = 0.0;
};

// Is told each correction of ekf by one reading, after it was made: x += gain innovation.
class CorrectionListener {
 public:
  virtual ~CorrectionListener() = default;
  virtual void corrected(std::size_t sensor, const Vector& slopes, const Vector& gain, double innovation,
                         double variance) = 0;
};

struct FilterOptions {
  double step = 0.0;
  double gate = 0.0;        // innovation^2/variance beyond which a reading is refused; 0: none is
  bool euler = false;       // x + h f(x) instead of the exact flow
  bool generate = true;     // straight-line code where a step has formulas (filter_program.h)
  bool compile = true;      // ... by the system's compiler
  bool any_length = false;  // predictions may have any length: predict_over()
  CorrectionListener* listener = nullptr;  // where `generate` is not
  long reduce = 0;  // states of a reduced filter (reduced_filter.cpp) at most; 0: as the size asks for
  // The record for which a reduced filter is made: rows, when it begins, its inputs row by row.
  long rows = 201;
  double begins = 0.0;
  const double* given = nullptr;
};

// States above which a linear model is reduced, where nothing else is asked for: the eigenvectors of so many
// take about ten seconds.
inline constexpr std::size_t full_filter_limit = 2000;
inline constexpr long never_reduce = -1;

class Filter {
 public:
  // Without `dense`: for an estimator that keeps its covariance in a form of its own.
  Filter(TwinModel& model, const FilterOptions& options, bool dense = true);
  virtual ~Filter() = default;

  // From t to t + step; `u` the inputs at t, `du` their rates. False where the model cannot be evaluated.
  virtual bool predict(double t, const double* u, const double* du) = 0;
  virtual bool correct(double t, const double* u, const double* readings, Innovations& out) = 0;

  // From t over any length; inputs that change (`du`) continue to. What is linear goes there at once,
  // exactly; all else in parts no longer than the step. `phi`, where it is asked for: the transition over all
  // of it.
  bool predict_over(double t, double length, const double* u, const double* du, Matrix* phi = nullptr);
  // The same through events.
  bool predict_through(TwinEvents& events, double t, double length, const double* u, const double* du,
                       Matrix* phi = nullptr);
  // What happens at the first row, before its readings.
  bool begin_events(TwinEvents& events, double t, const double* u);

  // The model's states (TwinModel::states()), whatever else the estimator carries.
  virtual const Belief& belief() const { return belief_; }
  virtual const Vector& mean() const { return belief().x; }
  // Of quantities with these derivatives by the states.
  virtual void deviations(const SlopeRows& slopes, Vector& out) const;
  // The same of a belief that this estimator gave: its states, and deviations.
  virtual Vector states_of(const Belief& belief) const { return belief.x; }
  virtual void deviations_in(const Belief& belief, const SlopeRows& slopes, Vector& out) const;
  // All that must be kept to go on from here later.
  virtual Belief save() const { return belief_; }
  virtual void restore(const Belief& belief) { belief_ = belief; }
  // Adds to the variance of one state: an unknown, which may have jumped.
  virtual void widen(long state, double variance);

  // Of the last prediction, for the smoother: d x(t + h)/d x. Empty where the estimator has none.
  virtual const Matrix& transition() const { return phi_; }
  virtual std::string executor() const { return "compiled model, matrices"; }
  virtual std::string remark() const { return ""; }  // what to know of its results
  const Vector& process_noise() const { return q_; }
  virtual void set_process_noise(const Vector& variance_per_step) { q_ = variance_per_step; }

 protected:
  // Before a prediction of another length than the step; with `any_length`.
  virtual void set_length(double h);
  // Whether predict() takes any length as it is, and its noise.
  virtual bool whole_lengths() const { return model_.constant_slopes() && !options_.euler; }
  // Of the prediction to come: q_ belongs to the step.
  const Vector& noise() const { return options_.any_length ? noise_ : q_; }
  void add_noise(Matrix& p) const;
  bool refuse(double innovation, double variance) const {
    return options_.gate > 0.0 && innovation * innovation > options_.gate * variance;
  }
  // The flow of one step from x: `step` is x(t + h) - x, `phi` its derivative.
  bool flow(const Vector& x, double t, const double* u, const double* du, Vector& step, Matrix& phi);
  void renew(const Vector& x, Vector& step) const;  // states that each step begins anew, from zero

  TwinModel& model_;
  FilterOptions options_;
  Belief belief_;
  TwinPoint point_;
  Matrix phi_;
  Vector q_, step_;
  double length_;  // of predictions

 private:
  bool flow_of_states(const Vector& x, double t, const double* u, const double* du, Vector& step,
                      Matrix& phi);
  bool spread_over(double t, const double* u, const double* du);
  std::vector<long> fresh_;                   // TwinState::fresh
  bool renews_ = true;                        // these: the last part of a prediction
  bool last_ = true;                          // what is predicted now is the last part
  Matrix constant_phi_, by_rate_, by_slope_;  // where the model's slopes are constant
  Vector noise_;
  Matrix spread_;  // of whole lengths, beside noise_; empty: none
  std::vector<double> inputs_;
};

struct EstimatorEntry {
  std::string_view name, summary;
  bool smooths;     // a smoother may follow it
  bool plain;       // takes unknowns as they are
  bool any_length;  // FilterOptions::any_length
  bool events;      // predict_through()
  std::unique_ptr<Filter> (*make)(TwinModel& model, const FilterOptions& options);
};
std::span<const EstimatorEntry> estimators();
const EstimatorEntry& find_estimator(const std::string& name, const Place& place);  // T623 with the nearest

// Standard deviations of quantities with these derivatives by states with this covariance.
void deviations_of(const SlopeRows& slopes, const Matrix& p, Vector& out);

std::unique_ptr<Filter> extended_filter(TwinModel& model, const FilterOptions& options);
// For large linear networks (modal_filter.cpp); nothing where the model is none.
std::unique_ptr<Filter> modal_filter(TwinModel& model, const FilterOptions& options);
std::unique_ptr<Filter> reduced_filter(TwinModel& model, const FilterOptions& options);
std::unique_ptr<Filter> partial_filter(TwinModel& model, const FilterOptions& options);
std::unique_ptr<Filter> unscented_filter(TwinModel& model, const FilterOptions& options);
std::unique_ptr<Filter> perfect_filter(TwinModel& model, const FilterOptions& options);
std::unique_ptr<Filter> steady_filter(TwinModel& model, const FilterOptions& options);
// Of these two where a step is not written out.
std::unique_ptr<Filter> unscented_matrices(TwinModel& model, const FilterOptions& options);
std::unique_ptr<Filter> steady_matrices(TwinModel& model, const FilterOptions& options);

// What the Kalman filter of a linear model comes to when all its sensors read for long enough; nothing where
// it comes to nothing. `noise`: standard deviations of the readings.
struct SteadyGain {
  Matrix predicted, corrected;  // covariance before and after a row
  Matrix gain, spread;          // K; of the innovations, h P- h' + r
  Vector variance;              // of the innovations
};
std::optional<SteadyGain> steady_gain(const Matrix& transition, const Matrix& readings_by_state,
                                      const std::vector<double>& noise, const Vector& process_noise);

// P = Phi P Phi', symmetric.
void propagate(Matrix& p, const Matrix& phi, Matrix& work);

// One reading without a partner: P = (I - k h) P (I - k h)' + k r k'. `h` is a row.
void joseph_update(Belief& belief, const Eigen::Ref<const Vector>& h, double innovation,
                   double noise_variance, double innovation_variance, Vector& gain, Vector& work);

}  // namespace tellegen
