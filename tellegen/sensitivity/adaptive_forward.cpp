// A run by the adaptive method with its sensitivities.
#include "tellegen/sensitivity/run.h"

#ifndef TELLEGEN_HAS_IDA

namespace tellegen {

RunDerivatives adaptive_forward_run(const Model& model, const RunRequest&) {
  throw ModelError({{model.file.string(), 0},
                    "T318",
                    "sensitivities of a run by method 'adaptive' are not part of this build",
                    {"it needs SUNDIALS IDAS: install libsundials-dev and build again"}});
}

}  // namespace tellegen

#else

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/sensitivity/extremes.h"
#include "tellegen/sensitivity/forward_lanes.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {
namespace {

using What = Observed::What;

std::vector<Expr> formulas_of(const RunRequest& request) {
  std::vector<Expr> formulas;
  for (const OutputColumn& o : request.trajectories) formulas.push_back(o.value);
  for (const Observed& o : request.observed)
    if (o.what != What::time_when) formulas.push_back(o.value);
  return formulas;
}

class ForwardRun {
 public:
  ForwardRun(const Model& model, const RunRequest& request)
      : model_(model),
        request_(request),
        system_(build_system(model)),
        problem_(prepare_problem(system_, adaptive(request.simulation), request.trajectories)),
        count_(static_cast<int>(request.wrt.size())),
        lanes_(problem_, request.wrt),
        run_(problem_, &lanes_),
        formulas_(system_, formulas_of(request), request.wrt),
        extremes_(request.observed.size()),
        at_events_(request.observed.size()) {
    result_.method = "forward, IDAS staggered";
  }

  RunDerivatives run() {
    const bool over = problem_.stop_event >= 0 && problem_.initial.held[problem_.stop_event] != 0.0;
    sample(0.0);
    const double interval = problem_.step * static_cast<double>(problem_.stride),
                 stop = problem_.options.stop;
    const auto samples = static_cast<std::int64_t>(std::floor(stop / interval * (1 + 1e-9)));
    bool goes_on = !over;
    for (std::int64_t k = 1; k <= samples && goes_on; ++k) {
      InterruptionWatch::ask();
      const double t = interval * static_cast<double>(k);
      goes_on = run_.reach(t);
      look_at_event();
      if (goes_on && k < samples) sample(t);
    }
    // The end need not be a sample.
    if (goes_on && stop > interval * static_cast<double>(samples) * (1 + 1e-9)) {
      sample(interval * static_cast<double>(samples));
      goes_on = run_.reach(stop);
    }
    result_.failure = run_.failure();
    result_.events = lanes_.events();
    result_.warnings = lanes_.warnings();
    if (result_.failure.empty()) end(over);
    return std::move(result_);
  }

 private:
  static SimulationOptions adaptive(SimulationOptions options) {
    options.method = "adaptive-ida";
    return options;
  }

  // Values at the last event since the sample before, and derivatives along with it.
  void look_at_event() {
    if (lanes_.events().size() == events_seen_) return;
    events_seen_ = lanes_.events().size();
    const auto moves = lanes_.event_gradient();
    if (std::all_of(moves.begin(), moves.end(), [](double m) { return m == 0.0; })) return;
    const ForwardLanes::Moment& before = lanes_.before_event();
    const auto columns = static_cast<std::size_t>(system_.size());
    const auto lane = [&](int p) { return std::span(before.dx).subspan(columns * p, columns); };
    formulas_.evaluate(run_.columns_before(), before.t);
    std::size_t formula = request_.trajectories.size();
    for (std::size_t k = 0; k < request_.observed.size(); ++k) {
      const Observed& observed = request_.observed[k];
      if (observed.what == What::time_when) continue;
      const std::size_t f = formula++;
      Extreme& best = at_events_[k];
      const double value = observed.what == What::minimum ? -formulas_.values()[f] : formulas_.values()[f];
      if (!is_extreme(observed) || (best.known && value <= best.value)) continue;
      best = {true, false, value, before.t, {}};
      for (int p = 0; p < count_; ++p)
        best.gradient.push_back(formulas_.along(f, lane(p), 0.0, p) +
                                moves[p] * formulas_.along(f, lane(count_), 1.0));
    }
  }

  // One more row: values now, derivatives at fixed time.
  void sample(double t) {
    const ForwardLanes::Moment now = lanes_.moment_now();
    const auto columns = static_cast<std::size_t>(system_.size());
    formulas_.evaluate(now.state.x, t);
    row(t, [&](std::size_t k, int p) {
      return formulas_.along(k, std::span(now.dx).subspan(columns * p, columns), 0.0, p);
    });
  }

  template <class Slope>
  void row(double t, Slope slope) {
    result_.t.push_back(t);
    const std::size_t outputs = request_.trajectories.size();
    for (std::size_t k = 0; k < outputs; ++k) {
      result_.trajectories.push_back(formulas_.values()[k]);
      for (int p = 0; p < count_; ++p) result_.by_parameter.push_back(slope(k, p));
    }
    std::size_t formula = outputs;
    for (std::size_t k = 0; k < request_.observed.size(); ++k) {
      const What what = request_.observed[k].what;
      if (what == What::time_when) continue;
      const std::size_t f = formula++;
      if (what == What::end) continue;
      const double value = what == What::maximum ? formulas_.values()[f] : -formulas_.values()[f];
      Extreme& best = extremes_[k];
      const double near = 1e-9 * std::abs(best.value);
      if (best.known && value < best.value - near) continue;
      std::vector<double> gradient;
      for (int p = 0; p < count_; ++p) gradient.push_back(slope(f, p));
      if (best.known && value <= best.value + near) {
        for (int p = 0; p < count_; ++p)
          best.tie = best.tie || std::abs(gradient[p] - best.gradient[p]) >
                                     1e-6 * (std::abs(gradient[p]) + std::abs(best.gradient[p]));
        if (value <= best.value) continue;
      } else {
        best.tie = false;
      }
      best.known = true;
      best.value = value;
      best.t = t;
      best.gradient = std::move(gradient);
    }
  }

