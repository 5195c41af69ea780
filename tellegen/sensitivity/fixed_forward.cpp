// Forward sensitivities of a fixed-step run: after each step the directions of all parameters are solved for
// with that step's own matrices, eight at a time. Where the matrices stay the same, several steps are taken
// together, so that the numbers of eight parameters stay near the processor for all of them.
//
// A located event ends a step at a time that moves with the parameters. Its derivative follows from the
// condition that vanishes there; the step that ends at it and the one that begins at it change their lengths,
// and that is all: jumps of the sensitivities come out by themselves.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/extremes.h"
#include "tellegen/sensitivity/fixed_run.h"
#include "tellegen/sensitivity/fixed_step.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/simulate/denormals.h"

namespace tellegen {
namespace {

class FixedForwardLanes : public StepListener {
 public:
  FixedForwardLanes(const FixedForwardLanes&) = delete;
  explicit FixedForwardLanes(FixedRun& run)
      : run_(run),
        rates_(run.system.rates.size()),
        blocks_((run.parameters + lanes - 1) / lanes),
        held_(run.problem.initial.held),
        point_(run.derivative->point_size(), 0.0),
        x_(std::span(point_).first(run.system.size())),
        formula_rates_(std::span(point_).subspan(x_.size(), rates_)) {
    std::copy(run.problem.initial.x.begin(), run.problem.initial.x.end(), x_.begin());
    std::copy(run.problem.initial.rates.begin(), run.problem.initial.rates.end(), formula_rates_.begin());
    run.jumps.look(x_, 0.0);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      Block& block = blocks_[b];
      block.number = static_cast<int>(b);
      block.width = run.parameters - lanes * block.number > few_lanes ? lanes : few_lanes;
      const std::size_t size = block.width * rates_;
      block.past.resize(run.events ? 4 : 3);
      for (auto& d : block.past) d.assign(size, 0.0);
      block.rate.assign(size, 0.0);
      block.columns.assign(block.width * run.columns.size(), 0.0);
      block.held.assign(block.width * run.system.discrete.size(), 0.0);
    }
    for (std::size_t i = 0; i < run.derivative->by_parameter().size(); ++i) {
      const int p = run.derivative->by_parameter()[i].parameter;
      blocks_[p / lanes].entries.push_back({static_cast<int>(i), p % lanes});
    }
    begin();
  }

  void stepped(NetworkStep& step, const Scheme& scheme, double t, double length) override {
    if (!step.knows_columns()) step.want_columns(run_.recorded);
    step.columns(x_);
    run_.formula_rates(step, formula_rates_);
    t_ = t;
    length_ = length;
    run_.jumps.look(x_, t);
    StepDerivative& derivative = *run_.derivative;
    if (!together_.empty() && together_.back().scheme.alpha != scheme.alpha) settle();
    if (!derivative.at(scheme.alpha, point_, t, held_))
      failure_ = fmt::format("the differentiated equations are singular at t = {:.9g} s", t);
    Taken taken{scheme, {}, {}};
    for (const DerivativeEntry& e : derivative.by_parameter()) taken.directions.push_back(e.value);
    if (derivative.constant() && !run_.events && derivative.by_held().empty() && !run_.projects(scheme)) {
      together_.push_back(std::move(taken));
      if (together_.size() == most_together) settle();
    } else {
      settle();
      if ((scheme.uses_rate || run_.events) && run_.projects(scheme))
        taken.drives = run_.redundant_slopes(t, formula_rates_);
      for (Block& block : blocks_) take(block, taken);
    }
    at_fixed_time_ = true;
  }

  // Takes the steps that were put off.
  void settle() {
    for (Block& block : blocks_)
      for (const Taken& taken : together_) take(block, taken);
    together_.clear();
  }

  void staged() override {
    settle();
    for (Block& block : blocks_)
      for (int age : {1, 2}) block.past[age].swap(block.past[age + 1]);
  }

