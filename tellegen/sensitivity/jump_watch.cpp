#include "tellegen/sensitivity/jump_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tellegen/equations/slopes.h"
#include "tellegen/symbolic/print.h"
#include "tellegen/symbolic/walk.h"

namespace tellegen {
namespace {

constexpr std::size_t most = 200;  // choices looked at in every step; a network of thousands of them is not

// What is constant between the jumps of such a function; none: it does not jump.
Expr stairs(Expr node) {
  const auto name = node.function().name;
  if (name == "lt" || name == "le" || name == "gt" || name == "ge" || name == "sign" || name == "floor" ||
      name == "ceil")
    return node;
  return name == "mod" ? node.pool().call("floor", {node.args()[0] / node.args()[1]}) : Expr();
}

// Whether a formula in columns changes with the run at all, and with what moves in the study. A discrete
// variable changes at events, whose times are differentiated; only where a parameter is in the formula too
// can it change elsewhere.
bool moves(const EquationSystem& system, Expr quantity, std::span<const int> wrt) {
  const ColumnValue value = column_value(system, quantity, wrt);
  const auto symbols = symbols_of(std::span(&value.value, 1));
  const auto is_discrete = [&](Expr s) {
    return std::any_of(system.discrete.begin(), system.discrete.end(), [&](const Discrete& d) {
      return d.column >= 0 && s == column_symbol(system, d.column);
    });
  };
  const bool of_time = std::any_of(symbols.begin(), symbols.end(), [](Expr s) { return s.name() == "t"; });
  const bool of_others =
      std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return s.name() != "t" && !is_discrete(s); });
  const bool of_discrete = std::any_of(symbols.begin(), symbols.end(), is_discrete);
  return of_others || !value.by_parameter.empty() || (of_time && of_discrete);
}

}  // namespace

JumpWatch::JumpWatch(const EquationSystem& system, std::span<const int> wrt) {
  const Model& model = *system.model;
  std::vector<Expr> formulas;
  const auto add = [&](Expr value, const std::string& where) {
    const Expr written = expand_names(model, value);
    const auto nodes = nodes_of(std::span(&written, 1));
    std::vector<Expr> conditions;
    for (Expr node : nodes)
      if (node.op() == Op::call && node.function().name == "if") conditions.push_back(node.args()[0]);
    const auto decide = nodes_of(conditions);  // these jump where their `if` does
    for (Expr node : nodes) {
      if (node.op() != Op::call) continue;
      const auto symbols = symbols_of(std::span(&node, 1));
      if (std::any_of(symbols.begin(), symbols.end(), [](Expr s) { return s.name().starts_with("der("); }))
        continue;
      if (const Expr level = stairs(node);
          level && std::find(decide.begin(), decide.end(), node) == decide.end()) {
        if (choices_.size() >= most || !moves(system, level, wrt)) continue;
        choices_.push_back({fmt::format("{} of {}", to_text(node), where), false});
        formulas.insert(formulas.end(),
                        {in_columns(system, level), model.pool->number(1), model.pool->number(0)});
        choices_.back().stairs = true;
      }
      if (node.function().name != "if") continue;
      const Expr condition = node.args()[0];
      for (Expr quantity : switching_quantities(std::span(&condition, 1))) {
        if (choices_.size() >= most || !moves(system, quantity, wrt)) continue;
        choices_.push_back({fmt::format("{} of {}", to_text(condition), where), false});
        formulas.insert(formulas.end(), {in_columns(system, quantity), in_columns(system, node.args()[1]),
                                         in_columns(system, node.args()[2])});
      }
    }
  };
  for (std::size_t c = 0; c < model.components.size(); ++c) {
    const Component& component = model.components[c];
    const Kind& kind = model.kinds[component.kind];
    for (const ParameterValue& v : component.values)
      if (v.value && !v.constant) add(v.value, "'" + component.name + "'");
    for (const KindEquation& q : kind.equations)
      if (choices_.size() < most) {
        const auto symbols = symbols_of(std::span(&q.residual, 1));
        if (std::none_of(symbols.begin(), symbols.end(),
                         [](Expr s) { return s.name().starts_with("held("); }))
          add(in_full_names(model, static_cast<int>(c), q.residual), "'" + component.name + "'");
      }
  }
  formulas_ = std::make_unique<ColumnFormulas>(system, formulas);
  now_.resize(formulas.size());
}

std::vector<std::string> JumpWatch::names() const {
  std::vector<std::string> list;
  for (const Choice& c : choices_)
    if (std::find(list.begin(), list.end(), c.where) == list.end()) list.push_back(c.where);
  return list;
}

void JumpWatch::look(std::span<const double> x, double t) {
  if (choices_.empty()) return;
  before_ = now_;
  formulas_->evaluate(x, t, now_.data());
  if (!std::exchange(began_, true)) return;
  for (std::size_t k = 0; k < choices_.size(); ++k) {
    const double *was = &before_[3 * k], *is = &now_[3 * k];
    if (choices_[k].said || (choices_[k].stairs ? was[0] == is[0] : (was[0] > 0) == (is[0] > 0))) continue;
    if (!(std::abs(is[1] - is[2]) > 1e-9 * (std::abs(is[1]) + std::abs(is[2]))))
      continue;  // it does not jump
    choices_[k].said = true;
    warnings_.push_back(
        fmt::format("{} switches at about t = {:.6g} s, between two steps: derivatives leave out that "
                    "parameters move this "
                    "time; method adaptive has it, and so has a discrete variable",
                    choices_[k].where, t));
  }
}

}  // namespace tellegen
