#include "tellegen/simulate/adaptive.h"

#ifndef TELLEGEN_HAS_IDA

namespace tellegen {

bool has_adaptive() { return false; }

std::unique_ptr<Integrator> make_adaptive(const Problem& problem) {
  throw ModelError({{problem.system->model->file.string(), 0},
                    "T318",
                    "method 'adaptive-ida' is not part of this build",
                    {"it needs SUNDIALS IDAS: install libsundials-dev and build again"}});
}

}  // namespace tellegen

#else

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/simulate/adaptive_run.h"

namespace tellegen {
namespace {

// So many events on end, each after no more than so many steps, are chattering.
constexpr std::int64_t chattering_events = 500;
constexpr long few_steps = 3;

double* data(N_Vector v) { return N_VGetArrayPointer(v); }

}  // namespace

AdaptiveRun::AdaptiveRun(const Problem& problem, AdaptiveCompanion* companion)
    : problem_(problem),
      system_(*problem.system),
      companion_(companion),
      tableau_(system_),
      n_(tableau_.size()),
      reinitialisation_(tableau_, problem.storage),
      conditions_(system_),
      jumps_(system_, problem.step, problem.options.stop),
      updates_(system_, update_expressions(system_)),
      outputs_(system_, problem.outputs),
      integrands_(system_, problem.totals),
      held_(problem.initial.held),
      fmus_(system_, problem.step, problem.options.stop, held_),
      next_(held_.size()),
      samples_taken_(held_.size(), 0),
      state_(problem.initial),
      found_(conditions_.size()),
      quantities_(conditions_.size()),
      shaken_quantities_(conditions_.size()) {
  tableau_.hold(held_);
  SUNContext context = nullptr;
  SUNContext_Create(nullptr, &context);
  context_.reset(context);
  y_.reset(N_VNew_Serial(n_, context));
  yp_.reset(N_VNew_Serial(n_, context));
  id_.reset(N_VNew_Serial(n_, context));
  controlled_.reset(N_VNew_Serial(n_, context));
  tolerances_.reset(N_VNew_Serial(n_, context));
  std::copy(problem.initial.x.begin(), problem.initial.x.end(), data(y_.get()));
  std::fill_n(data(id_.get()), n_, 0.0);
  for (const Rate& r : system_.rates) {
    const Group& group = system_.groups[r.group];
    for (const auto column : {group.plus[r.symbol][r.member], group.minus[r.symbol][r.member]})
      if (column >= 0) data(id_.get())[column] = 1.0;
  }
  // Events are found in what IDA interpolates. Potentials that sources of time give are controlled where a
  // condition looks at them, as a switch does that a sine controls: the states alone would step over it.
  std::copy_n(data(id_.get()), n_, data(controlled_.get()));
  std::vector<char> given(n_, 0);
  for (NodeIndex node : system_.tree.order) {
    const EdgeIndex up = system_.tree.up[node.value];
    if (up.value < 0) continue;
    const auto parent = system_.node_column(system_.tree.parent[node.value]);
    given[system_.node_column(node)] = (parent < 0 || given[parent]) &&
                                       system_.graph.edges[up.value].edge_class == EdgeClass::across_source &&
                                       source_rate(system_, up);
  }
  for (const std::int32_t c : conditions_.columns())
    if (given[c]) data(controlled_.get())[c] = 1.0;
  start_rates(problem.initial.rates, 0.0);
  rates_.resize(system_.rates.size());
  by_x_.resize(tableau_.x_entries().size());
  by_rate_.resize(tableau_.rate_entries().size());
  make_pattern(context);
  // IDA takes the mean over all columns, also of those whose errors it is told to leave out.
  const auto controlled = std::count(data(controlled_.get()), data(controlled_.get()) + n_, 1.0);
  const double tolerance =
      problem.options.tolerance * std::sqrt(static_cast<double>(std::max<long>(1, controlled)) / n_);
  for (std::int32_t c = 0; c < n_; ++c) data(tolerances_.get())[c] = tolerance * column_scale(system_, c);

  ida_.reset(IDACreate(context));
  IDAInit(ida_.get(), residual, 0.0, y_.get(), yp_.get());
  IDASVtolerances(ida_.get(), tolerance, tolerances_.get());
  IDASetUserData(ida_.get(), this);
  IDASetMaxNonlinIters(ida_.get(), 10);
  IDASetNonlinConvCoef(ida_.get(), 0.03);  // what Newton leaves over adds up from step to step
  IDASetMaxNumSteps(ida_.get(), 100000);   // between two samples
  IDASetId(ida_.get(), controlled_.get());
  // Steps are chosen by the states and conditions: potentials behind a blocking diode jump, however short the
  // step.
  IDASetSuppressAlg(ida_.get(), true);
  solver_.reset(SUNLinSol_KLU(y_.get(), matrix_.get(), context));
  IDASetLinearSolver(ida_.get(), solver_.get(), matrix_.get());
  IDASetJacFn(ida_.get(), jacobian);
  IDASetErrHandlerFn(ida_.get(), remember_error, this);
  if (conditions_.size() > 0) IDARootInit(ida_.get(), static_cast<int>(conditions_.size()), conditions_of);
  if (!problem.totals.empty()) {
    // Quadratures that do not choose the steps.
    totals_.reset(N_VNew_Serial(static_cast<sunindextype>(problem.totals.size()), context));
    N_VConst(0.0, totals_.get());
    IDAQuadInit(ida_.get(), integrands_of, totals_.get());
  }
  statistics_.unknowns = n_;
  statistics_.variable_step = true;
  statistics_.executor = "SUNDIALS IDAS with KLU";
  if (companion_) companion_->begin(*this);
}

std::int64_t AdaptiveRun::advance(std::int64_t samples, double* rows) {
  const double interval = problem_.step * static_cast<double>(problem_.stride);
  for (std::int64_t k = 0; k < samples; ++k) {
    if (!reach(interval * static_cast<double>(done_ + 1))) {
      if (ended_) outputs_.evaluate(before_, *ended_, rows);
      samples = k;
      break;
    }
    ++done_;
    // A row at an event holds the values before it, as with a fixed step; not so one where a source jumps.
    const double t = interval * static_cast<double>(done_);
    const bool at_event = event_time_ >= t * (1 - 1e-12);
    outputs_.evaluate(at_event ? std::span<const double>(before_) : columns(), t, rows);
    rows += problem_.outputs.size();
  }
  long steps = 0, iterations = 0;
  IDAGetNumSteps(ida_.get(), &steps);
  IDAGetNumNonlinSolvIters(ida_.get(), &iterations);
  statistics_.steps = steps_before_ + steps;
  statistics_.iterations = iterations_before_ + iterations;
  return samples;
}

void AdaptiveRun::set_input(int input, double value) {
  held_[problem_.external[input]] = value;
  fired_.clear();
  event(t_, false, true);
}

bool AdaptiveRun::reach(double to) {
  for (int restarts = 0; t_ < to;) {
    if (failure_ = fmus_.failure(); !failure_.empty()) return false;
    const double sampling = next_sampling();
    // Where a source jumps is known beforehand: no step is tried across it.
    while (jumps_.next() <= to && !jumps_.jumps()) jumps_.pass();
    const double jump = jumps_.before(jumps_.next());
    const double begun = first_instant(to);
    const double stop = std::min({to, sampling, jump, begun});
    // A sampling and a row may be the same instant but for rounding: too short a way for IDA.
    const bool there = stop - t_ <= 4.0 * std::numeric_limits<double>::epsilon() * (t_ + stop);
    if (there) t_ = stop;
    IDASetStopTime(ida_.get(), stop);  // outputs are solutions, not interpolations
    const int status = there ? IDA_SUCCESS : IDASolve(ida_.get(), stop, &t_, y_.get(), yp_.get(), IDA_NORMAL);
    if (companion_ && !there && status >= 0) companion_->moved();
    if (totals_ && !there) {
      double at = 0.0;
      IDAGetQuad(ida_.get(), &at, totals_.get());
    }
    // Extrapolated potentials may land where an exponential is out of reach, and shortening the step does
    // not help: begin anew from the last good point, without extrapolation.
    if ((status == IDA_CONV_FAIL || status == IDA_ERR_FAIL) && ++restarts <= 20) {
      restart(to);
      continue;
    }
    if (status < 0) {
      failure_ = fmt::format("the adaptive method stopped at t = {:.9g} s: {}", t_, error_);
      return false;
    }
    // Without states IDA controls no error, and a wrong step of Newton's would stay in the result.
    if (system_.rates.empty()) {
      state_.x.assign(data(y_.get()), data(y_.get()) + n_);
      if (reinitialisation_.find(t_, state_)) std::copy(state_.x.begin(), state_.x.end(), data(y_.get()));
    }
    fired_.clear();
    if (status == IDA_ROOT_RETURN) {
      find_roots();
      long steps = 0;
      IDAGetNumSteps(ida_.get(), &steps);
      quick_events_ = steps <= few_steps ? quick_events_ + 1 : 0;
      if (quick_events_ > chattering_events) {
        failure_ = fmt::format(
            "{} events on end with hardly a step between them near t = {:.9g} s: {} chatters; give it a "
            "hysteresis, or use a fixed step",
            quick_events_, t_,
            fired_.empty() ? "a condition" : "a condition of '" + conditions_[fired_[0]].owner + "'");
        return false;
      }
      if (!fired_.empty() && fired_[0] < static_cast<int>(conditions_.of_equations())) ++statistics_.events;
      if (!event(t_, false) || ends(t_)) return false;
    } else if (stop == jump) {
      if (shares_jumps()) {
        failure_ = fmt::format(
            "a source jumps at t = {:.9g} s, and storages in a circuit with it share what that brings: "
            "method "
            "'adaptive-ida' cannot divide it; use adaptive",
            jumps_.next());
        return false;
      }
      find_time_roots(jump, std::max(jumps_.next() + moment(), jumps_.next() * (1 + 1e-15)));
      ++statistics_.events;
      t_ = jumps_.next();
      jumps_.pass();
      if (!event(t_, false) || ends(t_)) return false;  // what is sampled here comes next
      event_time_ = -1.0;                               // a row here is of f(t) at this t
    } else if (stop == sampling) {
      t_ = stop;
      if (!event(t_, true) || ends(t_)) return false;
    } else if (stop == begun) {
      if (!event(t_, false) || ends(t_)) return false;
    }
  }
  return true;
}

// A condition that is just met at the start has no change of sign there that IDA could find: what it wants to
// change is looked at an instant later. Infinite where there is none.
double AdaptiveRun::first_instant(double to) {
  if (t_ > 0.0 || conditions_.size() == 0) return std::numeric_limits<double>::infinity();
  rates_of(values_of(yp_.get()), rates_);
  conditions_.evaluate(columns(), rates_, t_, quantities_.data());
  const auto end = quantities_.begin() + static_cast<long>(conditions_.size());
  const bool any = std::find(quantities_.begin(), end, 0.0) != end;
  return any ? 1e-9 * to : std::numeric_limits<double>::infinity();
}

// Whether some storage follows a source together with others, or what drives it jumps now.
bool AdaptiveRun::shares_jumps() const {
  const double at = jumps_.next(), aside = std::max(moment(), 1e-12 * at);
  const Expr time = system_.model->pool->symbol("t");
  const auto shared = [&](const RedundantRate& r) {
    if (r.driven_by) {
      const double before = evaluate(r.driven_by, ExprMap<double>{{time, at - aside}}),
                   after = evaluate(r.driven_by, ExprMap<double>{{time, at + aside}});
      if (std::abs(after - before) > 1e-6 * (std::abs(after) + std::abs(before))) return true;
    }
    const auto is_source = [](const auto& term) { return term.rate < 0; };
    const bool source = std::any_of(r.terms.begin(), r.terms.end(), is_source);
    return source && !std::all_of(r.terms.begin(), r.terms.end(), is_source);
  };
  return std::any_of(problem_.storage.redundant.begin(), problem_.storage.redundant.end(), shared);
}

void AdaptiveRun::find_roots() {
  IDAGetRootInfo(ida_.get(), found_.data());
  for (std::size_t k = 0; k < found_.size(); ++k)
    if (found_[k] != 0) fired_.push_back(static_cast<int>(k));
}

// Conditions that change their sign with time alone.
void AdaptiveRun::find_time_roots(double before, double after) {
  rates_of(values_of(yp_.get()), rates_);
  conditions_.evaluate(columns(), rates_, before, quantities_.data());
  conditions_.evaluate(columns(), rates_, after, shaken_quantities_.data());
  for (std::size_t k = 0; k < found_.size(); ++k) {
    found_[k] = quantities_[k] < 0.0 && shaken_quantities_[k] >= 0.0   ? 1
                : quantities_[k] > 0.0 && shaken_quantities_[k] <= 0.0 ? -1
                                                                       : 0;
    if (found_[k] != 0) fired_.push_back(static_cast<int>(k));
  }
}

bool AdaptiveRun::ends(double t) {
  if (problem_.stop_event >= 0 && held_[problem_.stop_event] != 0.0) ended_ = t;
  return ended_.has_value();
}

double AdaptiveRun::next_sampling() const {
  double t = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < held_.size(); ++k)
    if (const double every = system_.discrete[k].interval(problem_.step); every > 0.0)
      t = std::min(t, every * static_cast<double>(samples_taken_[k] + 1));
  return t;
}

