#include "tellegen/report/model_drawing.h"

#include <fmt/format.h>

#include <vector>

#include "tellegen/graph/graph.h"

namespace tellegen {
namespace {

DrawnNetwork::Symbol symbol_of(EdgeClass edge_class) {
  switch (edge_class) {
    case EdgeClass::across_source:
      return DrawnNetwork::Symbol::across_source;
    case EdgeClass::across_storage:
      return DrawnNetwork::Symbol::store;
    case EdgeClass::dissipative:
      return DrawnNetwork::Symbol::resistor;
    case EdgeClass::through_storage:
      return DrawnNetwork::Symbol::coil;
    case EdgeClass::through_source:
      return DrawnNetwork::Symbol::through_source;
  }
  return DrawnNetwork::Symbol::resistor;
}

// Which parameters change with an unknown: itself, and those written in it.
std::vector<bool> unknown_parameters(const Model& model) {
  std::vector<bool> unknown(model.parameters.size(), false);
  for (const ModelUnknown& u : model.unknowns) unknown[u.parameter] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t p = 0; p < model.parameters.size(); ++p) {
      if (unknown[p]) continue;
      for (std::size_t other = 0; other < model.parameters.size() && !unknown[p]; ++other)
        if (unknown[other] && depends_on(model.parameters[p].value, model.parameters[other].symbol))
          unknown[p] = changed = true;
    }
  }
  return unknown;
}

}  // namespace

DrawnNetwork drawn_network(const Model& model) {
  DrawnNetwork network;
  for (const ModelNode& node : model.nodes) network.nodes.push_back({node.name, node.datum, {}});
  for (const ModelOutput& output : model.outputs) {
    if (!output.sensor || !output.value.is_symbol()) continue;
    const auto ref = find_variable(model, output.value.name());
    if (ref && ref->what == VariableRef::What::node) network.nodes[ref->node].sensors.push_back(output.name);
  }
  const LinearGraph graph = build_graph(model);
  const std::vector<bool> unknown = unknown_parameters(model);
  for (std::int32_t e = 0; e < graph.edge_count(); ++e) {
    const GraphEdge& edge = graph.edges[e];
    const Component& component = model.components[edge.component];
    const Kind& kind = model.kinds[component.kind];
    const KindEdge& own = kind.edges[edge.edge];
    const auto node = [&](int port) {
      if (port >= 0) return component.nodes[port];
      for (std::size_t n = 0; n < model.nodes.size(); ++n)
        if (model.nodes[n].datum && model.nodes[n].domain == own.domain) return static_cast<int>(n);
      return -1;
    };
    DrawnNetwork::Edge line;
    line.name = edge_name(model, graph, {e});
    line.tip = fmt::format("{}: {}", line.name, kind.name);
    line.from = node(own.from);
    line.to = node(own.to);
    line.symbol = symbol_of(edge.edge_class);
    for (const ParameterValue& value : component.values)
      for (std::size_t p = 0; p < unknown.size(); ++p)
        if (unknown[p] && value.value && depends_on(value.value, model.parameters[p].symbol))
          line.unknown = true;
    for (int* end : {&line.from, &line.to})
      if (*end < 0) {  // a domain nobody gave a datum: one is drawn
        network.nodes.push_back({"datum", true, {}});
        *end = static_cast<int>(network.nodes.size()) - 1;
      }
    network.edges.push_back(std::move(line));
  }
  return network;
}

}  // namespace tellegen
