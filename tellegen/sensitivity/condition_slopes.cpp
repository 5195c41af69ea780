#include "tellegen/sensitivity/condition_slopes.h"

namespace tellegen {

ConditionSlopes::ConditionSlopes(const EquationSystem& system, const Conditions& conditions,
                                 std::span<const int> wrt)
    : system_(system),
      conditions_(conditions),
      wrt_(wrt.begin(), wrt.end()),
      slopes_(group_slopes(system, wrt)) {}

void ConditionSlopes::at(int condition, const InitialState& state, double t) {
  const Condition& c = conditions_[condition];
  terms_.clear();
  formula_ = nullptr;
  group_ = c.group;
  member_ = c.member;
  if (c.group < 0) {
    const auto known = formulas_.find(condition);
    formula_ =
        known != formulas_.end()
            ? &known->second
            : &formulas_.emplace(condition, DifferentiatedFormulas(system_, std::span(&c.quantity, 1), wrt_))
                   .first->second;
    formula_->evaluate(state.x, t);
    return;
  }
  // Events are rare: the formula itself is evaluated, no program.
  const Group& group = system_.groups[c.group];
  ExprMap<double> numbers{{group.time, t}};
  std::vector<std::pair<Expr, Term>> inputs{{group.time, {Term::What::time, 0, 0.0}}};
  for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s) {
    numbers[group.symbols[s].symbol] = symbol_value(group, s, c.member, state.x);
    inputs.push_back({group.symbols[s].symbol, {Term::What::symbol, s, 0.0}});
  }
  for (int k = 0; k < static_cast<int>(group.rated.size()); ++k) {
    const Expr rate = group.symbols[group.rated[k]].rate;
    const int index = group.first_rate[c.member] + k;
    numbers[rate] = state.rates[index];
    inputs.push_back({rate, {Term::What::rate, index, 0.0}});
  }
  for (int p = 0; p < static_cast<int>(group.parameters.size()); ++p) {
    numbers[group.parameters[p]] = group.values[p][c.member];
    inputs.push_back({group.parameters[p], {Term::What::parameter, p, 0.0}});
  }
  for (auto& [symbol, term] : inputs) {
    if (!depends_on(c.quantity, symbol)) continue;
    term.slope = evaluate(derivative(c.quantity, symbol), numbers);
    terms_.push_back(term);
  }
}

double ConditionSlopes::along(std::span<const double> dx, std::span<const double> dr, double dt,
                              int parameter) const {
  if (formula_) return formula_->along(0, dx, dt, parameter);
  double total = 0.0;
  for (const Term& term : terms_) switch (term.what) {
      case Term::What::symbol:
        total += term.slope * symbol_value(system_.groups[group_], term.index, member_, dx);
        break;
      case Term::What::rate:
        total += term.slope * dr[term.index];
        break;
      case Term::What::time:
        total += term.slope * dt;
        break;
      case Term::What::parameter:
        if (parameter < 0) break;
        for (const GroupSlope& s : slopes_[parameter])
          if (s.group == group_ && s.member == member_ && s.slot == term.index) total += term.slope * s.slope;
        break;
    }
  return total;
}

}  // namespace tellegen
