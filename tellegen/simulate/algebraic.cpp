#include "tellegen/simulate/algebraic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/simulate/breakpoints.h"
#include "tellegen/simulate/delays.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/fmu_blocks.h"

namespace tellegen {
namespace {

constexpr int most_halvings = 12;  // of a step in which Newton fails
constexpr double instant = 1e-12;  // to which events are located, of a step

class AlgebraicRun : public Integrator {
 public:
  explicit AlgebraicRun(const Problem& problem)
      : problem_(problem),
        system_(*problem.system),
        tableau_(system_),
        solver_(tableau_, problem.storage),
        updates_(system_, update_expressions(system_)),
        outputs_(system_, problem.outputs),
        recorded_(system_, problem.recorded),
        state_(problem.initial),
        trial_(state_),
        held_(problem.initial.held),
        next_(held_.size()),
        samples_taken_(held_.size(), 0) {
    tableau_.hold(held_);
    const double sample = problem.step * static_cast<double>(problem.stride);
    const double step = problem.options.step > 0.0 ? problem.options.step : problem.step;
    parts_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(sample / step * (1 - 1e-9))));
    // Rows alone where nothing remembers what was between them.
    const auto remembers = [](const Discrete& d) { return !d.external; };
    if (std::none_of(system_.discrete.begin(), system_.discrete.end(), remembers)) parts_ = 1;
    part_ = sample / static_cast<double>(parts_);
    if (problem.record) breakpoints_.emplace(system_, part_, problem.options.stop);
    fmus_ = std::make_unique<FmuBlocks>(system_, part_, problem.options.stop, held_);
    tableau_.hold(held_);
    statistics_.unknowns = tableau_.size();
    statistics_.executor = "no states: Newton at every row, interpreted";
  }

  std::int64_t advance(std::int64_t samples, double* rows) override {
    if (!failure_.empty()) return 0;
    const double interval = problem_.step * static_cast<double>(problem_.stride);
    for (std::int64_t k = 0; k < samples; ++k) {
      for (std::int64_t part = 1; part <= parts_; ++part) {
        const double share = static_cast<double>(part) / static_cast<double>(parts_);
        const double to = interval * (static_cast<double>(done_) + (part == parts_ ? 1.0 : share));
        if (reach(to) && (part == parts_ || !failed())) continue;
        if (ended_) outputs_.evaluate(state_.x, *ended_, rows);
        count();
        return k;
      }
      ++done_;
      outputs_.evaluate(state_.x, interval * static_cast<double>(done_), rows);
      rows += problem_.outputs.size();
      if (failed()) {
        count();
        return k + 1;
      }
    }
    count();
    return samples;
  }

  void set_input(int input, double value) override {
    held_[problem_.external[input]] = value;
    tableau_.hold(held_);
    trial_ = state_;
    if (solve(t_, trial_) && settle(t_, false)) std::swap(state_, trial_);
  }
  bool keep(Checkpoint& parts) override {
    parts(state_.x, state_.rates, state_.held, held_, samples_taken_, done_, t_, ended_);
    tellegen::keep(parts, statistics_);
    if (parts.reading()) tableau_.hold(held_);
    return true;
  }
  std::optional<double> ended() const override { return ended_; }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override { return statistics_; }

 private:
  void count() { statistics_.iterations = solver_.iterations(); }

  // From state_ to `to`, event by event.
  bool reach(double to) {
    for (int events = 0; t_ < to; ++events) {
      // A sampling and a row may be the same instant but for rounding.
      const double sampling = next_sampling();
      const double end = std::min(sampling <= to * (1 + 1e-12) ? sampling : to, next_breakpoint());
      double t = end;
      const double from = t_;
      trial_ = state_;
      if (!step_to(t, trial_)) return false;
      ++statistics_.steps;
      const bool changes = change(t, trial_);
      if (changes) {
        // The first instant known at which an update differs; before it, none does.
        double before = t_;
        while (t - before > instant * (end - t_) && t - before > 4e-16 * t) {
          const double middle = 0.5 * (before + t);
          InitialState at = state_;
          if (!step_to(middle, at)) return false;
          if (change(middle, at)) {
            t = middle;
            trial_ = std::move(at);
          } else {
            before = middle;
            state_ = std::move(at);
            t_ = middle;
          }
        }
        if (events > 10000) return chatters(t);
      }
      if (breakpoints_) record(from, t);
      if (changes || t == sampling) {
        if (!settle(t, t == sampling)) return false;
        failing_ = fmus_->failure();
        if (problem_.stop_event >= 0 && held_[problem_.stop_event] != 0.0) {
          ended_ = t;
          return false;
        }
      }
      std::swap(state_, trial_);
      t_ = t;
      if (t < to && failed()) return false;
    }
    return true;
  }