  void updated(double t, std::span<const int> taken, std::span<const double> before,
               std::span<const double> after, bool located) override {
    settle();
    std::string names;
    for (int k : taken)
      if (before[k] != after[k] && run_.system.discrete[k].every == 0.0)
        names += (names.empty() ? "" : ", ") + run_.system.discrete[k].name;
    std::vector<double> time_slopes;
    if (located) time_slopes = move_time(t, taken);
    if (std::any_of(time_slopes.begin(), time_slopes.end(), [](double s) { return s != 0.0; }))
      look_at_extremes(t);
    const auto take = [&](std::span<const int> which) {
      std::vector<double> next(lanes * run_.system.discrete.size());
      for (Block& block : blocks_) {
        std::fill(next.begin(), next.end(), 0.0);
        const int width = block.width;
        for (const auto& s : run_.updates->by_column())
          for (int lane = 0; lane < width; ++lane)
            next[width * s.formula + lane] += s.value * block.columns[width * run_.column_index[s.of] + lane];
        for (const auto& s : run_.updates->by_parameter())
          if (s.of / lanes == block.number) next[width * s.formula + s.of % lanes] += s.value;
        for (int k : which)
          for (int lane = 0; lane < width; ++lane)
            block.held[width * k + lane] =
                next[width * k + lane] + run_.updates->by_time()[k] * block.start[lane];
      }
    };
    run_.updates->evaluate(x_, t);
    const std::vector<int> followers = run_.followers(taken, after);
    take(taken);
    for (int k : followers) {
      run_.updates->evaluate(run_.followed_point(x_, k, after), t);
      take(std::span(&k, 1));
    }
    held_.assign(after.begin(), after.end());
    if (!names.empty()) events.push_back({t, std::move(names), std::move(time_slopes)});
  }

  // d(output)/dp at the time of the last step; `moving`: the derivative along a moving end of the run.
  double slope(std::size_t output, int p, bool moving) {
    settle();
    const Block& block = blocks_[p / lanes];
    const std::vector<double>& columns =
        moving || block.at_fixed_time.empty() || at_fixed_time_ ? block.columns : block.at_fixed_time;
    double total = 0.0;
    for (const auto& s : run_.outputs->by_column())
      if (s.formula == static_cast<int>(output))
        total += s.value * columns[block.width * run_.column_index[s.of] + p % lanes];
    for (const auto& s : run_.outputs->by_parameter())
      if (s.formula == static_cast<int>(output) && s.of == p) total += s.value;
    if (moving) total += run_.outputs->by_time()[output] * block.start[p % lanes];
    return total;
  }
  void evaluate_outputs() { run_.outputs->evaluate(x_, t_); }
  std::string event_at_end() {
    if (run_.quantities->size() == 0) return run_.event_at_end({}, t_);
    return run_.event_at_end(end_direction(t_).slopes, t_);
  }
  double end_slope(int p) const { return blocks_[p / lanes].start[p % lanes]; }
  double held_slope(int k, int p) const {
    const Block& block = blocks_[p / lanes];
    return block.held[block.width * k + p % lanes];
  }
  double held(int k) const { return held_[k]; }
  std::span<const double> held() const { return held_; }
  std::span<const double> x() const { return x_; }
  std::span<const double> formula_rates() const { return formula_rates_; }
  const std::string& failure() const { return failure_; }
  std::span<const std::string> jump_warnings() const { return run_.jumps.warnings(); }
  std::vector<RunDerivatives::Event> events;
  std::vector<std::string> warnings;
  // The largest (smallest) value of what is observed at an event that parameters move, and its derivatives
  // along with the event.
  struct AtEvent {
    bool known = false;
    double t = 0.0, value = 0.0;
    std::vector<double> slopes;
  };
  std::vector<AtEvent> at_events;  // per output

 private:
  static constexpr std::size_t most_together = 16;

  void look_at_extremes(double t) {
    const std::size_t shown = run_.first_observed();
    at_events.resize(run_.outputs->size());
    run_.outputs->evaluate(x_, t);
    for (std::size_t k = shown; k < at_events.size(); ++k) {
      const Observed& observed = run_.request.observed[k - shown];
      const double value = run_.outputs->values()[k];
      AtEvent& best = at_events[k];
      if (!is_extreme(observed) || (best.known && !is_beyond(observed, value, best.value))) continue;
      best = {true, t, value, {}};
      for (int p = 0; p < run_.parameters; ++p) best.slopes.push_back(slope(k, p, true));
    }
  }

  // What a step tells the parameters.
  struct Taken {
    Scheme scheme;
    std::vector<double> directions;  // values of the entries of dF/dp
    std::vector<Slopes> drives;      // where rates are projected
  };

  // Eight parameters on their way through the run, or the last four of them.
  struct Block {
    int number = 0, width = lanes;
    std::vector<LaneNumbers> past;  // newest first, each [rate][lane]; the oldest is for the next
    LaneNumbers rate;               // [rate][lane]
    std::vector<double> columns, at_fixed_time;  // [column asked for][lane]: at the moving, at the fixed time
    std::vector<double> held;                    // [discrete][lane]
    std::vector<std::pair<int, int>> entries;    // of dF/dp, with their lanes
    double start[lanes] = {};                    // d(time at which the next step begins)/dp
    bool moving = false;

