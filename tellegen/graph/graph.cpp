#include "tellegen/graph/graph.h"

#include <string_view>

namespace tellegen {
namespace {

// What the equations say about one edge.
struct Appearance {
  bool across = false, through = false, across_rate = false, through_rate = false;
};

EdgeClass class_of(const Appearance& seen) {
  if (seen.across_rate) return EdgeClass::across_storage;
  if (seen.through_rate) return EdgeClass::through_storage;
  if (!seen.through) return EdgeClass::across_source;
  if (!seen.across) return EdgeClass::through_source;
  return EdgeClass::dissipative;
}

struct SymbolUse {
  std::string_view name;  // of the variable itself, without der()
  bool rate = false;
};

SymbolUse use_of(std::string_view symbol) {
  if (symbol.starts_with("der(") && symbol.ends_with(")")) return {symbol.substr(4, symbol.size() - 5), true};
  return {symbol, false};
}

bool is_named(Expr symbol, std::string_view name) { return symbol && symbol.name() == name; }

// The node whose own across variable has this name (`p.T`), or -1.
int node_of(const Kind& kind, std::string_view name) {
  for (std::size_t n = 0; n < kind.nodes.size(); ++n)
    if (is_named(kind.nodes[n].across, name)) return static_cast<int>(n);
  return -1;
}

void read_equation(const Kind& kind, const KindEquation& equation, std::vector<Appearance>& seen) {
  std::vector<char> named(kind.edges.size(), 0);  // edges this equation names itself
  std::vector<std::pair<int, bool>> node_uses;
  for (Expr symbol : symbols_of({&equation.residual, 1})) {
    const auto [name, rate] = use_of(symbol.name());
    for (std::size_t e = 0; e < kind.edges.size(); ++e) {
      if (is_named(kind.edges[e].across, name)) {
        (rate ? seen[e].across_rate : seen[e].across) = true;
        named[e] = 1;
      } else if (is_named(kind.edges[e].through, name)) {
        seen[e].through = true;
        if (rate) seen[e].through_rate = true;
        named[e] = 1;
      }
    }
    if (int node = node_of(kind, name); node >= 0) node_uses.emplace_back(node, rate);
  }
  // `Q = C*der(p.T)` is about the edge that carries Q, not about every edge that meets p; an equation
  // that names no edge at p is about all of them.
  for (const auto& [node, rate] : node_uses) {
    auto touches = [&, node = node](std::size_t e) {
      return kind.edges[e].from == node || kind.edges[e].to == node;
    };
    bool some_named = false;
    for (std::size_t e = 0; e < kind.edges.size(); ++e) some_named |= named[e] && touches(e);
    for (std::size_t e = 0; e < kind.edges.size(); ++e)
      if (touches(e) && (named[e] || !some_named)) (rate ? seen[e].across_rate : seen[e].across) = true;
  }
}

}  // namespace

std::vector<EdgeClass> classify_edges(const Kind& kind) {
  std::vector<Appearance> seen(kind.edges.size());
  for (const KindEquation& equation : kind.equations)
    if (equation.residual) read_equation(kind, equation, seen);
  std::vector<EdgeClass> classes;
  for (const Appearance& s : seen) classes.push_back(class_of(s));
  return classes;
}

LinearGraph build_graph(const Model& model) {
  LinearGraph graph;
  graph.model_node.push_back(-1);
  graph.graph_node.reserve(model.nodes.size());
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    if (model.nodes[n].datum) {
      graph.graph_node.push_back(datum_node);
    } else {
      graph.graph_node.push_back({graph.node_count()});
      graph.model_node.push_back(static_cast<std::int32_t>(n));
    }
  }

  std::vector<std::vector<EdgeClass>> classes;
  for (const Kind& kind : model.kinds) classes.push_back(classify_edges(kind));

  graph.first_edge.reserve(model.components.size());
  graph.edges.reserve(model.components.size());  // most kinds have one edge
  for (std::size_t c = 0; c < model.components.size(); ++c) {
    const Component& component = model.components[c];
    const Kind& kind = model.kinds[component.kind];
    auto end = [&](int node) { return node < 0 ? datum_node : graph.graph_node[component.nodes[node]]; };
    graph.first_edge.push_back(graph.edge_count());
    for (std::size_t e = 0; e < kind.edges.size(); ++e)
      graph.edges.push_back({end(kind.edges[e].from), end(kind.edges[e].to), classes[component.kind][e],
                             static_cast<std::int32_t>(c), static_cast<std::int32_t>(e)});
  }
  return graph;
}

std::string edge_name(const Model& model, const LinearGraph& graph, EdgeIndex edge) {
  const GraphEdge& e = graph.edges[edge.value];
  const Component& component = model.components[e.component];
  const Kind& kind = model.kinds[component.kind];
  return one_edge_name(kind) ? component.name : component.name + "." + kind.edges[e.edge].name;
}

std::string node_name(const Model& model, const LinearGraph& graph, NodeIndex node) {
  return node == datum_node ? "datum" : model.nodes[graph.model_node[node.value]].name;
}

}  // namespace tellegen