  // For curves between the rows, intervals end where sources have a kink or jump.
  double next_breakpoint() {
    if (!breakpoints_) return std::numeric_limits<double>::infinity();
    breakpoints_->pass(t_);
    return std::min(breakpoints_->next(t_, held_), t_ + breakpoints_->longest_step());
  }

  // From just after one instant to just before another: sources may jump at both.
  void record(double from, double to) {
    from *= 1 + 1e-15;
    const double end = to - std::max(1e-12 * (to - from), 4e-16 * to);
    InitialState at = state_;
    problem_.record->add_step(from, end, [&](double t, double* values) {
      if (!solver_.find(t, at)) {
        at = state_;
        if (!step_to(t, at)) return false;
      }
      recorded_.evaluate(at.x, t, values);
      return true;
    });
  }

  // An FMU failed on its way from here: the row here is good.
  bool failed() {
    if (!failing_.empty()) failure_ = failing_;
    return !failing_.empty();
  }

  // By Newton from what is known at t_, in parts where that fails, and at last without a guess.
  bool step_to(double t, InitialState& at) {
    double done = t_, length = t - t_;
    for (int halvings = 0; done < t;) {
      const double next = t - done <= length * (1 + 1e-9) ? t : done + length;
      if (solver_.find(next, at)) {
        done = next;
        continue;
      }
      if (++halvings <= most_halvings) {
        length *= 0.5;
        continue;
      }
      if (!solve(next, at)) return false;
      done = next;
      length = t - done;  // beyond the jump
      halvings = 0;
    }
    return true;
  }

  bool solve(double t, InitialState& at) {
    if (solver_.find(t, at)) return true;
    try {
      solver_.find_afresh(t, at);
      return true;
    } catch (const std::runtime_error& error) {
      failure_ = error.what();
      return false;
    }
  }

  bool change(double t, const InitialState& at) {
    if (held_.empty()) return false;
    updates_.evaluate(at.x, t, next_.data());
    for (std::size_t k = 0; k < held_.size(); ++k)
      if (system_.discrete[k].every == 0.0 && differs(next_[k], held_[k])) return true;
    return false;
  }

  // Discrete variables are taken over until none changes, each time with everything found anew in trial_.
  bool settle(double t, bool sampling) {
    bool any = false;
    for (int round = 0;; ++round) {
      updates_.evaluate(trial_.x, t, next_.data());
      bool changed = false;
      for (std::size_t k = 0; k < held_.size(); ++k) {
        const Discrete& d = system_.discrete[k];
        if (d.external) continue;
        if (d.every > 0.0) {
          const double due = d.interval(part_) * static_cast<double>(samples_taken_[k] + 1);
          if (!sampling || round > 0 || t < due * (1 - 1e-12)) continue;
          ++samples_taken_[k];
        }
        if (!differs(next_[k], held_[k])) continue;
        held_[k] = next_[k];
        changed = any = true;
      }
      if (!changed) break;
      if (round > 50) return chatters(t);
      fmus_->follow(held_);
      tableau_.hold(held_);
      if (!solve(t, trial_)) return false;
    }
    if (any) ++statistics_.events;
    return true;
  }

  bool chatters(double t) {
    failure_ = fmt::format(
        "discrete variables do not settle at t = {:.9g} s: they change again and again; give a comparison a "
        "hysteresis",
        t);
    return false;
  }

  double next_sampling() const {
    double t = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < held_.size(); ++k)
      if (system_.discrete[k].every > 0.0)
        t = std::min(t, system_.discrete[k].interval(part_) * static_cast<double>(samples_taken_[k] + 1));
    return t;
  }

  const Problem& problem_;
  const EquationSystem& system_;
  Tableau tableau_;
  Reinitialisation solver_;
  ColumnFormulas updates_, outputs_, recorded_;
  std::optional<Breakpoints> breakpoints_;  // where curves are recorded
  InitialState state_, trial_;              // at t_, and where it may go
  std::vector<double> held_, next_;
  std::vector<std::int64_t> samples_taken_;
  std::unique_ptr<FmuBlocks> fmus_;
  std::int64_t parts_ = 1, done_ = 0;
  double t_ = 0.0, part_ = 0.0;
  std::optional<double> ended_;
  Statistics statistics_;
  std::string failure_, failing_;
};

}  // namespace

// With a number of iterations that must do, a step is what was asked for; `exact` is for linear networks.
bool is_algebraic(const Problem& problem) {
  return problem.system->rates.empty() && !has_delays(*problem.system) && problem.options.iterations == 0 &&
         traits_of(problem.options.method).steps != MethodTraits::Steps::samples;
}

std::unique_ptr<Integrator> make_algebraic(const Problem& problem) {
  return std::make_unique<AlgebraicRun>(problem);
}

}  // namespace tellegen
