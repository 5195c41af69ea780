#include "tellegen/sensitivity/known_values.h"

#include <algorithm>
#include <span>

namespace tellegen {

KnownValues::KnownValues(const Model& model, const SymbolicModel& symbolic, const ExprMap<int>& unknown) {
  Pool& pool = *model.pool;
  const auto follows_unknown = [&](Expr e) {
    const auto symbols = symbols_of(std::span(&e, 1));
    return std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return unknown.contains(s); });
  };
  for (std::size_t k = 0; k < symbolic.parameters.size(); ++k)
    if (!unknown.contains(symbolic.parameters[k]))
      values_[symbolic.parameters[k]] = pool.number(symbolic.numbers[k]);
  for (const ModelParameter& p : model.parameters)
    if (!unknown.contains(p.symbol))
      values_[p.symbol] = p.value && follows_unknown(put_into(p.value)) ? p.value : pool.number(p.number);
  for (const ModelInput& input : model.inputs)
    if (!unknown.contains(input.symbol)) values_[input.symbol] = input.value;
}

Expr KnownValues::put_into(Expr e) const {
  for (;;) {
    ExprMap<Expr> values;
    for (Expr s : symbols_of(std::span(&e, 1)))
      if (const auto found = values_.find(s); found != values_.end()) values[s] = found->second;
    if (values.empty()) return e;
    e = substitute(e, values);
  }
}

}  // namespace tellegen
