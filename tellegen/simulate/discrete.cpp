#include "tellegen/simulate/discrete.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tellegen {

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

namespace {

// `kinks`: those of functions that have a corner and no jump as well.
std::vector<Expr> quantities_of(std::span<const Expr> expressions, bool kinks) {
  std::vector<Expr> quantities;
  const auto watch = [&](Expr e) {
    if (std::find(quantities.begin(), quantities.end(), e) == quantities.end()) quantities.push_back(e);
  };
  for (Expr node : nodes_of(expressions)) {
    if (node.op() != Op::call) continue;
    const auto name = node.function().name;
    const auto args = node.args();
    const bool corner = name == "min" || name == "max" || name == "abs";
    if (corner && !kinks) continue;
    if (name == "lt" || name == "le" || name == "gt" || name == "ge" || name == "min" || name == "max")
      for (std::size_t i = 0; i < args.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) watch(args[j] - args[i]);
    if (name == "abs" || name == "sign") watch(args[0]);
    // Zero at every whole number; of the rest of two, so that rounding does not move the zeros of large ones.
    Pool& pool = node.pool();
    const auto whole = [&](Expr x) {
      const Expr rest = pool.call("mod", {x + pool.number(1), pool.number(2)}) - pool.number(1);
      watch(pool.call("sin", {pool.number(std::acos(-1.0)) * rest}));
    };
    if (name == "floor" || name == "ceil") whole(args[0]);
    if (name == "mod") whole(args[0] / args[1]);
  }
  return quantities;
}

}  // namespace

std::vector<Expr> switching_quantities(std::span<const Expr> expressions) {
  return quantities_of(expressions, true);
}
std::vector<Expr> jumping_quantities(std::span<const Expr> expressions) {
  return quantities_of(expressions, false);
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
    every_.push_back(d.interval(step));
    empty_ = empty_ && d.external;
    // Of an imported FMU the component is named, once.
    const std::size_t hidden = d.name.find(".~");
    if (hidden != std::string::npos && !d.name.ends_with(".~clock")) continue;
    if (d.every > 0.0 && d.interval(step) < step * (1 - 1e-9))
      faults.push_back({{system.model->file.string(), 0},
                        "T319",
                        fmt::format("'{}' is sampled every {:g} s, the step is {:g} s",
                                    d.name.substr(0, hidden), d.every, step),
                        {"choose a step that is not longer than the sample time"}});
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  each_.resize(every_.size());
  taken_.resize(every_.size());
  tellegen_schedule schedule = view();
  tellegen_schedule_start(&schedule);
}

tellegen_schedule Schedule::view() {
  return {.size = static_cast<int>(every_.size()),
          .step = step_,
          .every = every_.data(),
          .each = each_.data(),
          .next_due = &next_due_,
          .taken = taken_.data(),
          .taken_count = 0,
          .chatter = -1,
          .chatter_index = 0};
}

bool Schedule::take(std::int64_t index, std::span<const double> updates, std::span<double> held) {
  tellegen_schedule schedule = view();
  const bool changed = tellegen_schedule_take(&schedule, index, updates.data(), held.data()) != 0;
  taken_count_ = static_cast<std::size_t>(schedule.taken_count);
  if (chatter_.empty()) chatter_ = chatter_text(system_, schedule);
  return changed;
}

std::string chatter_text(const EquationSystem& system, const tellegen_schedule& schedule) {
  if (schedule.chatter < 0) return {};
  return fmt::format(
      "'{}' changes in every step from t = {:.6g} s on: it chatters", system.discrete[schedule.chatter].name,
      schedule.step * static_cast<double>(schedule.chatter_index - TELLEGEN_CHATTERING_STEPS + 1));
}

}  // namespace tellegen
