// One run of the adaptive method: IDAS on the tableau, from event to event; and what goes along with it
// (sensitivities, tellegen/sensitivity/adaptive_forward.h). Only where SUNDIALS is part of the build.
#pragma once

#include <functional>
#include <optional>

#include "tellegen/simulate/conditions.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/simulate/sundials.h"

namespace tellegen {

class AdaptiveRun;

// Is told what happens to the run. Columns and rates are read from the run itself.
class AdaptiveCompanion {
 public:
  virtual ~AdaptiveCompanion() = default;
  virtual void begin(AdaptiveRun& run) = 0;  // IDAS has its values at the start
  virtual void moved() = 0;                  // IDAS has gone on to run.t()
  struct Due {
    std::int32_t discrete;
    std::int64_t multiple;  // of its sample time
  };
  // An event begins at run.t(): all values are still those before it. `conditions` have changed their sign;
  // none: sampled variables are due, or an input has come from outside.
  virtual void event_begins(std::span<const int> conditions, std::span<const Due> due) = 0;
  // These discrete variables are taken over, to what their updates are at a point just after the event: those
  // that change (run.changed()), and sampled ones that are due whether they change or not.
  virtual void discrete_changes(std::span<const std::int32_t> which, std::span<const double> after,
                                double t) = 0;
  virtual void found_anew() = 0;  // with the discrete variables that the tableau now holds: run.state()
  virtual void event_ends(std::span<const double> after, double t) = 0;  // IDAS has its values after it
  virtual void restarted() = 0;                                          // IDAS begins anew at run.t()
};

class AdaptiveRun : public Integrator {
 public:
  // The problem and the companion must outlive the run.
  explicit AdaptiveRun(const Problem& problem, AdaptiveCompanion* companion = nullptr);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  void set_input(int input, double value) override;
  std::optional<double> ended() const override { return ended_; }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override { return statistics_; }
  Totals totals() const override;

  bool reach(double to);  // from event to event; false where the run has failed or ended

  // For the companion.
  AdaptiveCompanion* companion() { return companion_; }
  void* ida() { return ida_.get(); }
  SUNContext context() { return context_.get(); }
  Tableau& tableau() { return tableau_; }
  const Problem& problem() const { return problem_; }
  Reinitialisation& reinitialisation() { return reinitialisation_; }
  Conditions& conditions() { return conditions_; }
  double t() const { return t_; }
  N_Vector y() const { return y_.get(); }
  N_Vector yp() const { return yp_.get(); }
  std::span<const double> columns() const { return values_of(y_.get()); }
  // When the last event began; in it, what was found last.
  std::span<const double> columns_before() const { return before_; }
  const InitialState& state() const { return state_; }
  std::span<const std::int32_t> changed() const { return changed_; }
  double moment() const;  // so long before or after an event belongs to one of its sides, if not longer:
  // the shortest of 1, 10, 100... moments that is beyond, if any is.
  std::optional<double> beyond(const std::function<bool(double)>& is_beyond) const;
  // Whether every condition that has changed is clearly on its side after (1) or before (-1) at this point.
  bool on_side(double side, std::span<const double> x, std::span<const double> rates, double t);

  // Rates of the differentiated variables from derivatives of the columns, and back along the tree: there
  // across-sources have rates of their own (per edge).
  void rates_of(std::span<const double> column_rates, std::span<double> rates) const;
  void columns_of(std::span<const double> rates, std::vector<double> across,
                  std::span<double> column_rates) const;

 private:
  bool ends(double t);
  double next_sampling() const;
  bool event(double t, bool sampling, bool from_outside = false);
  bool is_due(std::size_t discrete, double t, bool sampling) const;
  std::vector<AdaptiveCompanion::Due> due(double t, bool sampling) const;
  void start_rates(const std::vector<double>& rates, double t);
  void make_pattern(SUNContext context);
  void count_steps();
  void restart(double to);
  double first_instant(double to);
  bool shares_jumps() const;
  void find_roots();
  void find_time_roots(double before, double after);
  static int residual(double t, N_Vector y, N_Vector yp, N_Vector f, void* user);
  static int jacobian(double t, double cj, N_Vector y, N_Vector yp, N_Vector, SUNMatrix matrix, void* user,
                      N_Vector, N_Vector, N_Vector);
  static int integrands_of(double t, N_Vector y, N_Vector yp, N_Vector out, void* user);
  static int conditions_of(double t, N_Vector y, N_Vector yp, double* out, void* user);
  static void remember_error(int, const char*, const char*, char* message, void* user);

  const Problem& problem_;
  const EquationSystem& system_;
  AdaptiveCompanion* companion_;
  Tableau tableau_;
  std::int32_t n_;
  ContextPointer context_;
  VectorPointer y_, yp_, id_, controlled_, tolerances_, totals_;
  MatrixPointer matrix_;
  SolverPointer solver_;
  IdaPointer ida_;
  SparsePattern pattern_;
  Reinitialisation reinitialisation_;
  Conditions conditions_;
  SourceJumps jumps_;
  ColumnFormulas updates_, outputs_, integrands_;
  std::vector<double> held_;
  FmuBlocks fmus_;
  std::vector<double> next_;
  std::vector<std::int64_t> samples_taken_;
  InitialState state_;
  double t_ = 0.0;
  std::vector<int> found_, fired_;
  std::vector<double> quantities_, shaken_quantities_, shaken_;
  std::vector<std::int32_t> changed_, taken_;
  std::int64_t quick_events_ = 0;
  std::vector<std::int32_t> position_;
  std::vector<double> rates_, by_x_, by_rate_;
  std::int64_t done_ = 0;
  long steps_before_ = 0, iterations_before_ = 0;
  Statistics statistics_;
  std::vector<double> before_;
  double event_time_ = -1.0;  // of the last event
  std::optional<double> ended_;
  std::string failure_, error_;
};

}  // namespace tellegen
