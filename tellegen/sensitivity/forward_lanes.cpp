#ifdef TELLEGEN_HAS_IDA

#include "tellegen/sensitivity/forward_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tellegen/model/observers.h"
#include "tellegen/simulate/start_derivatives.h"

namespace tellegen {
namespace {

std::vector<Expr> update_formulas(const EquationSystem& system) {
  const Model& model = *system.model;
  std::vector<Expr> formulas;
  for (const Discrete& d : system.discrete) {
    const int c = system.groups[d.group].components[d.member];
    formulas.push_back(
        in_full_names(model, c, model.kinds[model.components[c].kind].discrete[d.held].update));
  }
  return formulas;
}

}  // namespace

ForwardLanes::ForwardLanes(const Problem& problem, std::span<const int> wrt)
    : problem_(problem),
      system_(*problem.system),
      wrt_(wrt.begin(), wrt.end()),
      count_(static_cast<int>(wrt.size())),
      n_(system_.size()),
      r_(static_cast<std::int32_t>(system_.rates.size())),
      held_(system_.discrete.size() * wrt.size(), 0.0),
      by_parameter_(system_, wrt),
      updates_(system_, update_formulas(system_), wrt),
      moves_(wrt.size(), 0.0) {
  const Expr time = system_.model->pool->symbol("t");
  const auto slopes = group_slopes(system_, wrt);
  for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e) {
    if (system_.graph.edges[e].edge_class != EdgeClass::across_source) continue;
    const Expr formula = source_rate_formula(system_, EdgeIndex{e});
    if (!formula) continue;
    const int c = system_.graph.edges[e].component, m = system_.member_of[c];
    const Group& group = system_.groups[system_.group_of[c]];
    ExprMap<Expr> numbers{{group.time, time}};
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      numbers[group.parameters[p]] = formula.pool().number(group.values[p][m]);
    for (int p = 0; p < count_; ++p)
      for (const GroupSlope& s : slopes[p])
        if (s.group == system_.group_of[c] && s.member == m)
          if (const Expr d = derivative(formula, group.parameters[s.slot]); !d.is_number(0))
            source_slopes_.push_back({e, p, s.slope * substitute(d, numbers)});
  }
  const Model& model = *system_.model;
  const ParameterSlopes parameter_slopes(model, wrt);
  for (const Discrete& d : system_.discrete) {
    const int c = system_.groups[d.group].components[d.member];
    const Expr every = model.kinds[model.components[c].kind].discrete[d.held].every;
    every_.push_back(d.every > 0.0 ? parameter_slopes.of(in_full_names(model, c, every)) : Slopes());
  }
  for (const RedundantRate& r : problem.storage.redundant) {
    if (r.drive)
      if (const Expr d = derivative(r.drive, time); !d.is_number(0)) drive_slopes_.push_back({r.rate, d});
    for (const auto& term : r.terms)
      if (term.rate < 0 && term.source.value >= 0)
        if (const Expr rate = source_rate(system_, term.source))
          if (const Expr d = derivative(rate, time); !d.is_number(0))
            drive_slopes_.push_back({r.rate, term.sign * d});
  }
}

void ForwardLanes::begin(AdaptiveRun& run) {
  run_ = &run;
  directions_.emplace(run.tableau(), problem_.storage, ConsistentDirections::At::event);
  conditions_.emplace(system_, run.conditions(), wrt_);
  linear_.by_x.resize(run.tableau().x_entries().size());
  linear_.by_rate.resize(run.tableau().rate_entries().size());
  linear_.rates.resize(r_);
  lane_rates_.resize(r_);
  for (int p = 0; p < count_; ++p) {
    s_.emplace_back(N_VNew_Serial(n_, run.context()));
    sp_.emplace_back(N_VNew_Serial(n_, run.context()));
  }
  for (std::size_t k = 0; k < system_.discrete.size(); ++k)
    if (problem_.initial.held[k] != 0.0) seen_[static_cast<std::int32_t>(k)] = -1;
  if (count_ == 0) return;
  start_held();
  std::vector<N_Vector> s, sp;
  for (int p = 0; p < count_; ++p) s.push_back(s_[p].get()), sp.push_back(sp_[p].get());
  IDASensInit(run.ida(), count_, IDA_STAGGERED, residual, s.data(), sp.data());
  std::vector<double> scales;
  for (int p : wrt_) {
    const double value = std::abs(system_.model->parameters[p].number);
    scales.push_back(value > 0.0 ? value : 1.0);
  }
  IDASetSensParams(run.ida(), nullptr, scales.data(), nullptr);
  IDASensEEtolerances(run.ida());
  IDASetSensErrCon(run.ida(), true);
  IDASetSensMaxNonlinIters(run.ida(), 10);
}

