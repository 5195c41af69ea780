// Adjoint of a fixed-step run: the transpose of the very steps taken, from the end to the start.
//
// First the run itself, with checkpoints; then segment by segment from the last, the steps of a segment are
// taken again and their points kept, and the derivatives of what is observed go back through them. Memory
// holds one segment and the checkpoints, both of the order of the root of the number of steps; the cost does
// not depend on how many parameters there are, but for the terms they have in the equations.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/extremes.h"
#include "tellegen/sensitivity/fixed_run.h"
#include "tellegen/sensitivity/fixed_step.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/simulate/denormals.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

// One step as it was taken.
struct StepRecord {
  double t = 0.0, length = 0.0;
  std::int32_t scheme = 0, held = 0;  // in the recorder's lists; held: during the step
  std::int32_t update = -1;           // after it; -1: none
  int stage = 0;                      // 1, 2: the stages of one step (event_steps.h)
};

struct UpdateRecord {
  std::vector<int> taken;
  std::vector<double> after;
  bool located = false;
};

// The run itself: which steps, which updates, and states to begin again from.
class Recorder : public StepListener {
 public:
  Recorder(FixedRun& run, std::int64_t segment) : run_(run), segment_(segment) {
    held_lists.push_back(run.problem.initial.held);
    x.assign(run.problem.initial.x.begin(), run.problem.initial.x.end());
    run.jumps.look(x, 0.0);
  }
  void before(NetworkStep& step) override {
    if (static_cast<std::int64_t>(steps.size()) < next_checkpoint_) return;
    next_checkpoint_ = static_cast<std::int64_t>(steps.size()) + segment_;
    checkpoints.push_back({static_cast<std::int64_t>(steps.size()), prototype_});
    StepState& state = checkpoints.back().second;
    for (auto* v : {&state.value[0], &state.value[1], &state.value[2], &state.rate})
      v->resize(run_.system.rates.size());
    step.store(state);
    state.held = held_lists[held_now_];
  }
  void prepare(const StepState& prototype) { prototype_ = prototype; }
  void stepped(NetworkStep& step, const Scheme& scheme, double t, double length) override {
    if (!step.knows_columns()) step.want_columns(run_.recorded);
    last_ = &step;
    // Outputs are looked at in samples only; but where discrete variables change, the point is gone then.
    if (run_.events || run_.jumps.looks()) step.columns(x);
    run_.jumps.look(x, t);
    StepRecord record;
    record.t = t;
    record.length = length;
    record.held = held_now_;
    const auto same = [&](const Scheme& s) {
      return s.alpha == scheme.alpha && s.past == scheme.past && s.past_rate == scheme.past_rate;
    };
    auto found = std::find_if(schemes.begin(), schemes.end(), same);
    if (found == schemes.end()) found = schemes.insert(schemes.end(), scheme);
    record.scheme = static_cast<std::int32_t>(found - schemes.begin());
    steps.push_back(record);
  }
  void staged() override {
    steps[steps.size() - 2].stage = 1;
    steps.back().stage = 2;
  }
  void updated(double t, std::span<const int> taken, std::span<const double>, std::span<const double> after,
               bool located) override {
    if (located) look_at_extremes(t);
    steps.back().update = static_cast<std::int32_t>(updates.size());
    updates.push_back({{taken.begin(), taken.end()}, {after.begin(), after.end()}, located});
    held_lists.emplace_back(after.begin(), after.end());
    held_now_ = static_cast<std::int32_t>(held_lists.size()) - 1;
  }

  // The point that the last step reached.
  std::span<const double> point() {
    if (last_ && !run_.events && !run_.jumps.looks()) last_->columns(x);
    return x;
  }

