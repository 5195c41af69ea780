// One run by the variable step (variable_step.h): steps and rows in variable_run.cpp, events in
// variable_events.cpp.
#pragma once

#include <array>
#include <chrono>
#include <limits>

#include "tellegen/simulate/breakpoints.h"
#include "tellegen/simulate/dead_points.h"
#include "tellegen/simulate/delays.h"
#include "tellegen/simulate/dense_rows.h"
#include "tellegen/simulate/esdirk.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/followed_totals.h"
#include "tellegen/simulate/implicit_stage.h"
#include "tellegen/simulate/solution_afresh.h"

namespace tellegen {

class VariableRun : public Integrator {
 public:
  // `stage`: one of an earlier run of this problem, begun anew; null: another is made.
  explicit VariableRun(const Problem& problem, std::unique_ptr<ImplicitStage> stage = nullptr);
  std::unique_ptr<ImplicitStage> give_stage() { return std::move(stage_); }
  double stop() const { return stop_; }
  void compile(double interpreting) override { stage_->compile(interpreting); }
  std::int64_t advance(std::int64_t samples, double* rows) override;
  std::optional<double> ended() const override { return ended_; }
  void set_input(int input, double value) override;
  bool keep(Checkpoint& parts) override;
  std::string failure() const override { return failure_; }
  Statistics statistics() const override;
  Totals totals() const override;

 private:
  using Vector = std::vector<double>;
  using Clock = std::chrono::steady_clock;
  static constexpr double rounding = std::numeric_limits<double>::epsilon();
  static constexpr double instant = 1e-6;            // of a step: the length of those after a jump
  static constexpr double event_resolution = 1e-10;  // of a step
  static constexpr int last_stage = Esdirk::stages - 1;

  double row_time(std::int64_t row) const { return interval_ * static_cast<double>(row); }
  void set_alpha(double alpha);
  // With what arrives at t (behind a jump there: after one has been met).
  bool solve(double t, std::span<double> values, double* row, bool behind = false);
  void choose_first_step();

  // A step.
  bool step();
  bool attempt(double h, bool to_breakpoint);
  bool solve_stage(int i, double h);
  void predict(int i, double h);
  double error_of(std::size_t k, double h) const;  // of a step, by the two formulas
  double allowed_error(std::size_t k) const;
  double error_norm(double h) const;
  std::span<const double> speeds() const;
  void learn_rounding(double h);
  void accept(double h, bool reaches, double end);
  void choose_next(double h, double error);

  // Inside the last step, theta from 0 to 1.
  void find_bend();
  bool solve_inside(double theta, double* row);
  bool row_inside(double theta);
  bool emit_rows(std::int64_t last, double*& rows);

  // Events.
  void compile_where_it_pays();
  void follow(bool event);
  void record_step();
  void remember_updates();
  bool wants_change(double t);
  bool find_event();
  double locate(double theta);
  enum class Due { timed, sampled, followers };  // edges of time alone; what is sampled too; no samples
  bool take_over(Due due, bool& changed);
  bool begin_anew();
  bool solve_instant(double length, double t);
  bool sharpen_row(double t);
  bool recover(double t);
  void look_for_progress();
  void chatters(double t);
  bool fail(std::string message);

  const Problem& problem_;
  const EquationSystem& system_;
  const double interval_, stop_;
  Breakpoints breakpoints_;
  DeadPoints dead_points_;
  bool heads_on_ = false;  // Newton begins where the last step was heading
  // Outputs, what is recorded, what dead points look at, then the quantities that updates look at.
  std::vector<Expr> formulas_;
  std::size_t width_ = 0, first_speed_ = 0, first_quantity_ = 0;
  std::unique_ptr<ImplicitStage> stage_;
  std::size_t count_ = 0, controlled_ = 0;  // variables, and those of them that have a say in steps
  bool jumps_;                              // the equations do, with variables
  Vector floor_, peak_, rounded_;           // their scales, and what rounding leaves of them

  // Now.
  double t_ = 0.0, h_ = 0.0, alpha_ = 0.0;  // h_: the step to come
  Vector x_, rate_, iterates_, held_, quantities_;
  bool after_restart_ = true, rejected_ = false;
  double last_error_ = 1.0, restart_step_ = 0.0;
  double typical_ = 0.0;  // length of a step, on average over the last ones

  // The last step.
  double begin_ = 0.0, length_ = 0.0;  // length 0: there is none
  double end_time_ = 0.0;              // of its last stage
  Vector before_, after_;
  Vector bend_;  // of each variable's curve between them
  bool bend_known_ = false;
  std::array<Vector, Esdirk::stages> k_, guess_;  // rates and iterates of its stages
  int changing_stage_ = 0;                        // the first that wants a discrete variable changed
  Vector older_guess_;                            // where the step before began
  double older_length_ = 0.0;
  enum class Pending { nothing, event, breakpoint, jump } pending_ = Pending::nothing;
  double jump_before_ = 0.0;  // a jump of the equations lies before this time, if it is ahead
  double forced_end_ = std::numeric_limits<double>::infinity();
  Vector row_;              // of formulas_
  bool row_known_ = false;  // row_ is of a jump, at row_time_
  double row_time_ = 0.0;
  DenseRows dense_;
  bool dense_begun_ = false;  // for the last step

  FmuBlocks fmus_;
  Delays delays_;
  FollowedTotals followed_;
  Vector slope_, history_, work_, guessed_, next_, low_, high_;
  std::unique_ptr<Tableau> tableau_;  // for what Newton cannot find from where it is
  std::unique_ptr<SolutionAfresh> afresh_;
  bool wants_compiler_ = false;
  CompilerWatch watch_;
  Clock::time_point begun_;
  std::int64_t rows_ = 0;
  struct {
    std::int64_t steps = 0, events = 0;
    double t = 0.0;
  } looked_at_;
  Vector travelled_;  // since then, the way of each variable
  int quick_events_ = 0;
  std::size_t last_changed_ = 0;  // discrete variable
  double rest_ = 0.0, rest_until_ = 0.0;
  Statistics statistics_;
  std::optional<double> ended_;
  std::string failure_;
};

}  // namespace tellegen