    void combine(const Scheme& scheme, std::span<double> history) const {
      const double *now = past[0].data(), *before = past[1].data(), *long_ago = past[2].data();
      double* to = history.data();
      for (std::size_t i = 0; i < history.size(); i += 2)
        pair_at(to + i) = scheme.past[0] * pair_at(now + i) + scheme.past[1] * pair_at(before + i) +
                          scheme.past[2] * pair_at(long_ago + i);
      if (scheme.past_rate == 0.0) return;
      for (std::size_t i = 0; i < history.size(); i += 2)
        pair_at(to + i) += scheme.past_rate * pair_at(rate.data() + i);
    }
  };

  void take(Block& block, const Taken& taken) {
    StepDerivative& derivative = *run_.derivative;
    const Scheme& scheme = taken.scheme;
    const int width = block.width;
    const std::span<double> history = derivative.histories(width);
    block.combine(scheme, history);
    if (block.moving)  // the step is shorter by as much as its start is later
      for (std::size_t k = 0; k < rates_; ++k)
        for (int lane = 0; lane < width; ++lane)
          history[width * k + lane] += formula_rates_[k] / length_ * block.start[lane];
    directions_.clear();
    for (const auto& [entry, lane] : block.entries)
      directions_.push_back({derivative.by_parameter()[entry].row, lane, taken.directions[entry]});
    for (const DerivativeEntry& e : derivative.by_held())
      for (int lane = 0; lane < width; ++lane)
        if (const double moved = block.held[width * e.parameter + lane]; moved != 0.0)
          directions_.push_back({e.row, lane, e.value * moved});
    LaneNumbers& values = block.past.back();  // the oldest, combined already
    derivative.forward(width, directions_, values.data(), block.columns.data());
    if (scheme.uses_rate || run_.events) {
      for (std::size_t i = 0; i < history.size(); ++i) block.rate[i] = scheme.alpha * values[i] + history[i];
      if (run_.projects(scheme)) project(block, taken.drives);
    }
    for (std::size_t age = block.past.size() - 1; age > 0; --age) block.past[age].swap(block.past[age - 1]);
    if (block.moving)  // to a formula of several steps the start is a value at a fixed time
      for (std::size_t k = 0; k < rates_; ++k)
        for (int lane = 0; lane < width; ++lane)
          block.past[1][width * k + lane] -= formula_rates_[k] * block.start[lane];
    std::fill_n(block.start, lanes, 0.0);
    block.moving = false;
  }

  void begin() {
    std::vector<double> x, rates;
    run_.start->forward(run_.held_start, x, rates);
    const std::size_t n = run_.system.size();
    for (int p = 0; p < run_.parameters; ++p) {
      Block& block = blocks_[p / lanes];
      const auto lane = static_cast<std::size_t>(p % lanes), width = static_cast<std::size_t>(block.width);
      const std::span<const double> of_p = std::span(x).subspan(n * p, n);
      for (std::size_t k = 0; k < rates_; ++k) {
        const Rate& r = run_.system.rates[k];
        const double value = symbol_value(run_.system.groups[r.group], r.symbol, r.member, of_p);
        for (auto& past : block.past) past[width * k + lane] = value;
        block.rate[width * k + lane] = rates[rates_ * p + k];
      }
      for (std::size_t c = 0; c < run_.columns.size(); ++c)
        block.columns[width * c + lane] = of_p[run_.columns[c]];
      for (std::size_t k = 0; k < run_.system.discrete.size(); ++k)
        block.held[width * k + lane] = run_.held_start[k * run_.parameters + p];
    }
  }

  void project(Block& block, const std::vector<Slopes>& drives) {
    const int width = block.width;
    const auto& redundant = run_.problem.storage.redundant;
    for (std::size_t k = 0; k < redundant.size(); ++k) {
      double total[lanes] = {};
      for (const auto& [p, slope] : drives[k])
        if (p / lanes == block.number) total[p % lanes] += slope;
      for (const auto& term : redundant[k].terms)
        if (term.rate >= 0)
          for (int lane = 0; lane < width; ++lane)
            total[lane] += term.sign * block.rate[width * term.rate + lane];
      std::copy_n(total, width, block.rate.begin() + width * redundant[k].rate);
    }
  }