  std::vector<StepRecord> steps;
  std::vector<Scheme> schemes;
  std::vector<UpdateRecord> updates;
  std::vector<std::vector<double>> held_lists;
  std::vector<std::pair<std::int64_t, StepState>> checkpoints;
  std::vector<double> x;
  // Per output: the step that ends at an event with its largest (smallest) value there; -1: none.
  struct AtEvent {
    std::int64_t step = -1;
    double value = 0.0;
  };
  std::vector<AtEvent> at_events;

 private:
  void look_at_extremes(double t) {
    const std::size_t shown = run_.first_observed();
    at_events.resize(run_.outputs->size());
    run_.outputs->evaluate(x, t);
    for (std::size_t k = shown; k < at_events.size(); ++k) {
      const Observed& observed = run_.request.observed[k - shown];
      const double value = run_.outputs->values()[k];
      AtEvent& best = at_events[k];
      if (is_extreme(observed) && (best.step < 0 || is_beyond(observed, value, best.value)))
        best = {static_cast<std::int64_t>(steps.size()) - 1, value};
    }
  }

  FixedRun& run_;
  std::int64_t segment_, next_checkpoint_ = 0;
  StepState prototype_;
  NetworkStep* last_ = nullptr;
  std::int32_t held_now_ = 0;
};

// Takes recorded steps again.
class Replay {
 public:
  Replay(FixedRun& run, const Network& network, const StepState& state) : run_(run) {
    StepOptions options;
    options.tolerance = run.problem.options.tolerance;
    options.project = run.plan.project;
    options.record = true;
    options.events = run.events;
    options.keep_all_past = true;
    if (run.plan.start_steps > 0 && !run.events)
      start_ = std::make_unique<NetworkStep>(network, run.problem.storage, trapezoidal(run.problem.step),
                                             std::span<const Expr>(), state, options);
    options.keep_all_past = false;
    step_ = std::make_unique<NetworkStep>(network, run.problem.storage, run.plan.scheme,
                                          std::span<const Expr>(), state, options);
    if (run.problem.options.compile) step_->compile(steps_to_come(run.problem));
    state_ = begin_ = state;
  }
  void begin(const StepState& state) {
    state_ = state;
    current_ = nullptr;
    scheme_ = held_ = -1;
  }
  bool take(const Recorder& recorder, const StepRecord& record, std::span<double> x,
            std::span<double> rates) {
    const Scheme& scheme = recorder.schemes[record.scheme];
    NetworkStep* step =
        start_ && scheme.uses_rate && !run_.plan.scheme.uses_rate ? start_.get() : step_.get();
    if (step != current_) {
      if (current_) current_->store(state_);
      step->load(state_);
      current_ = step;
    }
    if (run_.events) {
      if (scheme_ != record.scheme) step->set_scheme(scheme);
      if (held_ != record.held) step->hold(recorder.held_lists[record.held]);
      scheme_ = record.scheme;
      held_ = record.held;
    }
    if (record.stage == 1) step->store(begin_);
    if (!step->step(record.t, run_.problem.options.iterations, 50).converged) return false;
    if (!step->knows_columns()) step->want_columns(run_.recorded);
    step->columns(x);
    run_.formula_rates(*step, rates);
    if (record.stage == 2) {
      step->store(state_);
      state_.value[1] = begin_.value[0];
      state_.value[2] = begin_.value[1];
      step->load(state_);
    }
    return true;
  }

 private:
  FixedRun& run_;
  std::unique_ptr<NetworkStep> start_, step_;
  NetworkStep* current_ = nullptr;
  StepState state_, begin_;
  std::int32_t scheme_ = -1, held_ = -1;
};

// Derivatives of one weighted sum of observed values by everything a step begins with, on the way back.
class Backward {
 public:
  explicit Backward(FixedRun& run) : run_(run), rates_(run.system.rates.size()) {
    for (auto& v : value_) v.assign(rates_, 0.0);
    rate_.assign(rates_, 0.0);
    held_.assign(run.system.discrete.size(), 0.0);
    gradient.assign(run.parameters, 0.0);
    values_.resize(rates_);
    history_.resize(rates_);
    columns_.resize(run.columns.size());
    directions_.resize(run.system.size());
  }

