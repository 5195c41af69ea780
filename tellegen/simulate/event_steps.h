// Fixed steps around events, the same for every executor of a step.
//
// A step in which an event falls is done again in parts; backward Euler, which needs neither rates nor
// earlier values. What depends on time and discrete variables alone (a modulator's edge) is met exactly;
// other events are found by bisection, as closely as the options ask for. No part is shorter than a
// ten-millionth of the step: an edge on the step grid leaves no remainder of rounding size. At an event
// discrete variables change until none wants to any more; then the formula begins anew: with a backward Euler
// step after an event that was looked for, and otherwise (sampled variables may change in every step) with
// one of second order, in two stages,
//
//   k1 = f(x + g h k1)    x_next = x + h ((1 - g) k1 + g k2)    k2 = f(x_next)    g = 1 - 1/sqrt(2)
//
// L-stable, and a quadrature of second order on the far side of the event.
//
// Sources that jump by themselves (source_jumps.h) are no events, but steps end at their jumps all the same,
// with the values before them.
//
// The method itself is C, so that exported models carry what runs here: runtime/tellegen_events.h.
//
// [Alexander 1977] Diagonally implicit Runge-Kutta methods for stiff ODEs, SIAM J. Numer. Anal. 14.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/tellegen_events.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/scheme.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/simulate/step_state.h"

namespace tellegen {

inline constexpr int most_located = TELLEGEN_MOST_LOCATED;    // events in one step that are looked for
inline constexpr int most_followed = TELLEGEN_MOST_FOLLOWED;  // changes at one event

// The formula a method settles into, how many trapezoidal steps come before at the start, and how many steps
// of a formula that needs no past after an event.
struct MethodPlan {
  Scheme scheme;
  int order = 2, start_steps = 0, restart_steps = 1;
  bool project = true;
};
MethodPlan plan_method(const SimulationOptions& options, double step);

// What carries out one step. After take() outputs and updates are those at its end.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  virtual bool take(const Scheme& scheme, double t, double length) = 0;  // to time t; false: no convergence
  virtual void load(const StepState& state) = 0;
  virtual void store(StepState& state) = 0;
  virtual void hold(std::span<const double> held) = 0;
  virtual void updates(double t, std::span<double> values) = 0;
  virtual bool watched() const { return false; }  // somebody goes along with the run
  // For them. The step just taken stays; the last two were stages of one step; discrete variables were taken
  // over at its end.
  virtual void kept(const Scheme&, double, double) {}
  virtual void staged() {}
  virtual void changed(double, std::span<const int>, std::span<const double>, std::span<const double>, bool) {
  }
};

// What happens around the steps, as data for a target, before the first step: all but registers and what
// belongs to a method.
StepCode events_code(const Problem& problem, const FmuBlocks& fmus, SourceJumps jumps,
                     std::span<const double> held);

class EventSteps {
 public:
  // `state`: discrete variables are kept in it, and values while a step is done again.
  EventSteps(const Problem& problem, const MethodPlan& plan, StepExecutor& executor, StepState& state);
  EventSteps(const EventSteps&) = delete;
  EventSteps& operator=(const EventSteps&) = delete;
  bool empty() const { return schedule_.empty() && jumps_.empty(); }
  // No numbers of the same equations make it other than empty.
  bool always_empty() const { return problem_.system->discrete.empty() && !jumps_.possible(); }
  // The steps up to this one end, or can be sampled, in the ordinary way.
  std::int64_t next_due() const { return tellegen_events_due(&events_); }
  std::string chatter() const { return chatter_text(*problem_.system, events_.schedule); }
  std::int64_t events() const { return now_.events; }
  bool has_fmus() const { return !fmus_.empty(); }
  const std::string& failure() const { return fmus_.failure(); }  // after update(); empty: none
  std::optional<double> ended() const {
    return now_.ended ? std::optional(now_.ended_at) : std::optional<double>();
  }

  // After an event, steps until the formula has its past; restart() takes one of them, to t.
  bool restarting() const { return now_.restarting > 0; }
  bool restart(double t) { return tellegen_restart(&events_, t) != 0; }
  // Before a step to t: whether a source jumps in it. Then jump() takes it, to the jump and on; `scheme`:
  // what it would be taken with.
  bool jumps(double t) { return tellegen_jumps(&events_, t) != 0; }
  bool jump(std::int64_t index, const Scheme& scheme, double t);
  // After any step to t: whether it is to be done again in parts; else keep() it.
  bool again(double t) { return tellegen_again(&events_, t) != 0; }
  bool keep(const Scheme& scheme, double t);
  // Does it again; `index`: its number. False where a step did not converge. The run may have ended.
  bool locate(std::int64_t index, double t) { return tellegen_locate(&events_, index, t) != 0; }
  // Once the outputs at the end of step `index` are taken: discrete variables change, and those that then
  // want to. True where the formula begins anew.
  bool update(std::int64_t index, double t) { return tellegen_update(&events_, index, t) != 0; }

  void keep(Checkpoint& parts) {
    tellegen::keep(parts, begin_);
    schedule_.keep(parts);
    jumps_.keep(parts);
    tellegen_schedule& s = events_.schedule;
    parts(own_, updates_, before_, now_, s.taken_count, s.chatter, s.chatter_index);
  }

  // As data for a target, before the first step; registers are the executor's to add.
  StepCode code() const;

 private:
  Scheme scheme_of(int formula, double length) const;
  void find_timed();
  bool timed_change(double t);
  void connect();

  const Problem& problem_;
  const MethodPlan& plan_;
  StepExecutor& executor_;
  StepState& state_;
  FmuBlocks fmus_;  // before anybody looks at the state: they write what is held from the first step on
  StepState begin_;
  Schedule schedule_;
  SourceJumps jumps_;
  Scheme own_{};  // what the caller takes a step with
  std::vector<double> updates_, before_;
  // Updates that are functions of time and discrete variables alone.
  Program timed_;
  std::vector<double> timed_registers_;
  std::vector<int> timed_inputs_, timed_of_;   // discrete variables: inputs after t, and roots
  std::vector<double> quantities_, deciding_;  // what decides them: now, and for the search
  std::vector<char> is_timed_;
  tellegen_event_state now_{};
  tellegen_events events_{};
};

}  // namespace tellegen