  // By how much rates and columns change where the step just taken ends later: one more direction.
  struct EndDirection {
    std::vector<double> values, columns;  // [.][few_lanes], in the first lane
    std::vector<double> slopes;           // of the quantities
  };
  EndDirection end_direction(double t) {
    run_.quantities->evaluate(x_, t);
    const std::span<double> history = run_.derivative->histories(few_lanes);
    std::fill(history.begin(), history.end(), 0.0);
    for (std::size_t k = 0; k < rates_; ++k) history[few_lanes * k] = -formula_rates_[k] / length_;
    directions_.clear();
    for (const DerivativeEntry& e : run_.derivative->by_time()) directions_.push_back({e.row, 0, e.value});
    EndDirection end;
    end.columns.resize(few_lanes * run_.columns.size());
    end.values.resize(few_lanes * rates_);
    run_.derivative->forward(few_lanes, directions_, end.values.data(), end.columns.data());
    end.slopes.assign(run_.quantities->by_time().begin(), run_.quantities->by_time().end());
    for (const auto& s : run_.quantities->by_column())
      end.slopes[s.formula] += s.value * end.columns[few_lanes * run_.column_index[s.of]];
    return end;
  }

  // The step just taken ends at an event: by how much later it ends for each parameter.
  std::vector<double> move_time(double t, std::span<const int> taken) {
    const auto [values, columns, slopes] = end_direction(t);
    const int q = run_.vanishing(taken, slopes);
    if (q < 0) {
      warnings.push_back(run_.unmoved_event(t));
      return {};
    }
    std::vector<double> result(run_.parameters, 0.0);
    for (const auto& s : run_.quantities->by_column())
      if (s.formula == q)
        for (int p = 0; p < run_.parameters; ++p) {
          const Block& block = blocks_[p / lanes];
          result[p] -= s.value * block.columns[block.width * run_.column_index[s.of] + p % lanes];
        }
    for (const auto& s : run_.quantities->by_parameter())
      if (s.formula == q) result[s.of] -= s.value;
    for (double& v : result) v /= slopes[q];
    for (Block& block : blocks_) block.at_fixed_time = block.columns;
    at_fixed_time_ = false;
    for (int p = 0; p < run_.parameters; ++p) {
      Block& block = blocks_[p / lanes];
      const int lane = p % lanes;
      for (std::size_t k = 0; k < rates_; ++k)
        block.past[0][block.width * k + lane] += values[few_lanes * k] * result[p];
      for (std::size_t c = 0; c < run_.columns.size(); ++c)
        block.columns[block.width * c + lane] += columns[few_lanes * c] * result[p];
      block.start[lane] = result[p];
      block.moving = block.moving || result[p] != 0.0;
    }
    return result;
  }

  FixedRun& run_;
  std::size_t rates_;
  std::vector<Block> blocks_;
  std::vector<double> held_, point_;
  std::span<double> x_, formula_rates_;  // of the point
  std::vector<LaneEntry> directions_;
  std::vector<Taken> together_;  // steps that the blocks are still to take
  double t_ = 0.0, length_ = 0.0;
  bool at_fixed_time_ = true;  // columns are derivatives at a fixed time
  std::string failure_;
};

}  // namespace