double AdaptiveRun::moment() const {
  double step = 0.0;
  IDAGetLastStep(ida_.get(), &step);
  return 1e-9 * step;
}

// Where steps have become short on the way to an event, a fixed part of one is less than rounding. What is
// shorter than rounding of the time changes nothing, and is not tried.
std::optional<double> AdaptiveRun::beyond(const std::function<bool(double)>& is_beyond) const {
  const double shortest = std::max(moment(), 1e-17 * (t_ + problem_.step));
  const double longest = std::max(shortest, 1e-11 * (t_ + problem_.step));
  for (double length = shortest; length <= longest; length *= 10)
    if (is_beyond(length)) return length;
  return std::nullopt;
}

bool AdaptiveRun::on_side(double side, std::span<const double> x, std::span<const double> rates, double t) {
  if (fired_.empty()) return true;
  conditions_.evaluate(x, rates, t, quantities_.data());
  // What rounding of the columns does to the quantities.
  shaken_.assign(x.begin(), x.end());
  for (std::size_t c = 0; c < shaken_.size(); ++c) shaken_[c] *= 1 + (c * c % 3 == 1 ? 1e-14 : -1e-14);
  conditions_.evaluate(shaken_, rates, t, shaken_quantities_.data());
  return std::all_of(fired_.begin(), fired_.end(), [&](int k) {
    return side * found_[k] * quantities_[k] > std::abs(shaken_quantities_[k] - quantities_[k]);
  });
}

