#include "tellegen/simulate/breakpoints.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/time_function.h"

namespace tellegen {
namespace {

constexpr double no_breakpoint = std::numeric_limits<double>::infinity();
constexpr double period_part = 1.0 / 6;      // of the fastest sine: the longest step
constexpr double jump_resolution = 1e-5;     // of the run: SourceJumps takes a hundredth of it for a moment
constexpr double same_instant = 1e-12;       // relative
constexpr std::int32_t most_members = 1000;  // of a group that are looked at

bool reached(double t, double at) { return at <= t * (1 + same_instant); }

// The fastest sine or cosine of time in these expressions, in rad/s: at the begin of a run or at its end,
// since one with a delay stands still at first.
double fastest_sine(std::span<const Expr> expressions, Expr time, double stop, ExprMap<double> numbers) {
  double omega = 0.0;
  for (Expr node : nodes_of(expressions)) {
    if (node.op() != Op::call || (node.function().name != "sin" && node.function().name != "cos")) continue;
    const Expr slope = derivative(node.args()[0], time);
    numbers[time] = 0.0;
    const auto symbols = symbols_of(std::span(&slope, 1));
    if (!std::all_of(symbols.begin(), symbols.end(), [&](Expr s) { return numbers.contains(s); })) continue;
    for (const double t : {0.0, stop}) {
      numbers[time] = t;
      if (const double value = std::abs(evaluate(slope, numbers)); std::isfinite(value))
        omega = std::max(omega, value);
    }
  }
  return omega;
}

}  // namespace

Breakpoints::Breakpoints(const EquationSystem& system, double interval, double stop)
    : system_(system),
      interval_(interval),
      jumps_(system, jump_resolution * stop, stop, true),
      samples_taken_(system.discrete.size(), 0) {
  Pool& pool = *system.model->pool;
  const Expr t = pool.symbol("t");
  double omega = 0.0;
  for (const Group& group : system.groups) {
    std::vector<Expr> timed;
    for (Expr r : group.residuals)
      if (depends_on(r, t)) timed.push_back(r);
    if (timed.empty()) continue;
    for (std::int32_t m = 0; m < std::min(group.size(), most_members); ++m) {
      ExprMap<double> numbers;
      for (std::size_t p = 0; p < group.parameters.size(); ++p)
        numbers[group.parameters[p]] = group.values[p][m];
      omega = std::max(omega, fastest_sine(timed, t, stop, numbers));
    }
  }
  for (std::size_t index = 0; index < system.discrete.size(); ++index) {
    const Discrete& d = system.discrete[index];
    if (d.every != 0.0 || d.external || !depends_on(d.update, t)) continue;
    omega = std::max(omega, fastest_sine(std::span(&d.update, 1), t, stop, {}));
    auto symbols = discrete_symbols(d.update);
    ExprMap<double> starts;
    for (std::size_t k = 0; symbols && k < symbols->size(); ++k)
      starts[(*symbols)[k].first] = system.discrete[(*symbols)[k].second].start;
    if (!symbols || !time_piece(d.update, 0.0, starts)) find_carriers(d.update);
    if (symbols) timed_.push_back({index, d.update, std::move(*symbols)});
  }
  if (omega > 0.0) longest_ = period_part * 2.0 * std::numbers::pi / omega;
}

std::optional<Breakpoints::Symbols> Breakpoints::discrete_symbols(Expr e) const {
  Symbols found;
  for (Expr s : symbols_of(std::span(&e, 1))) {
    if (s.name() == "t") continue;
    const int k = discrete_of(system_, s);
    if (k < 0) return std::nullopt;
    found.push_back({s, k});
  }
  return found;
}

// The largest parts of a formula that are functions of time in pieces.
void Breakpoints::find_carriers(Expr e) {
  if (!depends_on(e, e.pool().symbol("t"))) return;
  if (auto symbols = discrete_symbols(e)) {
    ExprMap<double> starts;
    for (const auto& [symbol, k] : *symbols) starts[symbol] = system_.discrete[k].start;
    if (const auto piece = time_piece(e, 0.0, starts)) {
      if (std::isfinite(piece->until)) carriers_.push_back({e, std::move(*symbols)});
      return;
    }
  }
  for (Expr part : e.args()) find_carriers(part);
}

double Breakpoints::next_timed(double t, std::span<const double> held) {
  if (timed_known_ && std::min(timed_next_, kink_next_) > t) return std::min(timed_next_, kink_next_);
  timed_known_ = true;
  timed_next_ = kink_next_ = no_breakpoint;
  const double from = t + 1e-14 * t;  // the piece just after t: a change at t itself is behind
  ExprMap<double> numbers;
  const auto end_of_piece = [&](Expr value, const Symbols& symbols) {
    numbers.clear();
    for (const auto& [symbol, k] : symbols) numbers[symbol] = held[k];
    const auto piece = time_piece(value, from, numbers);
    return piece && piece->until > from ? piece->until : no_breakpoint;
  };
  for (const Timed& timed : timed_)
    timed_next_ = std::min(timed_next_, end_of_piece(timed.update, timed.symbols));
  for (const Carrier& carrier : carriers_) {
    const double until = end_of_piece(carrier.value, carrier.symbols);
    if (until == no_breakpoint) continue;
    Expr time = system_.model->pool->symbol("t");
    const auto value = [&](double at) {
      numbers[time] = at;
      return evaluate(carrier.value, numbers);
    };
    const double before = value(until * (1 - 1e-10)), after = value(until * (1 + 1e-10));
    const bool jumps = std::abs(after - before) > 1e-6 * (std::abs(after) + std::abs(before));
    double& next = jumps ? timed_next_ : kink_next_;
    next = std::min(next, until);
  }
  return std::min(timed_next_, kink_next_);
}

double Breakpoints::next(double t, std::span<const double> held) {
  while (reached(t, jumps_.next())) jumps_.pass();
  double at = std::min(jumps_.next(), next_timed(t, held));
  for (std::size_t k = 0; k < samples_taken_.size(); ++k)
    if (const double every = system_.discrete[k].interval(interval_); every > 0.0)
      at = std::min(at, every * static_cast<double>(samples_taken_[k] + 1));
  return at;
}

bool Breakpoints::jumps(double t) const { return reached(t, jumps_.next()) && jumps_.jumps(); }
bool Breakpoints::changes(double t) const { return samples(t) || reached(t, timed_next_); }

bool Breakpoints::is_due(std::size_t discrete, double t) const {
  const double every = system_.discrete[discrete].interval(interval_);
  return every > 0.0 && reached(t, every * static_cast<double>(samples_taken_[discrete] + 1));
}

bool Breakpoints::is_timed(std::size_t discrete) const {
  return std::any_of(timed_.begin(), timed_.end(),
                     [&](const Timed& timed) { return timed.discrete == discrete; });
}

bool Breakpoints::samples(double t) const {
  for (std::size_t k = 0; k < samples_taken_.size(); ++k)
    if (is_due(k, t)) return true;
  return false;
}

void Breakpoints::pass(double t) {
  while (reached(t, jumps_.next())) jumps_.pass();
  for (std::size_t k = 0; k < samples_taken_.size(); ++k)
    while (is_due(k, t)) ++samples_taken_[k];
}

}  // namespace tellegen
