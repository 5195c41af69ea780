#include "tellegen/simulate/variable_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/equations/storage.h"
#include "tellegen/simulate/conditions.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/variable_step.h"

namespace tellegen {
namespace {

constexpr double floor_of_scale = 1e-3;  // of a variable's scale: below it no relative accuracy is asked for
constexpr double shrink_most = 0.2, grow_most = 5.0, safety = 0.8;
// A refused step shrinks by as much at least: what refuses it is mostly a kink, whose error falls slowly.
constexpr double shrink_least = 0.5;
constexpr double power_of_error = -1.0 / Esdirk::error_order, trend = 0.3;
constexpr double keep_below = 1.1;         // a step that could be longer by less stays: its tangent does too
constexpr double least_tolerance = 1e-12;  // of a step: rounding leaves no less
constexpr double rounding_of_parts = 1e-13;
constexpr double most_rounding = 1e-9;  // of a variable's scale
constexpr double caution = 0.1;  // errors of single steps add up: this part of the tolerance is for each
// Where an equation jumps within a step (an `if` of its variables), the two formulas may be nearer to each
// other than to the solution, by as much as 360 where it jumps between the third stage and the fourth.
constexpr double at_a_jump = 1.0 / 30;
constexpr double allowed_between = 0.1;   // of the tolerance, by rows between solutions: these do not add up
constexpr double straight_enough = 0.05;  // error of a step whose cubic is good enough for what is inside
// Of the longest step between sines, where equations are not linear: a rectifier may conduct for a fortieth
// of a period only, and all stages of a longer step may lie beside that, so that its error shows nothing. Not
// where equations jump: there a step is long enough for its error to show the jump (at_a_jump).
constexpr double nonlinear_part = 0.3;
constexpr std::int64_t steps_between_looks = 32;
constexpr std::int64_t steps_to_look_at = 20000;
// Of a run, at the pace of the last ones; and where an `if` may switch back and forth.
constexpr double hopeless_steps = 1e8, hopeless_switches = 3e6;

std::vector<Expr> with_quantities(const Problem& problem, const std::vector<Expr>& speeds) {
  std::vector<Expr> formulas = problem.outputs, updates;
  formulas.insert(formulas.end(), problem.recorded.begin(), problem.recorded.end());
  formulas.insert(formulas.end(), speeds.begin(), speeds.end());
  for (const Discrete& d : problem.system->discrete)
    if (d.every == 0.0 && !d.external) updates.push_back(d.update);
  const auto quantities = switching_quantities(updates);
  formulas.insert(formulas.end(), quantities.begin(), quantities.end());
  return formulas;
}

// Errors fall as a step shrinks, those of a jump within it as slowly as its length, unless they are rounding
// that the step divides: then a longer one has less.
class RefusedErrors {
 public:
  // Whether a longer step is to be tried, after one of this length was refused.
  bool stay(double h, bool solved, double error) {
    longest_ = std::max(longest_, h);
    const bool shorter = solved && h < 0.9 * length_;
    alike_ = shorter && error > std::sqrt(h / length_) * error_ ? alike_ + 1 : 0;
    slow_ = shorter && error > std::pow(h / length_, 3) * error_;
    length_ = solved ? h : 0.0;
    error_ = error;
    return alike_ >= 2 && tried_ < 4;
  }
  // Not the error of a smooth step, which goes with the fourth power of its length.
  bool slow() const { return slow_; }
  double longer() {
    ++tried_;
    alike_ = 0;
    length_ = 0.0;
    return longest_ *= 20.0;
  }

