#include "tellegen/equations/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/symbolic/print.h"

namespace tellegen {

int component_of_row(const EquationSystem& system, std::int32_t row) {
  if (row < system.node_columns) return -1;
  for (const Group& group : system.groups) {
    const auto equations = static_cast<std::int32_t>(group.residuals.size());
    // Members are in the order of their components, and so are their rows.
    const auto after = std::upper_bound(group.first_row.begin(), group.first_row.end(), row);
    if (after == group.first_row.begin()) continue;
    const auto m = after - group.first_row.begin() - 1;
    if (row < group.first_row[m] + equations) return group.components[m];
  }
  return -1;
}

Place place_of_row(const EquationSystem& system, std::int32_t row) {
  const Model& model = *system.model;
  if (const int c = component_of_row(system, row); c >= 0) return model.components[c].place;
  if (row >= system.node_columns) return {model.file.string(), 0};
  return {model.file.string(), model.nodes[system.graph.model_node[row + 1]].line};
}

std::string described_column(const EquationSystem& system, std::int32_t column) {
  constexpr std::size_t most = 4;
  const Model& model = *system.model;
  const std::string name = "'" + column_name(system, column) + "'";
  if (!system.names.empty()) return name;
  if (column >= system.node_columns) {
    const int c = owner_of(system, column).component;
    return fmt::format("{} (line {})", name, model.components[c].place.line);
  }
  std::vector<int> there;
  for (const GraphEdge& e : system.graph.edges)
    if ((e.from.value == column + 1 || e.to.value == column + 1) &&
        (there.empty() || there.back() != e.component))
      there.push_back(e.component);
  std::string list;
  for (std::size_t k = 0; k < there.size() && k < most; ++k)
    list += fmt::format("{}'{}' in line {}", k == 0 ? "" : ", ", model.components[there[k]].name,
                        model.components[there[k]].place.line);
  if (there.size() > most) list += ", ...";
  return fmt::format("{} (node of {})", name, list);
}

std::string described_component(const Model& model, int component) {
  const Component& c = model.components[component];
  const std::string formulas = formulas_of(model, c);
  return fmt::format("'{}' (line {}{}{})", c.name, c.place.line, formulas.empty() ? "" : ", ", formulas);
}

std::string described_symbol(const EquationSystem& system, int group, std::int32_t member, int symbol) {
  const Group& g = system.groups[group];
  const LocalSymbol& s = g.symbols[symbol];
  const int c = g.components[member];
  const std::int32_t column = g.plus[symbol][member];
  if (c < 0) return column < 0 ? "'" + s.symbol.name() + "'" : "'" + column_name(system, column) + "'";
  const bool own = s.what != LocalSymbol::What::external && s.what != LocalSymbol::What::node;
  const std::int32_t other = column < 0 ? g.minus[symbol][member] : column;
  const std::string owner = described_component(*system.model, c);
  if (own || other < 0)
    return fmt::format("'{}.{}' of {}", system.model->components[c].name, s.symbol.name(), owner);
  return fmt::format("'{}' in {}", column_name(system, other), owner);
}

namespace {

// Parts are shared, and each would be written out wherever it stands: a formula of a mechanism can be longer
// than any memory.
bool can_be_read(Expr formula) {
  constexpr double longest = 500;  // numbers and symbols
  ExprMap<double> length;
  for (Expr node : nodes_of(std::span(&formula, 1))) {
    double sum = node.args().empty() ? 1 : 0;
    for (Expr arg : node.args()) sum += length.at(arg);
    length[node] = sum;
  }
  return length.at(formula) <= longest;
}

}  // namespace

std::string formulas_of(const Model& model, const Component& component) {
  std::string text;
  const auto& parameters = model.kinds[component.kind].parameters;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    if (const ParameterValue& v = component.values[k]; v.value && !v.constant && !v.value.is_number() &&
                                                       !parameters[k].name.starts_with('~') &&
                                                       can_be_read(v.value))
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", parameters[k].name, to_text(v.value));
  return text;
}

}  // namespace tellegen
