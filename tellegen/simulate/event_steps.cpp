#include "tellegen/simulate/event_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr std::size_t most_jumps = 20000;  // of sources, in code for a target

std::array<double, 5> numbers_of(const Scheme& s) {
  return {s.alpha, s.past[0], s.past[1], s.past[2], s.past_rate};
}

}  // namespace

MethodPlan plan_method(const SimulationOptions& options, double step) {
  MethodPlan plan;
  const MethodTraits& traits = traits_of(options.method);
  if (traits.formula == MethodTraits::Formula::trapezoidal) {
    plan.scheme = trapezoidal(step);
    plan.project = traits.projects;
    // A source that jumps across a storage leaves an impulse in the rate of the step behind it, and nothing
    // but a step that does not look at rates takes it out again.
    if (!plan.project) plan.restart_steps = 2;
    return plan;
  }
  plan.order = traits.order;
  plan.scheme = bdf(plan.order, step);
  plan.restart_steps = std::max(1, plan.order - 1);
  if (options.start == "trapezoidal")
    plan.start_steps = options.start_steps > 0 ? options.start_steps : plan.order - 1;
  return plan;
}

EventSteps::EventSteps(const Problem& problem, const MethodPlan& plan, StepExecutor& executor,
                       StepState& state)
    : problem_(problem),
      plan_(plan),
      executor_(executor),
      state_(state),
      fmus_(*problem.system, problem.step, problem.options.stop, state.held),
      begin_(state),
      schedule_(*problem.system, problem.step),
      jumps_(*problem.system, problem.step, problem.options.stop),
      updates_(problem.system->discrete.size()),
      before_(updates_.size()) {
  find_timed();
  connect();
}

void EventSteps::connect() {
  const auto& discrete = problem_.system->discrete;
  tellegen_events& e = events_;
  e.order = plan_.order;
  e.restart_steps = plan_.restart_steps;
  const auto& redundant = problem_.storage.redundant;
  e.jumps_share = std::any_of(redundant.begin(), redundant.end(),
                              [](const RedundantRate& r) { return r.follows_a_source(); });
  e.bisections = problem_.options.event_bisections;
  e.stop_event = problem_.stop_event;
  e.follows = std::any_of(discrete.begin(), discrete.end(),
                          [](const Discrete& d) { return d.every == 0.0 && !d.external; });
  e.timed = is_timed_.data();
  e.quantities = static_cast<int>(deciding_.size() / 3);
  e.deciding = deciding_.data();
  e.schedule = schedule_.view();
  e.now = &now_;
  e.held = state_.held.data();
  e.updates = updates_.data();
  e.before = before_.data();
  e.self = this;
  static const auto of = [](void* self) -> EventSteps& { return *static_cast<EventSteps*>(self); };
  static const auto aside = [](EventSteps& s, int which) -> StepState& {
    return which == TELLEGEN_NOW ? s.state_ : s.begin_;
  };
  e.take = [](void* self, int formula, double t, double length) -> int {
    return of(self).executor_.take(of(self).scheme_of(formula, length), t, length);
  };
  e.load = [](void* self, int which) { of(self).executor_.load(aside(of(self), which)); };
  e.store = [](void* self, int which) { of(self).executor_.store(aside(of(self), which)); };
  e.keep_value = [](void* self, int age, int which, int from) {
    const auto& values = aside(of(self), which).value[from];
    std::copy(values.begin(), values.end(), of(self).state_.value[age].begin());
  };
  e.hold = [](void* self) {
    of(self).fmus_.follow(of(self).state_.held);
    of(self).executor_.hold(of(self).state_.held);
  };
  e.update = [](void* self, double t) { of(self).executor_.updates(t, of(self).updates_); };
  e.timed_change = [](void* self, double t) -> int { return of(self).timed_change(t); };
  e.timed_quantities = [](void* self) -> const double* { return of(self).quantities_.data(); };
  e.next_jump = [](void* self) { return of(self).jumps_.next(); };
  e.is_jump = [](void* self) -> int { return of(self).jumps_.jumps(); };
  e.pass_jump = [](void* self) { of(self).jumps_.pass(); };
  e.before_jump = [](void* self, double t) { return of(self).jumps_.before(t); };
  e.watched = [](void* self) -> int { return of(self).executor_.watched(); };
  e.kept = [](void* self, int formula, double t, double length) {
    of(self).executor_.kept(of(self).scheme_of(formula, length), t, length);
  };
  e.both_stages = [](void* self) { of(self).executor_.staged(); };
  e.changed = [](void* self, double t) {
    const EventSteps& s = of(self);
    s.executor_.changed(t, std::span(s.events_.schedule.taken, s.events_.schedule.taken_count), s.before_,
                        s.state_.held, s.now_.located != 0);
  };
  tellegen_events_start(&e);
}