  // What is observed at the end, where that is a discrete variable or the end itself.
  void observe_held(int k) { held_[k] += 1.0; }
  void observe_end(double weight) { end_ += weight; }

  // StepDerivative::at() has been at this step. `output`: observed at the end of this step, -1: nothing;
  // `moving`: along with the end of the run.
  void step(const StepRecord& record, const Scheme& scheme, const UpdateRecord* update,
            std::span<const double> x, std::span<const double> rates, int output, bool moving) {
    StepDerivative& derivative = *run_.derivative;
    if (record.stage == 2) {  // the first stage stood between the values, and is asked for by nothing else
      value_[3].swap(value_[2]);
      value_[2].swap(value_[1]);
      std::fill(value_[1].begin(), value_[1].end(), 0.0);
    }
    std::fill(columns_.begin(), columns_.end(), 0.0);
    double end = end_;  // of the time at which this step ends: what began there has spoken already
    end_ = 0.0;
    if (output >= 0 && moving) observe(x, record.t, output, end);
    if (update) take_back(*update, x, record.t, end);
    std::copy(value_[0].begin(), value_[0].end(), values_.begin());
    if (update && update->located && end_moves(*update, record, x, rates)) {
      // values and columns moved by their slopes times dT; dT = -(dq/dp)/slope.
      for (std::size_t k = 0; k < rates_; ++k) end += values_[k] * moved_values_[few_lanes * k];
      for (std::size_t c = 0; c < columns_.size(); ++c) end += columns_[c] * moved_columns_[few_lanes * c];
      for (const auto& s : run_.quantities->by_column())
        if (s.formula == vanishing_) columns_[run_.column_index[s.of]] -= end / slope_ * s.value;
      for (const auto& s : run_.quantities->by_parameter())
        if (s.formula == vanishing_) gradient[s.of] -= end / slope_ * s.value;
    }
    if (output >= 0 && !moving) {
      double nothing = 0.0;
      observe(x, record.t, output, nothing);
    }
    const bool with_rates = scheme.uses_rate || run_.events;
    if (with_rates) {
      if (run_.projects(scheme)) project_back(record.t, rates);
      for (std::size_t k = 0; k < rates_; ++k) values_[k] += scheme.alpha * rate_[k];
    }
    derivative.backward(values_, columns_, history_, directions_);
    if (with_rates)
      for (std::size_t k = 0; k < rates_; ++k) history_[k] += rate_[k];
    for (const DerivativeEntry& e : derivative.by_parameter())
      gradient[e.parameter] += e.value * directions_[e.row];
    for (const DerivativeEntry& e : derivative.by_held()) held_[e.parameter] += e.value * directions_[e.row];
    if (run_.events)  // a later start makes the step shorter, and is another value at a fixed time
      for (std::size_t k = 0; k < rates_; ++k)
        end_ += rates[k] * (history_[k] / record.length - value_[1][k]);
    for (std::size_t k = 0; k < rates_; ++k) {
      const double h = history_[k];
      value_[0][k] = scheme.past[0] * h + value_[1][k];
      value_[1][k] = scheme.past[1] * h + value_[2][k];
      value_[2][k] = scheme.past[2] * h + value_[3][k];
      value_[3][k] = 0.0;
      rate_[k] = scheme.past_rate * h;
    }
  }