// The search for the start once more, now with derivatives: discrete variables begin with their start values
// and take their updates over, those with a sample time once, when the others have settled.
void ForwardLanes::start_held() {
  const Model& model = *system_.model;
  const ParameterSlopes slopes(model, wrt_);
  Tableau& tableau = run_->tableau();
  std::vector<double> held, x, rates;
  for (std::size_t k = 0; k < system_.discrete.size(); ++k) {
    const Discrete& d = system_.discrete[k];
    held.push_back(d.external ? problem_.initial.held[k] : d.start);
    const int c = system_.groups[d.group].components[d.member];
    const Expr start = model.kinds[model.components[c].kind].discrete[d.held].start;
    for (const auto& [p, slope] : slopes.of(in_full_names(model, c, start))) held_[k * count_ + p] = slope;
  }
  bool sampled = false;
  for (std::size_t round = 0; round < 40 + held.size(); ++round) {
    tableau.hold(held);
    InitialState state = problem_.initial;
    run_->reinitialisation().find(0.0, state);
    StartDerivatives(tableau, problem_.storage, state, wrt_).forward(held_, x, rates);
    updates_.evaluate(state.x, 0.0);
    const auto take = [&](bool with_sample_time) {
      bool changed = false;
      for (std::size_t k = 0; k < held.size(); ++k) {
        const Discrete& d = system_.discrete[k];
        if ((d.every > 0.0) != with_sample_time || d.external) continue;
        changed = changed || held[k] != updates_.values()[k];
        held[k] = updates_.values()[k];
        for (int p = 0; p < count_; ++p) {
          double& now = held_[k * count_ + p];
          const double slope =
              updates_.along(k, std::span(x).subspan(static_cast<std::size_t>(n_) * p, n_), 0.0, p);
          changed = changed || std::abs(slope - now) > 1e-12 * std::abs(slope);
          now = slope;
        }
      }
      return changed;
    };
    if (!take(false) && (std::exchange(sampled, true) || !take(true))) break;
  }
  tableau.hold(problem_.initial.held);
  StartDerivatives(tableau, problem_.storage, problem_.initial, wrt_).forward(held_, x, rates);
  for (int p = 0; p < count_; ++p) {
    std::copy_n(x.begin() + static_cast<long>(n_) * p, n_, values_of(s_[p].get()).begin());
    run_->columns_of(std::span(rates).subspan(static_cast<std::size_t>(r_) * p, r_),
                     std::vector<double>(system_.graph.edge_count(), 0.0), values_of(sp_[p].get()));
  }
}

void ForwardLanes::moved() {
  if (count_ == 0) return;
  std::vector<N_Vector> s;
  for (const auto& lane : s_) s.push_back(lane.get());
  double t = 0.0;
  IDAGetSens(run_->ida(), &t, s.data());
}

void ForwardLanes::linearise(double t, N_Vector y, N_Vector yp) {
  const std::span<const double> x = values_of(y), xp = values_of(yp);
  if (linear_.t == t && std::equal(x.begin(), x.end(), linear_.y.begin(), linear_.y.end()) &&
      std::equal(xp.begin(), xp.end(), linear_.yp.begin(), linear_.yp.end()))
    return;
  linear_.t = t;
  linear_.y.assign(x.begin(), x.end());
  linear_.yp.assign(xp.begin(), xp.end());
  run_->rates_of(xp, linear_.rates);
  run_->tableau().jacobian(x, linear_.rates, t, {}, linear_.by_x, linear_.by_rate);
  by_parameter_.evaluate(run_->tableau(), x, linear_.rates, t, linear_.by_parameter);
  add_held(x, linear_.rates, t, linear_.by_parameter);
}

