#include "tellegen/simulate/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/equations/delayed.h"
#include "tellegen/model/fault.h"
#include "tellegen/simulate/curve.h"
#include "tellegen/simulate/discrete.h"

namespace tellegen {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double counts =
    1e-4;  // of the tolerance: a smaller jump is no breakpoint, and none that a small state sees
constexpr double accuracy = 0.1;          // of the history, of the tolerance
constexpr double least_magnitude = 1e-6;  // of a wave, of the largest: below it there is rounding
constexpr double same_time = 32 * std::numeric_limits<double>::epsilon();  // relative

std::vector<std::int32_t> delayed(const EquationSystem& system) {
  std::vector<std::int32_t> found;
  for (std::size_t k = 0; k < system.discrete.size(); ++k)
    if (is_delayed(system.discrete[k].update)) found.push_back(static_cast<std::int32_t>(k));
  return found;
}

const Component& owner(const EquationSystem& system, const Discrete& d) {
  return system.model->components[system.groups[d.group].components[d.member]];
}

// Which discrete variable says that it is at rest.
int rest_of(const EquationSystem& system, const Discrete& d) {
  const Expr resting = d.update.args()[2];
  return resting.is_symbol() ? discrete_of(system, resting) : -1;
}

bool uses_delay(std::span<const Expr> expressions) {
  const auto nodes = nodes_of(expressions);
  return std::any_of(nodes.begin(), nodes.end(), [](Expr e) { return is_delayed(e); });
}

double time_of(const EquationSystem& system, const Discrete& d) {
  const Expr time = d.update.args()[1];
  const double value = symbols_of(std::span(&time, 1)).empty() ? evaluate(time, {}) : 0.0;
  if (value > 0.0 && rest_of(system, d) >= 0) return value;
  throw ModelError(
      {owner(system, d).place,
       "T322",
       fmt::format("the delay of '{}' is not a positive number", d.name),
       {"it is written delayed(x, T, resting), with a constant T and a discrete variable that is "
        "its own update"}});
}

}  // namespace

bool has_delays(const EquationSystem& system) { return !delayed(system).empty(); }

void refuse_delays(const EquationSystem& system, std::string_view method, std::span<const Expr> formulas) {
  const auto refuse = [&](Place place, std::string message, std::string advice) {
    throw ModelError({std::move(place), "T322", std::move(message), {std::move(advice)}});
  };
  const std::string where = "delayed() is the whole update of a discrete variable, or nothing";
  for (const Group& group : system.groups)
    if (uses_delay(group.residuals))
      refuse(system.model->components[group.components[0]].place,
             fmt::format("an equation of '{}' uses delayed()",
                         system.model->components[group.components[0]].name),
             where);
  for (const Discrete& d : system.discrete) {
    const auto args = d.update.args();
    if (is_delayed(d.update) ? uses_delay(args) : uses_delay(std::span(&d.update, 1)))
      refuse(owner(system, d).place, fmt::format("delayed() is within the update of '{}'", d.name), where);
  }
  if (uses_delay(formulas)) refuse({system.model->file.string(), 0}, "an output uses delayed()", where);
  const auto found = delayed(system);
  if (found.empty() || method == "adaptive") return;
  const Discrete& d = system.discrete[found[0]];
  refuse(owner(system, d).place,
         fmt::format("'{}' has a delay ({}), which {} does not have", owner(system, d).name, d.name, method),
         "only 'simulate' with method adaptive, the default without a step, keeps the history that it needs");
}

void begin_delays(const EquationSystem& system, std::span<const double> updates, std::span<double> held,
                  std::span<double> x) {
  const auto found = delayed(system);
  const auto set = [&](std::int32_t k, double value) {
    held[k] = value;
    if (system.discrete[k].column >= 0) x[system.discrete[k].column] = value;
  };
  for (const std::int32_t k : found)
    if (const int rest = rest_of(system, system.discrete[k]); rest >= 0 && held[rest] != 0.0)
      set(k, updates[k]);
  for (const std::int32_t k : found)
    if (const int rest = rest_of(system, system.discrete[k]); rest >= 0) set(rest, 0.0);
}

