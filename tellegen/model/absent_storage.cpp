#include "tellegen/model/absent_storage.h"

#include <map>
#include <set>

namespace tellegen {
namespace {

std::set<Expr> rates_of(Expr residual) {
  std::set<Expr> rates;
  for (Expr symbol : symbols_of(std::span(&residual, 1)))
    if (symbol.name().starts_with("der(")) rates.insert(symbol);
  return rates;
}

// Positions of the parameters that stand in an equation with a time derivative and may be zero.
std::vector<std::size_t> candidates(const Kind& kind) {
  std::set<std::string_view> beside_a_rate;
  for (const KindEquation& equation : kind.equations)
    if (!rates_of(equation.residual).empty())
      for (Expr symbol : symbols_of(std::span(&equation.residual, 1))) beside_a_rate.insert(symbol.name());
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
    const KindParameter& p = kind.parameters[k];
    if (beside_a_rate.contains(p.name) && !p.table && broken_bound(p, 0.0).empty()) found.push_back(k);
  }
  return found;
}

// The kind with these parameters zero; its own equations where no time derivative is lost.
Kind variant(Pool& pool, Kind kind, const std::vector<std::size_t>& zeros, bool& changed) {
  ExprMap<Expr> zero;
  for (std::size_t k : zeros) zero[pool.symbol(kind.parameters[k].name)] = pool.number(0.0);
  changed = false;
  for (KindEquation& equation : kind.equations) {
    const auto before = rates_of(equation.residual);
    if (before.empty()) continue;
    const Expr residual = substitute(equation.residual, zero);
    if (rates_of(residual) == before) continue;
    equation.residual = residual;
    changed = true;
  }
  return kind;
}

}  // namespace

void drop_absent_storage(Model& model) {
  std::vector<std::vector<std::size_t>> may_be_zero;
  for (const Kind& kind : model.kinds) may_be_zero.push_back(candidates(kind));
  std::map<std::pair<int, std::vector<std::size_t>>, int> variants;
  std::vector<std::size_t> zeros;
  for (Component& component : model.components) {
    zeros.clear();
    for (std::size_t k : may_be_zero[component.kind]) {
      const ParameterValue& v = component.values[k];
      if (v.value && v.constant && v.number == 0.0) zeros.push_back(k);
    }
    if (zeros.empty()) continue;
    const auto [found, is_new] = variants.try_emplace({component.kind, zeros}, component.kind);
    if (is_new) {
      bool changed = false;
      Kind kind = variant(*model.pool, model.kinds[component.kind], zeros, changed);
      if (changed) {
        found->second = static_cast<int>(model.kinds.size());
        model.kinds.push_back(std::move(kind));
      }
    }
    component.kind = found->second;
  }
}

}  // namespace tellegen