void ForwardLanes::add_held(std::span<const double> x, std::span<const double> rates, double t,
                            std::vector<DerivativeEntry>& entries) {
  Tableau& tableau = run_->tableau();
  for (std::size_t k = 0; k < system_.discrete.size(); ++k) {
    const std::span<const double> moves(held_.data() + k * count_, static_cast<std::size_t>(count_));
    if (std::all_of(moves.begin(), moves.end(), [](double v) { return v == 0.0; })) continue;
    const Discrete& d = system_.discrete[k];
    const auto pairs = tableau.parameter_entries(d.group);
    const auto slopes = tableau.by_own_parameters(d.group, d.member, x, rates, t);
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if (pairs[i].second == held_slot(system_, d))
        for (int p = 0; p < count_; ++p)
          entries.push_back(
              {system_.groups[d.group].first_row[d.member] + pairs[i].first, p, slopes[i] * moves[p]});
  }
}

int ForwardLanes::residual(int count, double t, N_Vector y, N_Vector yp, N_Vector, N_Vector* s, N_Vector* sp,
                           N_Vector* out, void* user, N_Vector, N_Vector, N_Vector) {
  AdaptiveRun& run = *static_cast<AdaptiveRun*>(user);
  auto& self = *static_cast<ForwardLanes*>(run.companion());
  self.linearise(t, y, yp);
  const Linear& linear = self.linear_;
  const auto x_entries = run.tableau().x_entries();
  const auto rate_entries = run.tableau().rate_entries();
  std::vector<double>& rates = self.lane_rates_;
  for (int p = 0; p < count; ++p) {
    double* f = N_VGetArrayPointer(out[p]);
    const double* dx = N_VGetArrayPointer(s[p]);
    std::fill_n(f, self.n_, 0.0);
    run.rates_of(values_of(sp[p]), rates);
    for (std::size_t k = 0; k < x_entries.size(); ++k)
      if (x_entries[k].row >= 0 && x_entries[k].column >= 0)
        f[x_entries[k].row] += linear.by_x[k] * dx[x_entries[k].column];
    for (std::size_t k = 0; k < rate_entries.size(); ++k)
      if (rate_entries[k].row >= 0)
        f[rate_entries[k].row] += linear.by_rate[k] * rates[rate_entries[k].column];
  }
  for (const DerivativeEntry& e : linear.by_parameter) N_VGetArrayPointer(out[e.parameter])[e.row] += e.value;
  for (int p = 0; p < count; ++p)
    for (double v : values_of(out[p]))
      if (!std::isfinite(v)) return 1;
  return 0;
}

std::vector<double> ForwardLanes::states_of(std::span<const double> dx) const {
  std::vector<double> states;
  for (const Rate& r : system_.rates)
    states.push_back(symbol_value(system_.groups[r.group], r.symbol, r.member, dx));
  return states;
}

// All lanes at a consistent point, from those of the states ([lane][rate]) and how far time moves in each;
// time itself is the last.
bool ForwardLanes::solve(Moment& at, std::span<const double> states, std::span<const double> dt) {
  Tableau& tableau = run_->tableau();
  if (!directions_->factor(at.state, at.t)) return false;
  std::vector<DerivativeEntry> entries;
  by_parameter_.evaluate(tableau, at.state.x, at.state.rates, at.t, entries);
  add_held(at.state.x, at.state.rates, at.t, entries);
  for (DerivativeEntry& e : entries) e.value = -e.value;
  for (const DerivativeEntry& e : directions_->rate_entries(wrt_, at.t)) entries.push_back(e);
  std::vector<double> by_time(n_);
  tableau.by_time(at.state.x, at.state.rates, at.t, by_time);
  const ExprMap<double> now{{system_.model->pool->symbol("t"), std::max(at.t, just_after_start)}};
  std::vector<double> b;
  at.dx.assign(static_cast<std::size_t>(n_) * (count_ + 1), 0.0);
  at.dr.assign(static_cast<std::size_t>(r_) * (count_ + 1), 0.0);
  for (int lane = 0; lane <= count_; ++lane) {
    b.assign(directions_->size(), 0.0);
    for (const DerivativeEntry& e : entries)
      if (e.parameter == lane) b[e.row] += e.value;
    const double moves = lane < count_ ? dt[lane] : 1.0;
    for (std::int32_t row = 0; row < n_; ++row) b[row] -= by_time[row] * moves;
    for (const auto& [rate, slope] : drive_slopes_) b[n_ + rate] += evaluate(slope, now) * moves;
    for (std::int32_t k = 0; k < r_; ++k)
      if (directions_->is_state(k))
        b[n_ + k] = lane < count_ ? states[static_cast<std::size_t>(r_) * lane + k] : at.state.rates[k];
    directions_->solve(b);
    std::copy_n(b.begin(), n_, at.dx.begin() + static_cast<long>(n_) * lane);
    std::copy_n(b.begin() + n_, r_, at.dr.begin() + static_cast<long>(r_) * lane);
  }
  return true;
}