RunDerivatives fixed_forward_run(const Model& model, const RunRequest& request) {
  FixedRun run(model, request);
  RunDerivatives result;
  result.method = fmt::format("forward, staggered after each step of {}", request.simulation.method);
  if (!run.start->good())
    throw SimulationError("the start cannot be differentiated: its equations are singular", 0.0);
  FixedForwardLanes forward(run);
  NetworkIntegrator integrator(run.problem, build_network(run.system), &forward);
  run.derivative->prepare(run.plan.scheme.alpha, run.problem.initial.held, StepDerivative::Way::forward);
  const std::size_t width = run.outputs->size(), shown = run.first_observed();
  const int count = run.parameters;
  std::vector<double> row(width), best_slopes(width * count, 0.0), best(width);
  std::vector<std::size_t> best_row(width, 0);
  std::vector<char> tie(width, 0);
  const auto better = [&](std::size_t k) {
    const auto what = request.observed[k - shown].what;
    return (what == Observed::What::maximum && row[k] > best[k]) ||
           (what == Observed::What::minimum && row[k] < best[k]);
  };
  const auto sample = [&](double t, bool first) {
    forward.evaluate_outputs();
    std::copy(run.outputs->values().begin(), run.outputs->values().end(), row.begin());
    result.t.push_back(t);
    for (std::size_t k = 0; k < shown; ++k) {
      result.trajectories.push_back(row[k]);
      for (int p = 0; p < count; ++p) result.by_parameter.push_back(forward.slope(k, p, false));
    }
    for (std::size_t k = shown; k < width; ++k) {
      const auto what = request.observed[k - shown].what;
      const bool extreme = what == Observed::What::maximum || what == Observed::What::minimum;
      const bool near = std::abs(row[k] - best[k]) <= 1e-9 * std::abs(best[k]);
      if (extreme && !first && near)
        for (int p = 0; p < count && !tie[k]; ++p) {
          const double here = forward.slope(k, p, false), there = best_slopes[k * count + p];
          tie[k] = std::abs(here - there) > 1e-6 * (std::abs(here) + std::abs(there));
        }
      if (!first && !better(k)) continue;
      if (!near) tie[k] = 0;
      best[k] = row[k];
      best_row[k] = result.t.size() - 1;
      if (extreme)
        for (int p = 0; p < count; ++p) best_slopes[k * count + p] = forward.slope(k, p, false);
    }
  };
  sample(0.0, true);
  const FlushDenormals flush;
  const auto began = std::chrono::steady_clock::now();
  const double interval = run.problem.step * static_cast<double>(run.problem.stride);
  const std::int64_t samples = sample_count(run.problem);
  const bool at_once = run.problem.stop_event >= 0 && run.problem.initial.held[run.problem.stop_event] != 0.0;
  std::optional<double> ended;
  if (at_once) ended = 0.0;
  for (std::int64_t s = 1; s <= samples && !ended; ++s) {
    InterruptionWatch::ask();
    const bool done = integrator.advance(1, row.data()) == 1;
    ended = integrator.ended();
    if (!forward.failure().empty() || (!done && !ended)) {
      result.failure = forward.failure().empty() ? integrator.failure() : forward.failure();
      return result;
    }
    sample(ended.value_or(interval * static_cast<double>(s)), false);
  }

  forward.settle();
  result.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  // The end: where it moves, so does what is observed there.
  const double end = result.end_time = result.t.back();
  result.end_time_gradient.assign(count, 0.0);
  forward.evaluate_outputs();
  std::vector<double> per_second(width, 0.0);  // d(output)/dt, where the end is a formula of parameters
  if (ended) {
    for (int p = 0; p < count; ++p) result.end_time_gradient[p] = forward.end_slope(p);
  } else if (model.simulation.stop_formula) {
    for (const auto& [p, slope] : ParameterSlopes(model, request.wrt).of(model.simulation.stop_formula))
      result.end_time_gradient[p] = slope;
    const auto x_rates = run.column_rates(forward.x(), forward.formula_rates(), forward.held(), end);
    for (std::size_t k = 0; k < width; ++k) per_second[k] = run.outputs->by_time()[k];
    for (const auto& s : run.outputs->by_column())
      if (!x_rates.empty()) per_second[s.formula] += s.value * x_rates[s.of];
  }
  for (std::size_t k = shown; k < width; ++k) {
    const Observed& observed = request.observed[k - shown];
    if (observed.what == Observed::What::time_when) {
      const int d = run.watch_time(observed);
      const bool seen = d > 0 && forward.held(d - 1) != 0.0;
      result.values.push_back(seen ? forward.held(d) : std::numeric_limits<double>::quiet_NaN());
      for (int p = 0; p < count; ++p) result.gradient.push_back(seen ? forward.held_slope(d, p) : 0.0);
    } else if (observed.what == Observed::What::end || best_row[k] + 1 == result.t.size()) {
      // An extreme may be the end of what rises or falls: it moves as the end does.
      result.values.push_back(run.outputs->values()[k]);
      for (int p = 0; p < count; ++p)
        result.gradient.push_back(
            forward.slope(k, p, ended && !request.fixed_end_time) +
            (request.fixed_end_time ? 0.0 : per_second[k] * result.end_time_gradient[p]));
    } else {
      result.values.push_back(best[k]);
      for (int p = 0; p < count; ++p) result.gradient.push_back(best_slopes[k * count + p]);
    }
    if (tie[k]) forward.warnings.push_back(shared_extreme(observed, result.t[best_row[k]]));
    if (k < forward.at_events.size() && forward.at_events[k].known && best_row[k] + 1 < result.t.size()) {
      const auto& at = forward.at_events[k];
      bool other = false;
      for (int p = 0; p < count; ++p)
        other = other || slopes_differ(best_slopes[k * count + p], at.slopes[p]);
      if (other && !is_beyond(observed, best[k], at.value))
        forward.warnings.push_back(extreme_at_event(observed, at.t, result.t[best_row[k]]));
    }
  }
  if (!ended && samples > 0)
    if (const std::string said = forward.event_at_end(); !said.empty()) forward.warnings.push_back(said);
  result.events = std::move(forward.events);
  result.warnings = std::move(forward.warnings);
  for (const std::string& w : forward.jump_warnings()) result.warnings.push_back(w);
  run.add_warnings(integrator.statistics().chatter, result.warnings);
  return result;
}

}  // namespace tellegen
