// Columns, rows and rates in the model's words.
#include <fmt/format.h>

#include <algorithm>

#include "tellegen/equations/system.h"

namespace tellegen {
namespace {

// Component that owns an internal column: the last one whose first_internal is not beyond it.
int owner_of_internal(const EquationSystem& system, std::int32_t k) {
  const auto after = std::upper_bound(system.first_internal.begin(), system.first_internal.end(), k);
  return static_cast<int>(after - system.first_internal.begin()) - 1;
}

VariableRef ref_of(const EquationSystem& system, std::int32_t column) {
  using What = VariableRef::What;
  if (column < system.node_columns)
    return {.what = What::node, .node = system.graph.model_node[column + 1], .component = -1, .index = -1};
  column -= system.node_columns;
  if (column < system.through_columns) {
    const GraphEdge& e = system.graph.edges[column];
    return {.what = What::through, .node = -1, .component = e.component, .index = e.edge};
  }
  column -= system.through_columns;
  const int c = owner_of_internal(system, column);
  return {.what = What::internal, .node = -1, .component = c, .index = column - system.first_internal[c]};
}

}  // namespace

ColumnOwner owner_of(const EquationSystem& system, std::int32_t column) {
  const VariableRef ref = ref_of(system, column);
  ColumnOwner owner{ref.component, -1, -1};
  if (ref.what == VariableRef::What::node) {
    owner.component = system.model->nodes[ref.node].component;
    if (owner.component < 0) return owner;
    const auto& nodes = system.model->components[owner.component].nodes;
    owner.node = static_cast<int>(std::find(nodes.begin(), nodes.end(), ref.node) - nodes.begin());
    return owner;
  }
  const auto what =
      ref.what == VariableRef::What::through ? LocalSymbol::What::through : LocalSymbol::What::internal;
  const auto& symbols = system.groups[system.group_of[owner.component]].symbols;
  for (int s = 0; s < static_cast<int>(symbols.size()); ++s)
    if (symbols[s].what == what && symbols[s].index == ref.index) owner.symbol = s;
  return owner;
}

std::string column_name(const EquationSystem& system, std::int32_t column) {
  if (!system.names.empty()) return system.names[column];
  return variable_name(*system.model, ref_of(system, column));
}

std::string column_unit(const EquationSystem& system, std::int32_t column) {
  if (!system.names.empty()) return {};
  return variable_unit(*system.model, ref_of(system, column));
}

double column_scale(const EquationSystem& system, std::int32_t column) {
  if (!system.names.empty()) return 1.0;
  const Model& model = *system.model;
  const VariableRef ref = ref_of(system, column);
  switch (ref.what) {
    case VariableRef::What::node:
      return model.domains[model.nodes[ref.node].domain].across_scale;
    case VariableRef::What::through: {
      const Kind& kind = model.kinds[model.components[ref.component].kind];
      return model.domains[kind.edges[ref.index].domain].through_scale;
    }
    default:
      return 1.0;
  }
}

std::string row_name(const EquationSystem& system, std::int32_t row) {
  const Model& model = *system.model;
  if (row < system.node_columns) {
    const int node = system.graph.model_node[row + 1];
    return fmt::format("balance of {} at node '{}'", model.domains[model.nodes[node].domain].through,
                       model.nodes[node].name);
  }
  // Terminal rows are in component order: edges and internal variables before a component are its first row.
  const std::int32_t terminal = row - system.node_columns;
  std::int32_t low = 0, high = static_cast<std::int32_t>(model.components.size()) - 1;
  const auto first = [&](std::int32_t c) { return system.graph.first_edge[c] + system.first_internal[c]; };
  while (low < high) {
    const std::int32_t middle = (low + high + 1) / 2;
    if (first(middle) <= terminal)
      low = middle;
    else
      high = middle - 1;
  }
  const Component& component = model.components[low];
  return fmt::format("'{}' of '{}' ({}, line {})",
                     model.kinds[component.kind].equations[terminal - first(low)].text, component.name,
                     model.kinds[component.kind].name, component.place.line);
}

std::string rate_name(const EquationSystem& system, std::int32_t rate) {
  const Rate& r = system.rates[rate];
  const Group& group = system.groups[r.group];
  const LocalSymbol& s = group.symbols[r.symbol];
  VariableRef ref{.what = VariableRef::What::internal,
                  .node = -1,
                  .component = group.components[r.member],
                  .index = s.index};
  if (s.what == LocalSymbol::What::across) ref.what = VariableRef::What::across;
  if (s.what == LocalSymbol::What::through) ref.what = VariableRef::What::through;
  return variable_name(*system.model, ref);
}

Counts count(const EquationSystem& system) {
  const Model& model = *system.model;
  Counts counts;
  std::vector<char> datum_touched(model.domains.size(), 0);
  for (const GraphEdge& e : system.graph.edges) {
    const Kind& kind = model.kinds[model.components[e.component].kind];
    if (kind.fixes_node) continue;
    ++counts.flows;
    if (e.from == datum_node || e.to == datum_node) datum_touched[kind.edges[e.edge].domain] = 1;
  }
  counts.nodes = system.node_columns + std::count(datum_touched.begin(), datum_touched.end(), 1);
  counts.variables = counts.nodes + counts.flows + system.internal_columns;
  for (const Group& group : system.groups) {
    std::int64_t differential = 0;
    for (Expr r : group.residuals) {
      const auto used = symbols_of(std::span(&r, 1));
      differential += std::any_of(group.rated.begin(), group.rated.end(), [&](int s) {
        return std::find(used.begin(), used.end(), group.symbols[s].rate) != used.end();
      });
    }
    counts.differential += differential * group.size();
  }
  counts.algebraic = counts.variables - counts.differential;
  return counts;
}

}  // namespace tellegen
