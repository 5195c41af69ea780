#include "tellegen/equations/network.h"

#include <algorithm>

namespace tellegen {

bool Network::iterative() const {
  return std::any_of(groups.begin(), groups.end(), [](const NetworkGroup& g) { return g.form.iterative(); });
}

Network build_network(const EquationSystem& system) {
  Network network;
  network.system = &system;
  network.unknown_of.assign(system.size(), -1);
  const auto add_unknown = [&](std::int32_t column) {
    network.unknown_of[column] = network.size();
    network.column_of.push_back(column);
  };
  for (const Group& group : system.groups) network.groups.push_back({condense(system, group), {}, {}});

  // Nodes: all but those that disappeared inside a component.
  const Model* model = system.model;
  std::vector<char> hidden(system.node_columns, 0);
  const auto node_column = [&](const Group& group, std::int32_t m, int kind_node) {
    const int model_node = model->components[group.components[m]].nodes[kind_node];
    return system.node_column(system.graph.graph_node[model_node]);
  };
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    if (group.kind < 0) continue;
    const Kind& kind = model->kinds[group.kind];
    for (int n = kind.port_count; n < static_cast<int>(kind.nodes.size()); ++n)
      if (!group.keep_node[n])
        for (std::int32_t m = 0; m < group.size(); ++m) hidden[node_column(group, m, n)] = 1;
  }
  for (std::int32_t c = 0; c < system.node_columns; ++c)
    if (!hidden[c]) add_unknown(c);
  network.node_unknowns = network.size();

  // Kept unknowns of a member and its kept equations, side by side.
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    NetworkGroup& out = network.groups[g];
    out.rows.assign(out.form.rows.size(), std::vector<std::int32_t>(group.size(), -1));
    for (std::int32_t m = 0; m < group.size(); ++m) {
      std::int32_t next_row = network.size();
      for (int s : out.form.kept_symbols) add_unknown(group.plus[s][m]);
      for (int n : out.form.kept_nodes)
        if (hidden.empty() || hidden[node_column(group, m, n)]) add_unknown(node_column(group, m, n));
      for (std::size_t r = 0; r < out.form.rows.size(); ++r) {
        const int node = out.form.rows[r].node;
        if (node < 0)
          out.rows[r][m] = next_row++;
        else if (const auto c = node_column(group, m, node); c >= 0)
          out.rows[r][m] = network.unknown_of[c];
      }
    }
  }
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    NetworkGroup& out = network.groups[g];
    for (const Terminal& t : out.form.terminals) {
      std::vector<std::int32_t> unknowns(group.size(), -1);
      for (std::int32_t m = 0; m < group.size(); ++m) {
        std::int32_t column = -1;
        switch (t.what) {
          case Terminal::What::node:
            column = node_column(group, m, t.index);
            break;
          case Terminal::What::kept:
          case Terminal::What::external_plus:
            column = group.plus[t.index][m];
            break;
          case Terminal::What::external_minus:
            column = group.minus[t.index][m];
            break;
        }
        if (column >= 0) unknowns[m] = network.unknown_of[column];
      }
      out.terminals.push_back(std::move(unknowns));
    }
  }
  return network;
}

}  // namespace tellegen