void ForwardLanes::give_to_ida(const Moment& at) {
  if (count_ == 0) return;
  const ExprMap<double> now{{system_.model->pool->symbol("t"), std::max(at.t, just_after_start)}};
  std::vector<N_Vector> s, sp;
  for (int p = 0; p < count_; ++p) {
    std::copy_n(at.dx.begin() + static_cast<long>(n_) * p, n_, values_of(s_[p].get()).begin());
    std::vector<double> across(system_.graph.edge_count(), 0.0);
    for (const SourceSlope& source : source_slopes_)
      if (source.parameter == p) across[source.edge] += evaluate(source.slope, now);
    run_->columns_of(std::span(at.dr).subspan(static_cast<std::size_t>(r_) * p, r_), std::move(across),
                     values_of(sp_[p].get()));
    s.push_back(s_[p].get()), sp.push_back(sp_[p].get());
  }
  linear_.t = -1.0;
  IDASensReInit(run_->ida(), IDA_STAGGERED, s.data(), sp.data());
}

ForwardLanes::Moment ForwardLanes::moment_now() {
  Moment now;
  now.t = run_->t();
  now.state.x.assign(run_->columns().begin(), run_->columns().end());
  now.state.rates.resize(r_);
  run_->rates_of(values_of(run_->yp()), now.state.rates);
  InitialState found = now.state;
  if (run_->reinitialisation().find(now.t, found)) now.state = std::move(found);
  std::vector<double> states;
  for (int p = 0; p < count_; ++p)
    for (double v : states_of(lane(p))) states.push_back(v);
  solve(now, states, std::vector<double>(count_, 0.0));
  return now;
}

void ForwardLanes::event_begins(std::span<const int> conditions, std::span<const Due> due) {
  listed_ = stale_ = false;
  if (count_ == 0) return;
  before_ = {};
  before_.t = run_->t();
  before_.state = run_->state();
  if (conditions.empty())
    run_->reinitialisation().find(before_.t, before_.state);
  else
    go_before_event();
  states_.clear();
  for (int p = 0; p < count_; ++p)
    for (double v : states_of(lane(p))) states_.push_back(v);
  std::vector<double> states = states_;
  solve(before_, states, std::vector<double>(count_, 0.0));
  event_time(before_, conditions);
  sample_time(due);
  total_.assign(static_cast<std::size_t>(n_) * count_, 0.0);
  for (int p = 0; p < count_; ++p) {
    for (std::int32_t c = 0; c < n_; ++c)
      total_[static_cast<std::size_t>(n_) * p + c] =
          before_.dx[static_cast<std::size_t>(n_) * p + c] +
          before_.dx[static_cast<std::size_t>(n_) * count_ + c] * moves_[p];
    for (std::int32_t k = 0; k < r_; ++k)
      states[static_cast<std::size_t>(r_) * p + k] += before_.state.rates[k] * moves_[p];
  }
  states_ = std::move(states);
}