  // Through the initial values. Observed at the start itself: output, or -1.
  void start(int output) {
    const std::size_t n = run_.system.size();
    std::vector<double> x(n, 0.0);
    for (std::size_t k = 0; k < rates_; ++k) {
      const Rate& r = run_.system.rates[k];
      const Group& group = run_.system.groups[r.group];
      const double total = value_[0][k] + value_[1][k] + value_[2][k];
      if (const auto c = group.plus[r.symbol][r.member]; c >= 0) x[c] += total;
      if (const auto c = group.minus[r.symbol][r.member]; c >= 0) x[c] -= total;
    }
    if (output >= 0) {
      run_.outputs->evaluate(run_.problem.initial.x, 0.0);
      for (const auto& s : run_.outputs->by_column())
        if (s.formula == output) x[s.of] += s.value;
      for (const auto& s : run_.outputs->by_parameter())
        if (s.formula == output) gradient[s.of] += s.value;
    }
    std::vector<double> held(held_.size(), 0.0);
    run_.start->backward(x, rate_, gradient, held);
    for (std::size_t k = 0; k < held_.size(); ++k)
      for (int p = 0; p < run_.parameters; ++p)
        gradient[p] += (held_[k] + held[k]) * run_.held_start[k * run_.parameters + p];
  }

  // Of the quantities that decide events, along the end of a step that StepDerivative::at() has been at.
  std::vector<double> quantity_slopes(const StepRecord& record, std::span<const double> x,
                                      std::span<const double> rates) {
    run_.quantities->evaluate(x, record.t);
    const std::span<double> history = run_.derivative->histories(few_lanes);
    std::fill(history.begin(), history.end(), 0.0);
    for (std::size_t k = 0; k < rates_; ++k) history[few_lanes * k] = -rates[k] / record.length;
    std::vector<LaneEntry> directions;
    for (const DerivativeEntry& e : run_.derivative->by_time()) directions.push_back({e.row, 0, e.value});
    moved_values_.resize(few_lanes * rates_);
    moved_columns_.resize(few_lanes * run_.columns.size());
    run_.derivative->forward(few_lanes, directions, moved_values_.data(), moved_columns_.data());
    std::vector<double> slopes(run_.quantities->by_time().begin(), run_.quantities->by_time().end());
    for (const auto& s : run_.quantities->by_column())
      slopes[s.formula] += s.value * moved_columns_[few_lanes * run_.column_index[s.of]];
    return slopes;
  }

  std::vector<double> gradient;
  std::optional<double> unmoved;  // an event without a condition that vanishes there

 private:
  void observe(std::span<const double> x, double t, int output, double& end) {
    run_.outputs->evaluate(x, t);
    for (const auto& s : run_.outputs->by_column())
      if (s.formula == output) columns_[run_.column_index[s.of]] += s.value;
    for (const auto& s : run_.outputs->by_parameter())
      if (s.formula == output) gradient[s.of] += s.value;
    end += run_.outputs->by_time()[output];
  }

  // Discrete variables were functions of the point.
  void take_back(const UpdateRecord& update, std::span<const double> x, double t, double& end) {
    run_.updates->evaluate(x, t);
    const std::vector<int> followers = run_.followers(update.taken, update.after);
    std::vector<double> of(held_.size(), 0.0), alone(held_.size(), 0.0);
    for (int k : update.taken) {
      of[k] = held_[k];
      held_[k] = 0.0;
    }
    const auto give = [&](std::span<const double> weights) {
      for (std::size_t k = 0; k < weights.size(); ++k) end += weights[k] * run_.updates->by_time()[k];
      for (const auto& s : run_.updates->by_column())
        columns_[run_.column_index[s.of]] += weights[s.formula] * s.value;
      for (const auto& s : run_.updates->by_parameter()) gradient[s.of] += weights[s.formula] * s.value;
    };
    std::vector<double> others = of;
    for (int k : followers) others[k] = 0.0;
    give(others);
    for (int k : followers) {
      run_.updates->evaluate(run_.followed_point(x, k, update.after), t);
      alone[k] = of[k];
      give(alone);
      alone[k] = 0.0;
    }
  }

  // As FixedForwardLanes::move_time: the direction of the step's own end.
  bool end_moves(const UpdateRecord& update, const StepRecord& record, std::span<const double> x,
                 std::span<const double> rates) {
    const std::vector<double> slopes = quantity_slopes(record, x, rates);
    vanishing_ = run_.vanishing(update.taken, slopes);
    if (vanishing_ >= 0)
      slope_ = slopes[vanishing_];
    else
      unmoved = record.t;
    return vanishing_ >= 0;
  }

