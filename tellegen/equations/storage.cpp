#include "tellegen/equations/storage.h"

#include <algorithm>

#include "tellegen/equations/coupling.h"

namespace tellegen {

bool RedundantRate::follows_a_source() const {
  return drive || std::any_of(terms.begin(), terms.end(), [](const Term& term) { return term.rate < 0; });
}

std::int32_t Storage::state_count() const {
  return static_cast<std::int32_t>(std::count(is_state.begin(), is_state.end(), 1));
}

Storage analyse_storage(const EquationSystem& system) {
  Storage storage;
  storage.is_state.assign(system.rates.size(), 1);
  // Rate of an edge's across or through, where it has one.
  std::vector<std::int32_t> rate_of_edge(system.graph.edge_count(), -1);
  std::vector<EdgeIndex> edge_of_rate(system.rates.size(), EdgeIndex{-1});
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.rates.size()); ++k) {
    const Rate& r = system.rates[k];
    const Group& group = system.groups[r.group];
    const LocalSymbol& s = group.symbols[r.symbol];
    if (s.what != LocalSymbol::What::across && s.what != LocalSymbol::What::through) continue;
    const EdgeIndex edge{system.graph.first_edge[group.components[r.member]] + s.index};
    const bool across = s.what == LocalSymbol::What::across;
    const EdgeClass edge_class = system.graph.edges[edge.value].edge_class;
    if (across != (edge_class == EdgeClass::across_storage)) continue;
    rate_of_edge[edge.value] = k;
    edge_of_rate[k] = edge;
  }
  std::vector<RedundantRate> follow_controlled;
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.rates.size()); ++k) {
    const EdgeIndex edge = edge_of_rate[k];
    if (edge.value < 0) continue;
    const bool across = system.graph.edges[edge.value].edge_class == EdgeClass::across_storage;
    if (across == static_cast<bool>(system.tree.is_branch[edge.value])) continue;
    storage.is_state[k] = 0;
    RedundantRate redundant{k, {}, {}, {}};
    const auto path =
        across ? circuit_of(system.graph, system.tree, edge) : cutset_of(system.graph, system.tree, edge);
    for (const SignedEdge& e : path)
      redundant.terms.push_back({rate_of_edge[e.edge.value], e.edge, static_cast<double>(e.sign)});
    // A source that depends on other variables tells no rate. Linear ones are found with the couplings.
    const bool controlled =
        std::any_of(redundant.terms.begin(), redundant.terms.end(),
                    [&](const auto& term) { return term.rate < 0 && !source_rate(system, term.source); });
    if (controlled) storage.is_state[k] = 1;
    (controlled ? follow_controlled : storage.redundant).push_back(std::move(redundant));
  }
  std::vector<std::int32_t> last;
  for (const RedundantRate& r : follow_controlled) last.push_back(r.rate);
  add_couplings(system, storage, last);
  for (RedundantRate& r : follow_controlled)
    if (storage.is_state[r.rate]) {
      storage.is_state[r.rate] = 0;
      storage.redundant.push_back(std::move(r));
    }
  return storage;
}

namespace {

// The equation of a source's edge, where nothing else stands in it: residual and the symbol of the source.
struct SourceEquation {
  Expr residual, symbol;
};

SourceEquation source_equation(const EquationSystem& system, EdgeIndex edge) {
  const GraphEdge& e = system.graph.edges[edge.value];
  const Group& group = system.groups[system.group_of[e.component]];
  const auto wanted =
      e.edge_class == EdgeClass::across_source ? LocalSymbol::What::across : LocalSymbol::What::through;
  Expr symbol;
  for (const LocalSymbol& s : group.symbols)
    if (s.what == wanted && s.index == e.edge) symbol = s.symbol;
  for (Expr r : group.residuals) {
    if (!depends_on(r, symbol)) continue;
    for (const LocalSymbol& s : group.symbols)
      if (s.symbol != symbol && depends_on(r, s.symbol)) return {};
    return {r, symbol};
  }
  return {};
}

Expr with_numbers_of(const EquationSystem& system, EdgeIndex edge, Expr formula) {
  if (!formula) return {};
  const int component = system.graph.edges[edge.value].component;
  const Group& group = system.groups[system.group_of[component]];
  ExprMap<Expr> numbers;
  for (std::size_t p = 0; p < group.parameters.size(); ++p)
    numbers[group.parameters[p]] = formula.pool().number(group.values[p][system.member_of[component]]);
  return substitute(formula, numbers);
}

}  // namespace

Expr source_rate_formula(const EquationSystem& system, EdgeIndex edge) {
  const auto [r, symbol] = source_equation(system, edge);
  if (!r) return {};
  const int component = system.graph.edges[edge.value].component;
  return -derivative(r, system.groups[system.group_of[component]].time) / derivative(r, symbol);
}

Expr source_rate(const EquationSystem& system, EdgeIndex edge) {
  return with_numbers_of(system, edge, source_rate_formula(system, edge));
}

Expr source_value(const EquationSystem& system, EdgeIndex edge) {
  const auto [r, symbol] = source_equation(system, edge);
  if (!r) return {};
  const Expr rest = substitute(r, {{symbol, r.pool().number(0.0)}});
  return with_numbers_of(system, edge, -rest / derivative(r, symbol));
}

}  // namespace tellegen