// States a moment ago are on the side before, and everything else follows from them. What is found in the
// same instant as the event before it has no such side any more: it is the side after.
void ForwardLanes::go_before_event() {
  const double t = run_->t();
  double last = 0.0, step = 0.0;
  IDAGetCurrentTime(run_->ida(), &last);
  IDAGetLastStep(run_->ida(), &step);
  const std::span<const double> y = values_of(run_->y()), yp = values_of(run_->yp());
  const InitialState here = before_.state;
  VectorPointer earlier(N_VClone(run_->y()));
  const auto go = [&](double back) {
    before_.state = here;
    before_.t = t - back;
    if (before_.t >= last - step && IDAGetDky(run_->ida(), before_.t, 0, earlier.get()) == IDA_SUCCESS) {
      const auto x = values_of(earlier.get());
      before_.state.x.assign(x.begin(), x.end());
    } else {
      for (std::int32_t c = 0; c < n_; ++c) before_.state.x[c] = y[c] - back * yp[c];
    }
    return run_->reinitialisation().find(before_.t, before_.state);
  };
  const double side = t - run_->moment() <= last_event_ ? 1.0 : -1.0;
  const auto found = run_->beyond([&](double length) {
    return (side > 0 || t - length > last_event_) && go(-side * length) &&
           run_->on_side(side, before_.state.x, before_.state.rates, before_.t);
  });
  if (!found) go(-side * run_->moment());
}

// Several conditions may change at one time; their events must then move together.
void ForwardLanes::event_time(const Moment& before, std::span<const int> conditions) {
  std::fill(moves_.begin(), moves_.end(), 0.0);
  touching_ = -1;
  if (conditions.empty()) return;
  const auto dx = [&](int lane) {
    return std::span(before.dx).subspan(static_cast<std::size_t>(n_) * lane, n_);
  };
  const auto dr = [&](int lane) {
    return std::span(before.dr).subspan(static_cast<std::size_t>(r_) * lane, r_);
  };
  std::vector<double> values(run_->conditions().size());
  run_->conditions().evaluate(before.state.x, before.state.rates, before.t, values.data());
  const double near = 100.0 * std::abs(run_->t() - before.t) + 1e-6 * problem_.step;
  int first = -1, touching = -1, jumping = -1;
  const auto look = [&](int k, bool changed) {
    conditions_->at(k, before.state, before.t);
    const double rate = conditions_->along(dx(count_), dr(count_), 1.0);
    if (std::isfinite(values[k] / rate) && std::abs(values[k] / rate) > near) {
      if (changed) jumping = k;
      return;
    }
    std::vector<double> moves;
    for (int p = 0; p < count_; ++p) moves.push_back(-conditions_->along(dx(p), dr(p), 0.0, p) / rate);
    if (std::any_of(moves.begin(), moves.end(), [](double v) { return !std::isfinite(v); })) {
      if (changed) touching = k;
      return;
    }
    if (first < 0) {
      moves_ = moves;
      first = k;
      return;
    }
    for (int p = 0; p < count_; ++p)
      if (std::abs(moves[p] - moves_[p]) > 1e-6 * (std::abs(moves[p]) + std::abs(moves_[p]))) {
        warnings_.push_back(fmt::format(
            "conditions of '{}' and '{}' change together at t = {:.9g} s, and parameter '{}' moves them "
            "apart: derivatives hold for the first",
            run_->conditions()[first].owner, run_->conditions()[k].owner, run_->t(),
            system_.model->parameters[wrt_[p]].name));
        break;
      }
  };
  for (int k : conditions) look(k, true);
  if (first < 0 && jumping >= 0) {
    // Rounding may have put what made it jump just before or after.
    for (int k = 0; k < static_cast<int>(values.size()); ++k)
      if (std::find(conditions.begin(), conditions.end(), k) == conditions.end()) look(k, false);
    if (first < 0)
      warnings_.push_back(
          fmt::format("a condition of '{}' jumps across its threshold at t = {:.9g} s, and no other vanishes "
                      "there: derivatives take the time of this event as fixed",
                      run_->conditions()[jumping].owner, run_->t()));
  }
  // A quantity that lies on its threshold, as the speed of what is locked, decides nothing where another
  // passes, or where nothing changes.
  touching_ = first < 0 ? touching : -1;
}