bool AdaptiveRun::is_due(std::size_t discrete, double t, bool sampling) const {
  const double every = system_.discrete[discrete].interval(problem_.step);
  return sampling && every > 0.0 &&
         t >= every * static_cast<double>(samples_taken_[discrete] + 1) * (1 - 1e-12);
}

std::vector<AdaptiveCompanion::Due> AdaptiveRun::due(double t, bool sampling) const {
  std::vector<AdaptiveCompanion::Due> list;
  for (std::size_t k = 0; k < held_.size(); ++k)
    if (is_due(k, t, sampling)) list.push_back({static_cast<std::int32_t>(k), samples_taken_[k] + 1});
  return list;
}

// Discrete variables are taken over until none changes, each time with everything but the states found anew.
bool AdaptiveRun::event(double t, bool sampling, bool from_outside) {
  count_steps();
  bool any = false;
  rates_of(values_of(yp_.get()), rates_);
  state_.x.assign(data(y_.get()), data(y_.get()) + n_);
  before_ = state_.x;
  event_time_ = from_outside ? -1.0 : t;
  state_.rates = rates_;
  if (companion_) companion_->event_begins(fired_, due(t, sampling));
  // Everything goes on from a moment after the event, and what is found anew but does not jump stays there:
  // beyond its threshold, where rounding cannot bring it back.
  // Time is past what is due now, however short the last step was: nothing would find that again.
  const double later = std::max(moment(), 4.0 * std::numeric_limits<double>::epsilon() * t);
  const std::span<double> after = values_of(y_.get());
  // In a step that is hardly longer, the rate of a variable without one of its own is rounding over rounding:
  // a torque that is zero from here on would swing from one side of its threshold to the other.
  double step = 0.0;
  IDAGetLastStep(ida_.get(), &step);
  const bool short_step = later > 1e-3 * step;
  for (std::int32_t c = 0; c < n_; ++c)
    if (!short_step || data(controlled_.get())[c] != 0.0) after[c] += later * data(yp_.get())[c];
  for (int round = 0;; ++round) {
    if (round > 0 || from_outside) {
      tableau_.hold(held_);
      if (!reinitialisation_.find(t + later, state_)) {  // a source that jumps at t has jumped
        restart(t);
        break;
      }
      for (std::int32_t c = 0; c < n_; ++c)
        if (std::abs(state_.x[c] - after[c]) > 1e-7 * (std::abs(after[c]) + column_scale(system_, c)))
          after[c] = state_.x[c];
      if (companion_) companion_->found_anew();
    }
    updates_.evaluate(after, t + later, next_.data());
    changed_.clear();
    taken_.clear();
    for (std::size_t k = 0; k < held_.size(); ++k) {
      const Discrete& d = system_.discrete[k];
      if (d.every > 0.0) {
        if (round > 0 || !is_due(k, t, sampling)) continue;
        ++samples_taken_[k];
        taken_.push_back(static_cast<std::int32_t>(k));
      }
      if (next_[k] == held_[k]) continue;
      if (d.every == 0.0) taken_.push_back(static_cast<std::int32_t>(k));
      held_[k] = next_[k];
      changed_.push_back(static_cast<std::int32_t>(k));
      if (round > 50) {
        failure_ = fmt::format(
            "discrete variables do not settle at t = {:.9g} s: '{}' changes again and again; give it a "
            "hysteresis",
            t, d.name);
        return false;
      }
    }
    any = any || !changed_.empty();
    if (!changed_.empty()) fmus_.follow(held_);
    if (companion_ && !taken_.empty()) companion_->discrete_changes(taken_, after, t + later);
    if (changed_.empty() && (round > 0 || from_outside)) break;
  }
  if (any) ++statistics_.events;
  start_rates(state_.rates, t);
  IDAReInit(ida_.get(), t, y_.get(), yp_.get());
  if (totals_) IDAQuadReInit(ida_.get(), totals_.get());
  if (companion_) companion_->event_ends(after, t + later);
  return true;
}