  void project_back(double t, std::span<const double> rates) {
    const auto& redundant = run_.problem.storage.redundant;
    const auto drives = run_.redundant_slopes(t, rates);
    for (std::size_t k = redundant.size(); k-- > 0;) {
      const double r = rate_[redundant[k].rate];
      rate_[redundant[k].rate] = 0.0;
      for (const auto& [p, slope] : drives[k]) gradient[p] += r * slope;
      for (const auto& term : redundant[k].terms)
        if (term.rate >= 0) rate_[term.rate] += term.sign * r;
    }
  }

  FixedRun& run_;
  std::size_t rates_;
  std::vector<double> value_[4], rate_, held_;
  double end_ = 0.0;  // by the time at which the next step begins
  std::vector<double> values_, history_, columns_, directions_, moved_values_, moved_columns_;
  int vanishing_ = -1;
  double slope_ = 1.0;
};

}  // namespace

RunDerivatives fixed_adjoint_run(const Model& model, const RunRequest& request) {
  FixedRun run(model, request);
  RunDerivatives result;
  if (!run.start->good())
    throw SimulationError("the start cannot be differentiated: its equations are singular", 0.0);
  const std::size_t width = run.outputs->size(), shown = run.first_observed();
  const std::int64_t samples = sample_count(run.problem);
  const auto expected_steps = static_cast<double>(samples * run.problem.stride);
  const auto segment = static_cast<std::int64_t>(std::ceil(std::sqrt(std::max(1.0, expected_steps))));
  const Network network = build_network(run.system);
  const StepState first = start_state(network, run.problem.initial);
  Recorder recorder(run, segment);
  recorder.prepare(first);
  NetworkIntegrator integrator(run.problem, build_network(run.system), &recorder);
  Replay replay(run, network, first);
  run.derivative->prepare(run.plan.scheme.alpha, run.problem.initial.held, StepDerivative::Way::backward);

  const FlushDenormals flush;
  const auto began = std::chrono::steady_clock::now();

  // The run, and at which step each observed value is taken: its extreme, or the end.
  std::vector<double> row(width), best(width);
  constexpr std::int64_t none = -2;  // -1 is the start
  std::vector<std::int64_t> best_step(width, -1), tie_step(width, none);
  run.outputs->evaluate(run.problem.initial.x, 0.0);
  std::copy(run.outputs->values().begin(), run.outputs->values().end(), best.begin());
  std::optional<double> ended;
  if (run.problem.stop_event >= 0 && run.problem.initial.held[run.problem.stop_event] != 0.0) ended = 0.0;
  for (std::int64_t s = 1; s <= samples && !ended; ++s) {
    InterruptionWatch::ask();
    const bool done = integrator.advance(1, row.data()) == 1;
    ended = integrator.ended();
    if (!done && !ended) {
      result.failure = integrator.failure();
      return result;
    }
    run.outputs->evaluate(recorder.point(), recorder.steps.back().t);
    for (std::size_t k = shown; k < width; ++k) {
      const double value = run.outputs->values()[k];
      const Observed& observed = request.observed[k - shown];
      const auto step = static_cast<std::int64_t>(recorder.steps.size()) - 1;
      const bool better = is_extreme(observed) && is_beyond(observed, value, best[k]);
      if (is_extreme(observed) && std::abs(value - best[k]) <= 1e-9 * std::abs(best[k]))
        tie_step[k] = better ? best_step[k] : step;
      else if (better)
        tie_step[k] = none;
      if (observed.what == Observed::What::end || better) {
        best[k] = value;
        best_step[k] = step;
      }
    }
    result.t.push_back(recorder.steps.back().t);
  }
  const auto last = static_cast<std::int64_t>(recorder.steps.size()) - 1;
  result.end_time = last < 0 ? 0.0 : recorder.steps[last].t;
  const std::vector<double>& held_at_end = recorder.held_lists.back();

  // One pass back serves all observed values: each has its own derivatives on the way.
  std::vector<Backward> backward;
  for (std::size_t k = shown; k < width; ++k) {
    backward.emplace_back(run);
    if (request.observed[k - shown].what != Observed::What::time_when) continue;
    const int d = run.watch_time(request.observed[k - shown]);
    const bool seen = d > 0 && held_at_end[d - 1] != 0.0;
    best[k] = seen ? held_at_end[d] : std::numeric_limits<double>::quiet_NaN();
    if (seen) backward.back().observe_held(d);
  }
  const std::size_t passes = width + (ended && last >= 0 ? 1 : 0);
  if (passes > width) {  // and so has the end of the run, where an event ends it
    backward.emplace_back(run);
    backward.back().observe_end(1.0);
  }

  // Extremes that could be elsewhere as well: their derivatives there, to compare.
  struct Elsewhere {
    std::size_t output;
    std::int64_t step;
    bool at_event;
  };
  std::vector<Elsewhere> elsewhere;
  for (std::size_t k = shown; k < width; ++k) {
    const Observed& observed = request.observed[k - shown];
    if (tie_step[k] != none) elsewhere.push_back({k, tie_step[k], false});
    if (k >= recorder.at_events.size() || recorder.at_events[k].step < 0 || best_step[k] == last) continue;
    if (!is_beyond(observed, best[k], recorder.at_events[k].value))
      elsewhere.push_back({k, recorder.at_events[k].step, true});
  }
  for (std::size_t i = 0; i < elsewhere.size(); ++i) backward.emplace_back(run);

  const auto n = static_cast<std::size_t>(run.system.size()), r = run.system.rates.size();
  const std::size_t size = run.derivative->point_size();
  std::vector<double> points;
  std::string at_end;  // what is to be said of it
  for (std::size_t c = recorder.checkpoints.size(); c-- > 0;) {
    InterruptionWatch::ask();
    const std::int64_t from = recorder.checkpoints[c].first;
    const std::int64_t to =
        c + 1 < recorder.checkpoints.size() ? recorder.checkpoints[c + 1].first : last + 1;
    points.resize(std::max(points.size(), static_cast<std::size_t>(to - from) * size));
    replay.begin(recorder.checkpoints[c].second);
    const auto point = [&](std::int64_t s) { return std::span(points).subspan((s - from) * size, size); };
    for (std::int64_t s = from; s < to; ++s)
      if (!replay.take(recorder, recorder.steps[s], point(s).first(n), point(s).subspan(n, r))) {
        result.failure = fmt::format("a step could not be taken again at t = {:.9g} s", recorder.steps[s].t);
        return result;
      }
    for (std::int64_t s = to - 1; s >= from; --s) {
      const StepRecord& record = recorder.steps[s];
      const Scheme& scheme = recorder.schemes[record.scheme];
      const UpdateRecord* update = record.update < 0 ? nullptr : &recorder.updates[record.update];
      const auto x = point(s).first(n), rates = point(s).subspan(n, r);
      if (!run.derivative->at(scheme.alpha, point(s), record.t, recorder.held_lists[record.held])) {
        result.failure = fmt::format("the differentiated equations are singular at t = {:.9g} s", record.t);
        return result;
      }
      if (s == last && !ended && !backward.empty())
        at_end = run.quantities->size() == 0
                     ? run.event_at_end({}, record.t)
                     : run.event_at_end(backward.front().quantity_slopes(record, x, rates), record.t);
      for (std::size_t k = shown; k < passes; ++k) {
        const bool there = k < width && best_step[k] == last;  // an extreme may be at the end too
        const bool observed =
            k < width && best_step[k] == s && request.observed[k - shown].what != Observed::What::time_when;
        backward[k - shown].step(record, scheme, update, x, rates, observed ? static_cast<int>(k) : -1,
                                 observed && there && ended && !request.fixed_end_time);
      }
      for (std::size_t i = 0; i < elsewhere.size(); ++i) {
        const bool here = elsewhere[i].step == s;
        backward[passes - shown + i].step(record, scheme, update, x, rates,
                                          here ? static_cast<int>(elsewhere[i].output) : -1,
                                          here && elsewhere[i].at_event);
      }
    }
  }
  result.end_time_gradient.assign(run.parameters, 0.0);
  for (std::size_t k = shown; k < passes; ++k) {
    Backward& of = backward[k - shown];
    const bool at_start =
        k < width && best_step[k] < 0 && request.observed[k - shown].what != Observed::What::time_when;
    of.start(at_start ? static_cast<int>(k) : -1);
    if (k == width) {
      result.end_time_gradient = of.gradient;
    } else {
      result.values.push_back(best[k]);
      result.gradient.insert(result.gradient.end(), of.gradient.begin(), of.gradient.end());
    }
  }

  result.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  // An end that is a formula of parameters.
  if (!ended && model.simulation.stop_formula && last >= 0) {
    const auto slopes = ParameterSlopes(model, request.wrt).of(model.simulation.stop_formula);
    for (const auto& [p, slope] : slopes) result.end_time_gradient[p] = slope;
    if (!request.fixed_end_time && !slopes.empty()) {
      std::vector<double> x(n), rates(r);
      replay.begin(recorder.checkpoints.back().second);
      for (std::int64_t s = recorder.checkpoints.back().first; s <= last; ++s)
        replay.take(recorder, recorder.steps[s], x, rates);
      const auto x_rates = run.column_rates(x, rates, held_at_end, result.end_time);
      run.outputs->evaluate(x, result.end_time);
      std::vector<double> per_second(run.outputs->by_time().begin(), run.outputs->by_time().end());
      for (const auto& s : run.outputs->by_column())
        if (!x_rates.empty()) per_second[s.formula] += s.value * x_rates[s.of];
      for (std::size_t k = shown; k < width; ++k)
        if (best_step[k] == last && request.observed[k - shown].what != Observed::What::time_when)
          for (const auto& [p, slope] : slopes)
            result.gradient[(k - shown) * run.parameters + p] += per_second[k] * slope;
    }
  }
  for (std::size_t i = 0; i < elsewhere.size(); ++i) {
    const auto& [k, step, at_event] = elsewhere[i];
    Backward& of = backward[passes - shown + i];
    of.start(step < 0 ? static_cast<int>(k) : -1);
    bool other = false;
    for (int p = 0; p < run.parameters; ++p) {
      const double a = of.gradient[p], b = backward[k - shown].gradient[p];
      other =
          other || (at_event ? slopes_differ(b, a) : std::abs(a - b) > 1e-6 * (std::abs(a) + std::abs(b)));
    }
    const auto time = [&](std::int64_t s) { return s < 0 ? 0.0 : recorder.steps[s].t; };
    if (other)
      result.warnings.push_back(
          at_event ? extreme_at_event(request.observed[k - shown], time(step), time(best_step[k]))
                   : shared_extreme(request.observed[k - shown], time(best_step[k])));
  }
  if (!backward.empty() && backward.front().unmoved)
    result.warnings.push_back(run.unmoved_event(*backward.front().unmoved));
  if (!at_end.empty()) result.warnings.push_back(at_end);
  for (const std::string& w : run.jumps.warnings()) result.warnings.push_back(w);
  run.add_warnings(integrator.statistics().chatter, result.warnings);
  result.method = fmt::format("adjoint of {} steps of {}, {} checkpoints", last + 1,
                              request.simulation.method, recorder.checkpoints.size());
  return result;
}

}  // namespace tellegen