Scheme EventSteps::scheme_of(int formula, double length) const {
  if (formula == TELLEGEN_OWN) return own_;
  return formula == TELLEGEN_EULER ? bdf(1, length) : sdirk(formula == TELLEGEN_STAGE_1 ? 1 : 2, length);
}

bool EventSteps::jump(std::int64_t index, const Scheme& scheme, double t) {
  own_ = scheme;
  return tellegen_jump(&events_, index, t) != 0;
}

bool EventSteps::keep(const Scheme& scheme, double t) {
  own_ = scheme;
  return tellegen_keep(&events_, t) != 0;
}

void EventSteps::find_timed() {
  const EquationSystem& system = *problem_.system;
  Pool& pool = *system.model->pool;
  const Expr t = pool.symbol("t");
  std::vector<ProgramRoot> roots;
  std::vector<Expr> formulas;
  is_timed_.assign(system.discrete.size(), 0);
  for (std::size_t k = 0; k < system.discrete.size(); ++k) {
    const Discrete& d = system.discrete[k];
    if (d.every != 0.0 || d.external || !depends_on(d.update, t)) continue;
    const auto symbols = symbols_of(std::span(&d.update, 1));
    if (!std::all_of(symbols.begin(), symbols.end(),
                     [&](Expr s) { return s == t || discrete_of(system, s) >= 0; }))
      continue;
    is_timed_[k] = 1;
    roots.push_back({d.update, 0});
    formulas.push_back(d.update);
    timed_of_.push_back(static_cast<int>(k));
  }
  if (roots.empty()) return;
  std::vector<ProgramInput> inputs{{t, 0}};
  for (Expr s : symbols_of(formulas))
    if (s != t) {
      inputs.push_back({s, 0});
      timed_inputs_.push_back(discrete_of(system, s));
    }
  // Behind the updates, what decides them.
  for (Expr q : switching_quantities(formulas)) roots.push_back({q, 0});
  quantities_.resize(roots.size() - timed_of_.size());
  deciding_.resize(3 * quantities_.size());
  timed_ = make_program(pool, inputs, {}, roots, 1);
  timed_registers_.resize(timed_.registers);
}

bool EventSteps::timed_change(double t) {
  if (timed_of_.empty()) return false;
  timed_registers_[0] = t;
  for (std::size_t i = 0; i < timed_inputs_.size(); ++i)
    timed_registers_[i + 1] = state_.held[timed_inputs_[i]];
  interpret(timed_, 0, timed_registers_.data());
  for (std::size_t k = 0; k < quantities_.size(); ++k)
    quantities_[k] = timed_registers_[timed_.roots[timed_of_.size() + k]];
  for (std::size_t i = 0; i < timed_of_.size(); ++i)
    if (differs(timed_registers_[timed_.roots[i]], state_.held[timed_of_[i]])) return true;
  return false;
}

StepCode events_code(const Problem& problem, const FmuBlocks& fmus, SourceJumps jumps,
                     std::span<const double> held) {
  if (!fmus.empty()) return {.refused = "'" + fmus.name() + "' in it is an imported FMU"};
  StepCode code;
  code.events = StepCode::Events{};
  StepCode::Events& e = *code.events;
  e.held.assign(held.begin(), held.end());
  for (const Discrete& d : problem.system->discrete) {
    e.every.push_back(d.every);
    e.external.push_back(d.external ? 1 : 0);
  }
  e.deciding.assign(jumps.deciding().begin(), jumps.deciding().end());
  const double until = problem.options.stop + 0.5 * problem.step;
  for (; jumps.next() <= until; jumps.pass()) {
    if (jumps.jumps()) e.jumps.push_back(jumps.next());
    if (e.jumps.size() > most_jumps)
      return {.refused = "its sources jump more than 20000 times before it stops"};
  }
  if (jumps.next() < std::numeric_limits<double>::infinity()) e.known_to = until;
  return code;
}

StepCode EventSteps::code() const {
  StepCode code = events_code(problem_, fmus_, jumps_, state_.held);
  if (!code.refused.empty()) return code;
  StepCode::Events& e = *code.events;
  e.order = events_.order;
  e.restart_steps = events_.restart_steps;
  e.jumps_share = events_.jumps_share;
  e.bisections = events_.bisections;
  e.stop_event = events_.stop_event;
  e.own = numbers_of(plan_.scheme);
  e.start = numbers_of(trapezoidal(problem_.step));
  e.fixed_iterations = problem_.options.iterations;
  e.timed = is_timed_;
  e.timed_updates = timed_;
  e.timed_inputs = timed_inputs_;
  e.timed_of = timed_of_;
  return code;
}

}  // namespace tellegen