// Derivatives of the columns such that every differentiated variable has its rate.
void AdaptiveRun::start_rates(const std::vector<double>& rates, double t) {
  std::vector<double> across(system_.graph.edge_count(), 0.0);
  const ExprMap<double> start{{system_.model->pool->symbol("t"), std::max(t, just_after_start)}};
  for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e)
    if (system_.graph.edges[e].edge_class == EdgeClass::across_source)
      if (const Expr rate = source_rate(system_, EdgeIndex{e})) across[e] = evaluate(rate, start);
  columns_of(rates, std::move(across), values_of(yp_.get()));
}

void AdaptiveRun::columns_of(std::span<const double> rates, std::vector<double> across,
                             std::span<double> column_rates) const {
  std::fill(column_rates.begin(), column_rates.end(), 0.0);
  for (std::size_t k = 0; k < system_.rates.size(); ++k) {
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    const LocalSymbol& s = group.symbols[r.symbol];
    if (s.what == LocalSymbol::What::across)
      across[system_.graph.first_edge[group.components[r.member]] + s.index] = rates[k];
    else if (const auto plus = group.plus[r.symbol][r.member]; plus >= 0)
      column_rates[plus] = rates[k];
  }
  for (NodeIndex node : system_.tree.order) {
    const EdgeIndex up = system_.tree.up[node.value];
    if (up.value < 0) continue;
    const auto parent = system_.node_column(system_.tree.parent[node.value]);
    const double base = parent < 0 ? 0.0 : column_rates[parent];
    column_rates[system_.node_column(node)] =
        base + (system_.graph.edges[up.value].from == node ? across[up.value] : -across[up.value]);
  }
}