 private:
  double longest_ = 0.0, length_ = 0.0, error_ = 0.0;  // of all; of the last
  int alike_ = 0, tried_ = 0;
  bool slow_ = false;
};

// Of the last row, which rounding may put behind the stop.
double end_of(const Problem& problem, double interval) {
  if (!std::isfinite(problem.options.stop)) return 1e9 * interval;
  return std::max(problem.options.stop, interval * static_cast<double>(sample_count(problem)));
}

}  // namespace

VariableRun::VariableRun(const Problem& problem, std::unique_ptr<ImplicitStage> stage)
    : problem_(problem),
      system_(*problem.system),
      interval_(problem.step * static_cast<double>(problem.stride)),
      stop_(end_of(problem, interval_)),
      breakpoints_(system_, interval_, std::min(stop_, 1e6 * interval_)),
      dead_points_(system_),
      formulas_(with_quantities(problem, dead_points_.formulas())),
      width_(problem.outputs.size()),
      first_speed_(width_ + problem.recorded.size()),
      first_quantity_(first_speed_ + dead_points_.formulas().size()),
      stage_(stage ? std::move(stage)
                   : make_implicit_stage(problem, formulas_, 1.0 / (Esdirk::gamma * 1e-3 * interval_))),
      controlled_(system_.rates.size()),
      jumps_(equations_jump(system_)),
      held_(problem.initial.held),
      dense_(width_, allowed_between * problem.options.tolerance),
      fmus_(system_, interval_, problem.options.stop, held_),
      delays_(system_, held_, problem.options.tolerance),
      next_(held_.size()) {
  if (!fmus_.empty()) stage_->hold(held_);
  count_ = controlled_ + (stage_->keeps_totals() ? problem.totals.size() : 0);
  for (Vector* v : {&x_, &rate_, &before_, &after_, &bend_, &slope_, &history_, &work_, &peak_, &floor_,
                    &rounded_, &travelled_})
    v->assign(count_, 0.0);
  for (Vector& k : k_) k.assign(count_, 0.0);
  for (Vector& g : guess_) g.assign(stage_->iterate_count(), 0.0);
  older_guess_ = iterates_ = guessed_ = guess_[0];
  for (std::size_t k = 0; k < controlled_; ++k) {
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    x_[k] = symbol_value(group, r.symbol, r.member, problem.initial.x);
    const auto column = std::max(group.plus[r.symbol][r.member], group.minus[r.symbol][r.member]);
    floor_[k] = floor_of_scale * (column >= 0 ? column_scale(system_, column) : 1.0);
    // A difference of two large numbers (temperatures above 300 K) has their rounding.
    for (const auto end : {group.plus[r.symbol][r.member], group.minus[r.symbol][r.member]})
      if (end >= 0) rounded_[k] = std::max(rounded_[k], rounding_of_parts * std::abs(problem.initial.x[end]));
    peak_[k] = std::abs(x_[k]);
  }
  std::copy(problem.initial.rates.begin(), problem.initial.rates.end(), rate_.begin());
  if (count_ > controlled_)
    std::copy(problem.totals_start.begin(), problem.totals_start.end(),
              rate_.begin() + static_cast<long>(controlled_));
  stage_->iterates(iterates_);
  row_.resize(formulas_.size());
  quantities_.resize(formulas_.size() - first_quantity_);
  low_ = high_ = quantities_;
  wants_compiler_ = problem.options.compile;
  watch_.next = stage_->printing_seconds();
  statistics_.variable_step = true;
  statistics_.unknowns = stage_->network().size();
  if (count_ == controlled_ && !problem.totals.empty()) followed_.begin(problem, sample_count(problem));
  choose_first_step();
  // Rates of storage that follows a controlled source are known after an instant.
  for (const RedundantRate& r : problem.storage.redundant)
    for (const auto& term : r.terms)
      if (term.rate < 0 && !source_rate(system_, term.source)) pending_ = Pending::breakpoint;
  // What a quantity is at the start, an instant after it.
  if (!quantities_.empty() && solve_instant(instant * typical_, 0.0))
    std::copy(row_.begin() + static_cast<long>(first_quantity_), row_.end(), quantities_.begin());
  stage_->set_iterates(iterates_);
}

// A hundredth of the time in which a variable would change by its own size or its scale; steps grow quickly
// from there.
void VariableRun::choose_first_step() {
  const double most = 1e-2 * std::min(interval_, stop_);
  h_ = most;
  if (typical_ == 0.0) typical_ = most;
  for (std::size_t k = 0; k < controlled_; ++k)
    if (const double rate = std::abs(rate_[k]); rate > 0.0)
      h_ = std::min(h_, 1e-2 * (std::abs(x_[k]) + floor_[k] / floor_of_scale) / rate);
  h_ = std::max({h_, 1e-9 * most, 1e4 * rounding * t_});
  after_restart_ = true;
}

bool VariableRun::fail(std::string message) {
  failure_ = std::move(message);
  return false;
}

void VariableRun::set_alpha(double alpha) {
  if (alpha == alpha_) return;
  alpha_ = alpha;
  stage_->set_alpha(alpha);
}

bool VariableRun::solve(double t, std::span<double> values, double* row, bool behind) {
  if (!delays_.empty()) {
    delays_.arrive(t, behind, held_);
    stage_->hold(held_);
  }
  // Newton's iteration may end in what is not a number: the largest of changes passes over it.
  return stage_->solve(t, history_, values, row) &&
         std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// Where Newton begins in stage i: on a curve through what is known of this step.
void VariableRun::predict(int i, double h) {
  const auto& c = Esdirk::node;
  struct Term {
    double weight;
    const Vector* values;
  };
  const auto begin_at = [&](const Term& a, const Term& b, const Term& d) {
    // The weights add up to 1. What does not change is so to the last bit: a discrete variable at its
    // threshold.
    for (std::size_t k = 0; k < guessed_.size(); ++k) {
      const double value = (*a.values)[k];
      guessed_[k] = value + b.weight * ((*b.values)[k] - value) + d.weight * ((*d.values)[k] - value);
    }
  };
  const auto parabola = [&](std::array<int, 3> at) {
    std::array<double, 3> weight{1.0, 1.0, 1.0};
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b)
        if (a != b) weight[a] *= (c[i] - c[at[b]]) / (c[at[a]] - c[at[b]]);
    begin_at({weight[0], &guess_[at[0]]}, {weight[1], &guess_[at[1]]}, {weight[2], &guess_[at[2]]});
  };
  if (heads_on_ && older_length_ > 0.0) {
    const double ahead = c[i] * h / older_length_;
    begin_at({1.0 + ahead, &guess_[0]}, {-ahead, &older_guess_}, {0.0, &guess_[0]});
  } else if (i == 1) {
    const double ahead = older_length_ > 0.0 ? std::min(2.0, c[1] * h / older_length_) : 0.0;
    begin_at({1.0 + ahead, &guess_[0]}, {-ahead, &older_guess_}, {0.0, &guess_[0]});
  } else if (i == 2) {
    const double ahead = c[2] / c[1];
    begin_at({1.0 - ahead, &guess_[0]}, {ahead, &guess_[1]}, {0.0, &guess_[0]});
  } else {
    parabola(i == 3 ? std::array{0, 2, 1} : i == 4 ? std::array{2, 1, 3} : std::array{1, 3, 4});
  }
  stage_->set_iterates(guessed_);
}

bool VariableRun::solve_stage(int i, double h) {
  for (std::size_t k = 0; k < count_; ++k) {
    double sum = 0.0;
    for (int j = 0; j < i; ++j) sum += Esdirk::a[i][j] * k_[j][k];
    history_[k] = -alpha_ * (before_[k] + h * sum);
  }
  const double t = i == last_stage ? end_time_ : begin_ + Esdirk::node[i] * h;
  const bool looks = !quantities_.empty() || !dead_points_.empty();
  double* row = i == last_stage && looks ? row_.data() : nullptr;
  const bool newton = stage_->iterative();
  if (newton) predict(i, h);
  bool good = solve(t, after_, row);
  if (!good && newton) {
    stage_->set_iterates(guess_[0]);
    good = solve(t, after_, row);
  }
  if (!good) return false;
  for (std::size_t k = 0; k < count_; ++k) k_[i][k] = alpha_ * after_[k] + history_[k];
  if (newton) stage_->iterates(guess_[i]);
  if (followed_.active()) stage_->integrands(t, followed_.at[i]);
  if (!held_.empty() && changing_stage_ == 0 && wants_change(t)) changing_stage_ = i;
  return true;
}

bool VariableRun::attempt(double h, bool to_breakpoint) {
  begin_ = t_;
  length_ = h;
  // With sources as they are before they jump.
  end_time_ = t_ + h - (to_breakpoint ? std::max(1e-9 * h, 8.0 * rounding * t_) : 0.0);
  before_ = x_;
  k_[0] = rate_;
  guess_[0] = iterates_;
  changing_stage_ = 0;
  bend_known_ = dense_begun_ = false;
  set_alpha(1.0 / (Esdirk::gamma * h));
  for (int i = 1; i < Esdirk::stages; ++i)
    if (!solve_stage(i, h)) return false;
  return true;
}

double VariableRun::error_of(std::size_t k, double h) const {
  double sum = 0.0;
  for (int i = 0; i < Esdirk::stages; ++i) sum += Esdirk::difference[i] * k_[i][k];
  return std::abs(h * sum);
}

double VariableRun::allowed_error(std::size_t k) const {
  const double tolerance = std::max(caution * problem_.options.tolerance, least_tolerance);
  const double size = std::max(peak_[k], std::abs(after_[k])) + floor_[k];
  return std::max(tolerance * size, rounded_[k]);
}

// 1: as much as the tolerance allows.
double VariableRun::error_norm(double h) const {
  double largest = 0.0;
  for (std::size_t k = 0; k < controlled_; ++k)
    if (const double relative = error_of(k, h) / allowed_error(k); !(relative <= largest)) largest = relative;
  return largest;
}

// An error that steps of very different lengths have alike, and that is next to nothing in its unit, is
// rounding (of an integral over the difference of two large currents) and will be there in the steps to
// come. A large one may be of what decays faster than all of them.
void VariableRun::learn_rounding(double h) {
  for (std::size_t k = 0; k < controlled_; ++k)
    if (const double error = error_of(k, h);
        error > allowed_error(k) && error < most_rounding * floor_[k] / floor_of_scale)
      rounded_[k] = 4.0 * error;
}

bool VariableRun::step() {
  const double breakpoint = std::min(breakpoints_.next(t_, held_), delays_.next_jump(t_));
  double end = std::min({breakpoint, forced_end_, stop_});
  if (followed_.active()) end = std::min(end, row_time(followed_.rows));
  if (t_ < rest_until_) end = std::min(end, rest_until_ * (1 + 2 * rounding));
  if (!problem_.external.empty()) end = std::min(end, row_time(rows_ + 1));
  const double shortest = std::max(4.0 * rounding * t_, 1e-9 * rounding * interval_);
  RefusedErrors refused;
  std::size_t turns = 0;
  for (int recoveries = 0;;) {
    const double left = end - t_;
    const double longest =
        breakpoints_.longest_step() * (stage_->iterative() && !jumps_ ? nonlinear_part : 1.0);
    double h = std::min({h_, longest, delays_.shortest()});
    const bool reaches = h >= left * (1 - 1e-9);
    h = reaches ? left : std::min(h, std::max(0.5 * left, 0.7 * h));  // no remainder
    if (h <= shortest) {  // rounding between two instants that are one
      t_ = end;
      length_ = 0.0;
      changing_stage_ = 0;
      pending_ = breakpoint <= end || end >= stop_ ? Pending::breakpoint : Pending::nothing;
      forced_end_ = std::numeric_limits<double>::infinity();
      return true;
    }
    const bool solved = attempt(h, reaches && breakpoint <= end * (1 + 1e-12));
    const double error = solved ? error_norm(h) / (t_ < jump_before_ ? at_a_jump : 1.0) : 0.0;
    if (solved && error <= 1.0 && changing_stage_ == 0)
      if (const std::string joint = dead_points_.jumping(speeds(), t_, h); !joint.empty()) {
        constexpr std::array<double, 5> shorter{1.0, 0.8, 0.8, 0.4, 0.2};
        if (turns == shorter.size())
          return fail(fmt::format("'{}' is in a dead point at t = {:.9g} s, where it would turn back or jump",
                                  joint, t_));
        rejected_ = heads_on_ = true;
        h_ = h * shorter[turns++];
        continue;
      }
    if (solved && error <= 1.0) {
      choose_next(h, error);
      accept(h, reaches, end);
      if (reaches && breakpoint <= end * (1 + 1e-12)) {
        // At a kink only the rates of storage that follows a source are others.
        if (breakpoints_.jumps(t_) || delays_.jumps(t_))
          pending_ = Pending::jump;
        else if (breakpoints_.changes(t_) || !problem_.storage.redundant.empty())
          pending_ = Pending::breakpoint;
        else
          breakpoints_.pass(t_);
      }
      return true;
    }
    rejected_ = true;
    const bool stay = refused.stay(h, solved, error);
    if (jumps_ && (refused.slow() || (solved && error > 1.0 / at_a_jump))) jump_before_ = t_ + h;
    if (stay) {
      learn_rounding(h);
      h_ = refused.longer();
    } else if (solved) {
      h_ = h * std::clamp(safety * std::pow(error, power_of_error), shrink_most, shrink_least);
    } else {
      h_ = 0.25 * h;
    }
    if (h_ > shortest) continue;
    if (++recoveries > 3 || !recover(t_)) {
      length_ = 0.0;
      return fail(fmt::format(
          "no step from t = {:.9g} s is short enough: {}; tried were shorter steps, Newton's iteration from "
          "several points, and gmin and source stepping for everything but the states",
          t_,
          solved ? "the error stays too large"
                 : "Newton's iteration does not converge, " + stage_->still_changing() + " keeps changing"));
    }
  }
}

// After a rejected step none that is longer; else by the size of the error, and by its trend where that says
// less.
void VariableRun::choose_next(double h, double error) {
  error = std::max(error, 1e-8);
  double factor = safety * std::pow(error, power_of_error);
  if (!after_restart_) factor *= std::min(1.0, std::pow(error / last_error_, trend * power_of_error));
  factor = std::clamp(factor, shrink_most, after_restart_ ? 2 * grow_most : grow_most);
  if (rejected_) factor = std::min(factor, 1.0);
  if (after_restart_) restart_step_ = h * factor;
  const bool cut = h < 0.99 * h_ && !rejected_;  // by a breakpoint: says nothing about the next
  rejected_ = after_restart_ = false;
  last_error_ = std::max(error, 1e-4);
  if (cut)
    h_ = factor < 1.0 ? h * factor : std::max(h_, h * factor);
  else if (factor < 1.0 || factor > keep_below)
    h_ = h * factor;
}

void VariableRun::accept(double h, bool reaches, double end) {
  t_ = reaches ? end : begin_ + h;
  ++statistics_.steps;
  typical_ += 0.1 * (h - typical_);
  for (std::size_t k = 0; k < controlled_; ++k) {
    travelled_[k] += std::abs(after_[k] - x_[k]);
    peak_[k] = std::max(peak_[k], std::abs(after_[k]));
  }
  x_ = after_;
  rate_ = k_[last_stage];
  iterates_ = guess_[last_stage];
  older_guess_ = guess_[0];
  older_length_ = h;
  if (!quantities_.empty()) {
    low_.swap(quantities_);
    std::copy(row_.begin() + static_cast<long>(first_quantity_), row_.end(), quantities_.begin());
  }
  if (!dead_points_.empty()) dead_points_.pass(speeds(), t_);
  heads_on_ = false;
  forced_end_ = std::numeric_limits<double>::infinity();
  row_known_ = false;
}

std::span<const double> VariableRun::speeds() const {
  return std::span(row_).subspan(first_speed_, first_quantity_ - first_speed_);
}

// The cubic through both ends, by values and rates, is off by bend theta^2 (1 - theta)^2 with a bend that
// goes with the fourth power of the step, about 12 times its estimated error. A solution that begins on the
// cubic moves from there by gamma h times what its rate is off, of stiff variables by all that they are off:
// by the same where theta = 1 - sqrt(1/2), so that the solution there tells the bend, whatever the time
// constant.
void VariableRun::find_bend() {
  constexpr double at = 1.0 - 0.70710678118654752, there = at * at * (1 - at) * (1 - at);
  std::fill(bend_.begin(), bend_.end(), 0.0);
  bend_known_ = true;
  if (last_error_ < straight_enough) return;
  stage_->begin_aside();
  if (solve_inside(at, nullptr))
    for (std::size_t k = 0; k < count_; ++k) {
      const double bend = (alpha_ * work_[k] + history_[k] - slope_[k]) / (alpha_ * there);
      if (std::abs(bend) > 0.1 * allowed_error(k)) bend_[k] = bend;  // else a part of it is rounding
    }
  stage_->end_aside();
}

// The solution where the differentiated variables are on the curve through both ends; their values are left
// in work_.
bool VariableRun::solve_inside(double theta, double* row) {
  if (!bend_known_) find_bend();
  const double s = theta, r = 1 - s, h = length_;
  const double p0 = (1 + 2 * s) * r * r, p1 = s * s * (3 - 2 * s), q0 = s * r * r * h, q1 = -s * s * r * h;
  const double slope0 = -6 * s * r / h, e0 = r * (1 - 3 * s), e1 = s * (3 * s - 2);
  const double b0 = s * s * r * r, b1 = 2 * s * r * (r - s) / h;
  const Vector& k1 = k_[last_stage];
  set_alpha(1.0 / (Esdirk::gamma * h));
  for (std::size_t k = 0; k < count_; ++k) {
    const double p = p0 * before_[k] + p1 * after_[k] + q0 * k_[0][k] + q1 * k1[k] + b0 * bend_[k];
    slope_[k] = slope0 * (before_[k] - after_[k]) + e0 * k_[0][k] + e1 * k1[k] + b1 * bend_[k];
    history_[k] = slope_[k] - alpha_ * p;
  }
  const double t = std::min(begin_ + s * h, end_time_);
  if (!stage_->iterative()) return solve(t, work_, row);
  const Vector& g1 = guess_[last_stage];
  for (std::size_t k = 0; k < guessed_.size(); ++k) guessed_[k] = guess_[0][k] + s * (g1[k] - guess_[0][k]);
  stage_->set_iterates(guessed_);
  if (solve(t, work_, row)) return true;
  stage_->set_iterates(s > 0.5 ? g1 : guess_[0]);
  return solve(t, work_, row);
}

// The row at theta, solved for, or from few solutions where many rows are in this step.
bool VariableRun::row_inside(double theta) {
  const auto rows = static_cast<std::int64_t>(t_ / interval_) - static_cast<std::int64_t>(begin_ / interval_);
  if (!DenseRows::pays(rows)) return solve_inside(theta, row_.data());
  // A curve ends before an event: there an output may jump.
  if (!dense_begun_)
    dense_.begin(pending_ == Pending::event ? (t_ - begin_) / length_ - 4 * event_resolution : 1.0, rows);
  dense_begun_ = true;
  const auto solve = [&](double at, double* row) {
    stage_->begin_aside();
    const bool good = solve_inside(at, row_.data());
    stage_->end_aside();
    std::copy_n(row_.begin(), width_, row);
    return good;
  };
  return dense_.row(theta, solve, row_.data());
}

// All rows up to now; where a source jumps now, those before. False where the step had to be taken back.
bool VariableRun::emit_rows(std::int64_t last, double*& rows) {
  while (rows_ < last) {
    const double t = row_time(rows_ + 1);
    if (row_known_ && t <= row_time_ * (1 + 1e-12)) {
      std::copy_n(row_.begin(), width_, rows);
    } else {
      if (t > t_ * (1 + 1e-12) || length_ == 0.0) return true;
      if (pending_ == Pending::jump && t >= t_ * (1 - 1e-12)) return true;
      if (!row_inside(std::min(1.0, (t - begin_) / length_))) {
        // No solution from either end: take a step that ends here.
        t_ = begin_;
        x_ = before_;
        rate_ = k_[0];
        iterates_ = guess_[0];
        length_ = 0.0;
        forced_end_ = t;
        pending_ = Pending::nothing;
        return false;
      }
      row_known_ = false;
      std::copy_n(row_.begin(), width_, rows);
    }
    failure_ = not_finite(problem_, rows, t);
    if (!failure_.empty()) return true;
    rows += width_;
    ++rows_;
  }
  return true;
}

// Integrals move on with the step, or with the part of it before an event.
void VariableRun::follow(bool event) {
  if (event) {
    const double part = (t_ - begin_) / length_;
    stage_->integrands(t_, followed_.end());  // the last solution is that of the event
    if (solve_inside(0.5 * part, nullptr))
      stage_->integrands(begin_ + 0.5 * part * length_, followed_.middle);
    followed_.add_part(t_ - begin_);
  } else {
    followed_.add_step(length_);
  }
  followed_.done = t_ >= row_time(followed_.rows) * (1 - 1e-12);
}

// Up to now: an event may have cut the step short.
void VariableRun::record_step() {
  problem_.record->add_step(begin_, t_, [&](double t, double* values) {
    if (!solve_inside(std::min(1.0, (t - begin_) / length_), row_.data())) return false;
    std::copy(row_.begin() + static_cast<long>(width_), row_.begin() + static_cast<long>(first_quantity_),
              values);
    return true;
  });
}

// Of those that are delayed, up to now.
void VariableRun::remember_updates() {
  delays_.add_step(begin_, t_, [&](double t, std::span<double> updates) {
    if (!solve_inside(std::min(1.0, (t - begin_) / length_), nullptr)) return false;
    stage_->updates(t, updates);
    return true;
  });
}

// A compiler costs some tenths of a second, and printing what it reads some milliseconds: a run is
// interpreted until it turns out to be long, as long as these take, since nobody knows how long it will be.
void VariableRun::compile_where_it_pays() {
  if (!wants_compiler_ || stage_->compiled() || statistics_.steps % steps_between_looks != 0) return;
  const double spent = std::chrono::duration<double>(Clock::now() - begun_).count();
  if (watch_.due(spent)) stage_->compile(spent * std::min(1.0, (stop_ - t_) / t_));
}

// Where rounding is all that the error control sees, or the solution slides along a condition that jumps back
// and forth, steps stay as short as they are, and nothing happens.
void VariableRun::look_for_progress() {
  if (statistics_.steps < looked_at_.steps + steps_to_look_at) return;
  double moved = 0.0;  // there and back: what swings is not at rest
  for (std::size_t k = 0; k < controlled_; ++k)
    moved = std::max(moved, travelled_[k] / (peak_[k] + floor_[k]));
  const double further = t_ - looked_at_.t;
  const bool hopeless = static_cast<double>(steps_to_look_at) * (stop_ - t_) >
                        (jumps_ ? hopeless_switches : hopeless_steps) * further;
  if (moved < 1e-3 && statistics_.events == looked_at_.events && (further < 1e-3 * interval_ || hopeless))
    fail(fmt::format(
        "{} steps from t = {:.9g} s on have come no further than {:.2g} s, and nothing has changed: "
        "the tolerance of {:g} is below what rounding leaves in this model{}",
        steps_to_look_at, looked_at_.t, further, problem_.options.tolerance,
        jumps_ ? ", or an 'if' of a variable switches back and forth there" : ""));
  looked_at_ = {statistics_.steps, statistics_.events, t_};
  std::fill(travelled_.begin(), travelled_.end(), 0.0);
}

std::int64_t VariableRun::advance(std::int64_t samples, double* rows) {
  const std::int64_t first = rows_, last = rows_ + samples;
  if (statistics_.steps == 0) begun_ = Clock::now();
  while (failure_.empty() && !ended_) {
    if (!emit_rows(last, rows)) continue;
    if (rows_ == last || !failure_.empty()) break;
    if (pending_ != Pending::nothing) {
      if (!begin_anew()) break;
    } else if (!fmus_.failure().empty()) {
      failure_ = fmus_.failure();
    } else if (compile_where_it_pays(), look_for_progress(); step()) {
      const bool event = changing_stage_ > 0 && t_ > rest_until_ && find_event();
      if (followed_.active() && length_ > 0.0) follow(event);
      if (!delays_.empty() && length_ > 0.0) remember_updates();
      if (problem_.record && length_ > 0.0) record_step();
    } else {
      break;
    }
  }
  if (ended_) std::copy_n(row_.begin(), width_, rows);
  statistics_.iterations = stage_->iterations;
  statistics_.worst_iterations = stage_->worst_iterations;
  statistics_.factorisations = stage_->factorisations;
  return rows_ - first;
}

namespace {

// One run, or one after another on the same stage.
class VariableRuns : public Integrator {
 public:
  explicit VariableRuns(const Problem& problem)
      : problem_(problem), run_(std::make_unique<VariableRun>(problem)) {}
  bool restart() override {
    // Where the stop follows from numbers, so may the rows.
    if (end_of(problem_, problem_.step * static_cast<double>(problem_.stride)) != run_->stop()) return false;
    std::unique_ptr<ImplicitStage> stage = run_->give_stage();
    if (!stage->restart(problem_)) return false;
    run_ = std::make_unique<VariableRun>(problem_, std::move(stage));
    return true;
  }
  std::int64_t advance(std::int64_t samples, double* rows) override { return run_->advance(samples, rows); }
  std::optional<double> ended() const override { return run_->ended(); }
  void compile(double interpreting) override { run_->compile(interpreting); }
  void set_input(int input, double value) override { run_->set_input(input, value); }
  bool keep(Checkpoint& parts) override { return run_->keep(parts); }
  std::string failure() const override { return run_->failure(); }
  Statistics statistics() const override { return run_->statistics(); }
  Totals totals() const override { return run_->totals(); }

 private:
  const Problem& problem_;
  std::unique_ptr<VariableRun> run_;
};

}  // namespace

std::unique_ptr<Integrator> make_variable_step(const Problem& problem) {
  if (problem.options.restarts) return std::make_unique<VariableRuns>(problem);
  return std::make_unique<VariableRun>(problem);
}

}  // namespace tellegen