void ForwardLanes::sample_time(std::span<const Due> due) {
  for (std::size_t i = 0; i < due.size(); ++i) {
    std::vector<double> moves(count_, 0.0);
    for (const auto& [p, slope] : every_[due[i].discrete])
      moves[p] = slope * static_cast<double>(due[i].multiple);
    if (i > 0 && moves != moves_)
      warnings_.push_back(fmt::format(
          "'{}' and '{}' are sampled together at t = {:.9g} s, and parameters move their sample "
          "times apart: derivatives hold for the last",
          system_.discrete[due[0].discrete].name, system_.discrete[due[i].discrete].name, run_->t()));
    moves_ = std::move(moves);
  }
}

void ForwardLanes::discrete_changes(std::span<const std::int32_t> which, std::span<const double> after,
                                    double t) {
  if (stale_) {
    // With the discrete variables that changed before these.
    found_.t = run_->t();
    found_.state = run_->state();
    if (solve(found_, states_, moves_)) total_.assign(found_.dx.begin(), found_.dx.end() - n_);
    stale_ = false;
  }
  updates_.evaluate(after, t);
  std::string names;
  for (std::int32_t k : which) {
    for (int p = 0; p < count_; ++p)
      held_[static_cast<std::size_t>(k) * count_ + p] =
          updates_.along(k, std::span(total_).subspan(static_cast<std::size_t>(n_) * p, n_), moves_[p], p);
    const Discrete& d = system_.discrete[k];
    const int c = system_.groups[d.group].components[d.member];
    const auto changed = run_->changed();
    if (std::find(changed.begin(), changed.end(), k) == changed.end()) continue;
    // Of a watch the time says nothing more.
    if (!is_observer(system_.model->kinds[system_.model->components[c].kind]) || d.name.ends_with(".seen"))
      names += (names.empty() ? "" : ", ") + d.name;
  }
  if (run_->changed().empty()) return;
  if (const int k = std::exchange(touching_, -1); k >= 0)
    warnings_.push_back(
        fmt::format("a condition of '{}' touches its threshold at t = {:.9g} s without passing it: the time "
                    "of this event "
                    "has no derivative",
                    run_->conditions()[k].owner, run_->t()));
  if (!listed_) {
    const bool moves = std::any_of(moves_.begin(), moves_.end(), [](double v) { return v != 0.0; });
    events_.push_back({run_->t(), names, moves ? moves_ : std::vector<double>()});
    listed_ = true;
  } else if (!names.empty()) {
    events_.back().what += ", " + names;
  }
  for (std::int32_t k : run_->changed()) seen_.try_emplace(k, static_cast<int>(events_.size()) - 1);
}

void ForwardLanes::found_anew() { stale_ = true; }

// The run goes on from `after`; where that is too near to the event for the equations to tell, the lanes are
// found a little further on.
void ForwardLanes::event_ends(std::span<const double> after, double t) {
  last_event_ = t;
  if (count_ == 0) return;
  const std::span<const double> yp = values_of(run_->yp());
  Moment now;
  const auto go = [&](double on) {
    now.t = t + on;
    now.state.x.assign(after.begin(), after.end());
    for (std::int32_t c = 0; c < n_; ++c) now.state.x[c] += on * yp[c];
    now.state.rates = run_->state().rates;
    return run_->reinitialisation().find(now.t, now.state);
  };
  const auto is_after = [&](double on) {
    return go(on) && run_->on_side(1.0, now.state.x, now.state.rates, now.t);
  };
  if (!is_after(0.0) && !run_->beyond(is_after)) go(0.0);
  last_event_ = now.t;
  for (int p = 0; p < count_; ++p)
    for (std::int32_t k = 0; k < r_; ++k)
      states_[static_cast<std::size_t>(r_) * p + k] -= now.state.rates[k] * moves_[p];
  if (solve(now, states_, std::vector<double>(count_, 0.0))) give_to_ida(now);
}

void ForwardLanes::restarted() {
  if (count_ > 0) give_to_ida(moment_now());
}

std::optional<int> ForwardLanes::first_seen(std::int32_t discrete) const {
  const auto found = seen_.find(discrete);
  return found == seen_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tellegen

#endif