Delays::Delays(const EquationSystem& system, std::span<const double> held, double tolerance)
    : of_(delayed(system)),
      largest_(of_.size(), 0.0),
      shortest_(never),
      tolerance_(tolerance),
      arrivals_(of_.size()),
      values_(held.size()),
      left_(of_.size()) {
  for (const std::int32_t k : of_) {
    delay_.push_back(time_of(system, system.discrete[k]));
    start_.push_back(held[k]);
    shortest_ = std::min(shortest_, delay_.back());
    longest_ = std::max(longest_, delay_.back());
  }
}

double Delays::next_jump(double t) const {
  double next = never;
  for (const auto& arrivals : arrivals_)
    if (const auto at = std::upper_bound(arrivals.begin(), arrivals.end(), t * (1 + same_time));
        at != arrivals.end())
      next = std::min(next, *at);
  return next;
}

bool Delays::jumps(double t) const {
  return std::any_of(arrivals_.begin(), arrivals_.end(), [&](const auto& arrivals) {
    const auto at = std::lower_bound(arrivals.begin(), arrivals.end(), t * (1 - same_time));
    return at != arrivals.end() && *at <= t * (1 + same_time);
  });
}

double Delays::departed(std::size_t wave, double t) const {
  for (auto part = history_.rbegin(); part != history_.rend(); ++part)
    if (!part->empty() && t >= part->begin()) return Curve(*part, wave).value(std::min(t, part->end()));
  return start_[wave];
}

void Delays::arrive(double t, bool behind, std::span<double> held) const {
  const double slack = behind ? same_time * t : 0.0;
  for (std::size_t wave = 0; wave < of_.size(); ++wave) {
    double left = t - delay_[wave];
    const auto jump = std::lower_bound(jumps_.begin(), jumps_.end(), left,
                                       [](const Jump& j, double at) { return j.to <= at; });
    // Within the instant of a jump it is behind it.
    if (jump != jumps_.end() && left > jump->from - slack) left = jump->to;
    held[of_[wave]] = departed(wave, left);
  }
}

void Delays::add_step(double from, double to, const Updates& updates) {
  if (!(to > from)) return;
  const bool first = history_.empty();
  const double before = first ? from : history_.back().end();
  // A step that was taken back is added again, from an earlier time.
  const bool jumps = first || from > before;
  for (std::size_t wave = 0; jumps && wave < of_.size(); ++wave) left_[wave] = departed(wave, before);
  const bool fresh = first || history_.back().end() - history_.back().begin() > longest_;
  // Relative to what a wave has ever been: one that rests is no worse known for its rounding.
  std::vector<double> magnitudes = largest_;
  const double least = largest_.empty() ? 0.0 : least_magnitude * *std::ranges::max_element(largest_);
  for (double& magnitude : magnitudes) magnitude = std::max(magnitude, least);
  RunCurves own(of_.size(), accuracy * tolerance_, std::move(magnitudes));
  RunCurves& part = fresh ? own : history_.back();
  part.add_step(from, to, [&](double t, double* values) {
    if (!updates(t, values_)) return false;
    for (std::size_t wave = 0; wave < of_.size(); ++wave) values[wave] = values_[of_[wave]];
    return true;
  });
  if (fresh && !own.empty()) history_.push_back(std::move(own));
  if (!history_.empty() && history_.back().empty()) history_.pop_back();
  if (history_.empty()) return;
  for (std::size_t wave = 0; wave < of_.size(); ++wave)
    largest_[wave] = std::max(largest_[wave], history_.back().largest(wave));
  if (jumps) {
    jumps_.push_back({before, from});
    for (std::size_t wave = 0; wave < of_.size(); ++wave)
      if (std::abs(departed(wave, from) - left_[wave]) > counts * tolerance_ * largest_[wave])
        arrivals_[wave].push_back(before + delay_[wave]);
  }
  // What nobody asks for any more.
  while (history_.size() > 1 && history_[1].begin() < from - longest_) history_.pop_front();
  while (!jumps_.empty() && jumps_.front().to < from - 2 * longest_) jumps_.pop_front();
  for (auto& arrivals : arrivals_)
    while (!arrivals.empty() && arrivals.front() < from - longest_) arrivals.pop_front();
}

}  // namespace tellegen
