#include "tellegen/simulate/discrete.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tellegen {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t chattering_steps = 50;  // changes in as many steps on end

}  // namespace

std::vector<Expr> update_expressions(const EquationSystem& system) {
  std::vector<Expr> updates;
  for (const Discrete& d : system.discrete) updates.push_back(d.update);
  return updates;
}

int discrete_of(const EquationSystem& system, Expr symbol) {
  for (std::size_t k = 0; k < system.discrete.size(); ++k)
    if (symbol == discrete_symbol(system, static_cast<int>(k)) ||
        (system.discrete[k].column >= 0 && symbol == column_symbol(system, system.discrete[k].column)))
      return static_cast<int>(k);
  return -1;
}

std::vector<Expr> switching_quantities(std::span<const Expr> expressions) {
  std::vector<Expr> quantities;
  const auto watch = [&](Expr e) {
    if (std::find(quantities.begin(), quantities.end(), e) == quantities.end()) quantities.push_back(e);
  };
  for (Expr node : nodes_of(expressions)) {
    if (node.op() != Op::call) continue;
    const auto name = node.function().name;
    const auto args = node.args();
    if (name == "lt" || name == "le" || name == "gt" || name == "ge" || name == "min" || name == "max")
      for (std::size_t i = 0; i < args.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) watch(args[j] - args[i]);
    if (name == "abs" || name == "sign") watch(args[0]);
    // Zero at every whole number.
    Pool& pool = node.pool();
    if (name == "floor" || name == "ceil") watch(pool.call("sin", {pool.number(std::acos(-1.0)) * args[0]}));
    if (name == "mod") watch(pool.call("sin", {pool.number(std::acos(-1.0)) * args[0] / args[1]}));
  }
  return quantities;
}

ColumnFormulas::ColumnFormulas(const EquationSystem& system, std::span<const Expr> formulas) {
  Pool& pool = *system.model->pool;
  std::vector<ProgramInput> inputs{{pool.symbol("t"), 0}};
  for (Expr s : symbols_of(formulas)) {
    if (s.name() == "t") continue;
    inputs.push_back({s, 0});
    columns_.push_back(static_cast<std::int32_t>(std::stol(s.name().substr(1))));
  }
  std::vector<ProgramRoot> roots;
  for (Expr f : formulas) roots.push_back({f, 0});
  program_ = make_program(pool, inputs, {}, roots, 1);
  registers_.resize(program_.registers);
}

void ColumnFormulas::evaluate(std::span<const double> x, double t, double* values) {
  registers_[0] = t;
  for (std::size_t k = 0; k < columns_.size(); ++k) registers_[k + 1] = x[columns_[k]];
  interpret(program_, 0, registers_.data());
  for (std::int32_t root : program_.roots) *values++ = registers_[root];
}

Schedule::Schedule(const EquationSystem& system, double step) : system_(system), step_(step) {
  std::vector<Fault> faults;
  for (const Discrete& d : system.discrete) {
    count_.push_back(0);
    empty_ = empty_ && d.external;
    due_.push_back(d.every > 0.0 ? 0 : never);
    if (d.every > 0.0 && d.every < step * (1 - 1e-9))
      faults.push_back(
          {{system.model->file.string(), 0},
           "T319",
           fmt::format("'{}' is sampled every {:g} s, the step is {:g} s", d.name, d.every, step),
           {"choose a step that is not longer than the sample time"}});
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  last_change_.assign(system.discrete.size(), -2);
  taken_.reserve(system.discrete.size());
  runs_.assign(system.discrete.size(), 0);
  find_next();
}

// The first step after the last that ends at or after the next multiple of a sample time.
void Schedule::find_next() {
  const std::int64_t done = next_due_;
  next_due_ = never;
  for (std::size_t k = 0; k < due_.size(); ++k) {
    if (due_[k] == never) continue;
    while (due_[k] <= done) {
      const double time = static_cast<double>(++count_[k]) * system_.discrete[k].every;
      due_[k] = static_cast<std::int64_t>(std::ceil(time / step_ - 1e-6));
    }
    next_due_ = std::min(next_due_, due_[k]);
  }
}

bool Schedule::take(std::int64_t index, std::span<const double> updates, std::span<double> held) {
  bool changed = false;
  taken_.clear();
  for (std::size_t k = 0; k < updates.size(); ++k) {
    const bool sampled = due_[k] != never;
    if (sampled && due_[k] != index) continue;
    if (sampled || differs(updates[k], held[k])) taken_.push_back(static_cast<int>(k));
    if (!differs(updates[k], held[k])) continue;
    held[k] = updates[k];
    changed = true;
    if (sampled) continue;
    runs_[k] = last_change_[k] >= index - 1 ? runs_[k] + 1 : 1;
    last_change_[k] = index;
    if (runs_[k] == chattering_steps && chatter_.empty())
      chatter_ =
          fmt::format("'{}' changes in every step from t = {:.6g} s on: it chatters",
                      system_.discrete[k].name, step_ * static_cast<double>(index - chattering_steps + 1));
  }
  if (index == next_due_) find_next();
  return changed;
}

}  // namespace tellegen