void AdaptiveRun::rates_of(std::span<const double> column_rates, std::span<double> rates) const {
  for (std::size_t k = 0; k < rates.size(); ++k) {
    const Rate& r = system_.rates[k];
    rates[k] = symbol_value(system_.groups[r.group], r.symbol, r.member, column_rates);
  }
}

void AdaptiveRun::make_pattern(SUNContext context) {
  PatternBuilder builder(n_);
  for (const auto& e : tableau_.x_entries()) builder.add(e.row, e.column);
  for (const auto& e : tableau_.rate_entries()) {
    const Rate& r = system_.rates[e.column];
    const Group& group = system_.groups[r.group];
    builder.add(e.row, group.plus[r.symbol][r.member]);
    builder.add(e.row, group.minus[r.symbol][r.member]);
  }
  pattern_ = builder.build();
  const auto entries = tableau_.x_entries().size() + 2 * tableau_.rate_entries().size();
  for (std::size_t k = 0; k < entries; ++k)
    position_.push_back(builder.position(static_cast<std::int32_t>(k)));
  matrix_.reset(SUNSparseMatrix(n_, n_, pattern_.nonzeros(), CSC_MAT, context));
}

int AdaptiveRun::residual(double t, N_Vector y, N_Vector yp, N_Vector f, void* user) {
  auto& self = *static_cast<AdaptiveRun*>(user);
  self.rates_of(values_of(yp), self.rates_);
  self.tableau_.residual(values_of(y), self.rates_, t, {}, values_of(f));
  for (double v : values_of(f))
    if (!std::isfinite(v)) return 1;  // recoverable: a shorter step may help
  return 0;
}