  void end(bool at_start) {
    ForwardLanes::Moment last;
    result_.end_time = at_start ? 0.0 : run_.ended().value_or(run_.t());
    result_.end_time_gradient.assign(count_, 0.0);
    if (run_.ended()) {
      // The values are those at the event, before it; their slopes those of a moment before.
      last = lanes_.before_event();
      last.state.x.assign(run_.columns_before().begin(), run_.columns_before().end());
      result_.end_time_gradient.assign(lanes_.event_gradient().begin(), lanes_.event_gradient().end());
    } else {
      last = lanes_.moment_now();
      const SimulationDefaults& said = model_.simulation;
      if (!at_start && said.stop_formula && said.stop &&
          std::abs(problem_.options.stop - *said.stop) <= 1e-12 * std::abs(*said.stop))
        for (const auto& [p, slope] : ParameterSlopes(model_, request_.wrt).of(said.stop_formula))
          result_.end_time_gradient[p] = slope;
    }
    const auto columns = static_cast<std::size_t>(system_.size());
    const auto lane = [&](int p) { return std::span(last.dx).subspan(columns * p, columns); };
    formulas_.evaluate(last.state.x, result_.end_time);
    const auto at_fixed_time = [&](std::size_t k, int p) { return formulas_.along(k, lane(p), 0.0, p); };
    const auto slope = [&](std::size_t k, int p) {
      const double moves = request_.fixed_end_time ? 0.0 : result_.end_time_gradient[p];
      return at_fixed_time(k, p) + (moves == 0.0 ? 0.0 : moves * formulas_.along(k, lane(count_), 1.0));
    };
    if (!at_start) {
      // A sample at the same instant, but for rounding, gives way to the end.
      const std::size_t outputs = request_.trajectories.size();
      if (result_.t.size() > 1 && result_.end_time - result_.t.back() <= 1e-9 * problem_.step) {
        result_.t.pop_back();
        result_.trajectories.resize(result_.trajectories.size() - outputs);
        result_.by_parameter.resize(result_.by_parameter.size() - outputs * count_);
      }
      const std::size_t before = result_.by_parameter.size();
      row(result_.end_time, slope);
      for (std::size_t k = 0; k < outputs; ++k)  // trajectories at fixed time, whatever the end does
        for (int p = 0; p < count_; ++p) result_.by_parameter[before + k * count_ + p] = at_fixed_time(k, p);
    }
    std::size_t formula = request_.trajectories.size();
    for (std::size_t k = 0; k < request_.observed.size(); ++k) {
      const Observed& o = request_.observed[k];
      if (o.what == What::time_when) {
        time_when(o);
        continue;
      }
      const std::size_t f = formula++;
      if (o.what == What::end) {
        result_.values.push_back(formulas_.values()[f]);
        for (int p = 0; p < count_; ++p) result_.gradient.push_back(slope(f, p));
        continue;
      }
      const Extreme& best = extremes_[k];
      result_.values.push_back(o.what == What::maximum ? best.value : -best.value);
      result_.gradient.insert(result_.gradient.end(), best.gradient.begin(), best.gradient.end());
      if (best.tie) result_.warnings.push_back(shared_extreme(o, best.t));
      const Extreme& at = at_events_[k];
      bool other = false;
      for (int p = 0; p < count_ && at.known; ++p)
        other = other || slopes_differ(best.gradient[p], at.gradient[p]);
      if (other && at.value >= best.value && best.t < result_.end_time)
        result_.warnings.push_back(extreme_at_event(o, at.t, best.t));
    }
    if (!run_.ended() && !result_.events.empty()) {
      // Where event and end move apart, it is in the run on one side of the parameters only.
      const RunDerivatives::Event& event = result_.events.back();
      bool apart = false;
      for (std::size_t p = 0; p < static_cast<std::size_t>(count_); ++p)
        apart = apart || slopes_differ(event.gradient.empty() ? 0.0 : event.gradient[p],
                                       request_.fixed_end_time ? 0.0 : result_.end_time_gradient[p]);
      if (event.t >= result_.end_time * (1 - 1e-9) && apart)
        result_.warnings.push_back(event_at_end(event.what, event.t));
    }
  }

  void time_when(const Observed& o) {
    const auto found = lanes_.first_seen(watch_event(system_, o.value.name()));
    const double nothing = found ? 0.0 : std::numeric_limits<double>::quiet_NaN();
    const bool event = found && *found >= 0;
    result_.values.push_back(event ? result_.events[*found].t : nothing);
    for (int p = 0; p < count_; ++p)
      result_.gradient.push_back(
          event && !result_.events[*found].gradient.empty() ? result_.events[*found].gradient[p] : nothing);
  }

  struct Extreme {
    bool known = false, tie = false;
    double value = 0.0, t = 0.0;  // of a minimum: the negative
    std::vector<double> gradient;
  };

  const Model& model_;
  const RunRequest& request_;
  EquationSystem system_;
  Problem problem_;
  int count_;
  ForwardLanes lanes_;
  AdaptiveRun run_;
  DifferentiatedFormulas formulas_;
  std::vector<Extreme> extremes_, at_events_;
  std::size_t events_seen_ = 0;
  RunDerivatives result_;
};

}  // namespace

RunDerivatives adaptive_forward_run(const Model& model, const RunRequest& request) {
  return ForwardRun(model, request).run();
}

}  // namespace tellegen

#endif