int AdaptiveRun::jacobian(double t, double cj, N_Vector y, N_Vector yp, N_Vector, SUNMatrix matrix,
                          void* user, N_Vector, N_Vector, N_Vector) {
  auto& self = *static_cast<AdaptiveRun*>(user);
  self.rates_of(values_of(yp), self.rates_);
  self.tableau_.jacobian(values_of(y), self.rates_, t, {}, self.by_x_, self.by_rate_);
  SUNMatZero(matrix);
  for (std::int32_t c = 0; c <= self.n_; ++c) SM_INDEXPTRS_S(matrix)[c] = self.pattern_.column_start[c];
  for (std::int32_t k = 0; k < self.pattern_.nonzeros(); ++k)
    SM_INDEXVALS_S(matrix)[k] = self.pattern_.row[k];
  double* values = SM_DATA_S(matrix);
  std::size_t at = 0;
  const auto put = [&](double v) {
    if (self.position_[at] >= 0) values[self.position_[at]] += v;
    ++at;
  };
  for (double v : self.by_x_) put(v);
  for (double v : self.by_rate_) {
    put(cj * v);
    put(-cj * v);
  }
  // Junctions change by twenty orders of magnitude: pivots chosen earlier must not be kept.
  SUNLinSol_KLUReInit(self.solver_.get(), matrix, self.pattern_.nonzeros(), SUNKLU_REINIT_PARTIAL);
  return 0;
}

int AdaptiveRun::integrands_of(double t, N_Vector y, N_Vector, N_Vector out, void* user) {
  static_cast<AdaptiveRun*>(user)->integrands_.evaluate(values_of(y), t, data(out));
  return 0;
}

Totals AdaptiveRun::totals() const {
  if (!totals_) return {};
  const auto values = values_of(totals_.get());
  return {.values = {values.begin(), values.end()}};
}

int AdaptiveRun::conditions_of(double t, N_Vector y, N_Vector yp, double* out, void* user) {
  auto& self = *static_cast<AdaptiveRun*>(user);
  self.rates_of(values_of(yp), self.rates_);
  self.conditions_.evaluate(values_of(y), self.rates_, t, out);
  return 0;
}

void AdaptiveRun::count_steps() {
  long steps = 0, iterations = 0;
  IDAGetNumSteps(ida_.get(), &steps);
  IDAGetNumNonlinSolvIters(ida_.get(), &iterations);
  steps_before_ += steps;
  iterations_before_ += iterations;
}

// IDA's own way to begin anew.
void AdaptiveRun::restart(double to) {
  count_steps();
  const double t = t_;
  if (t >= to) return;
  for (std::int32_t c = 0; c < n_; ++c)
    if (data(id_.get())[c] == 0.0) data(yp_.get())[c] = 0.0;
  if (companion_) companion_->moved();
  IDAReInit(ida_.get(), t, y_.get(), yp_.get());
  if (totals_) IDAQuadReInit(ida_.get(), totals_.get());
  if (companion_) IDASensToggleOff(ida_.get());  // the companion has its own way
  IDASetId(ida_.get(), id_.get());
  if (IDACalcIC(ida_.get(), IDA_YA_YDP_INIT, t + 1e-3 * (to - t)) >= 0)
    IDAGetConsistentIC(ida_.get(), y_.get(), yp_.get());
  IDASetId(ida_.get(), controlled_.get());
  if (companion_) companion_->restarted();
}

void AdaptiveRun::remember_error(int, const char*, const char*, char* message, void* user) {
  static_cast<AdaptiveRun*>(user)->error_ = message;
}

bool has_adaptive() { return true; }
std::unique_ptr<Integrator> make_adaptive(const Problem& problem) {
  return std::make_unique<AdaptiveRun>(problem);
}

}  // namespace tellegen

#endif
