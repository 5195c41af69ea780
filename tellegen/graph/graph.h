// The linear graph of a model: nodes, directed edges, and what topology alone says.
//
// Every edge of every component is an edge here; every node of every domain a node; each domain has its
// datum, so several domains are one forest. The datums are treated as one node (number 0, "the datum"):
// a tree then spans everything, and no circuit crosses domains because nothing else joins them.
//
// Equations play no part except one: each edge is classed by how its terminal equations treat its two
// variables, which decides its rank in a normal tree.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

struct NodeIndex {
  std::int32_t value = 0;
  auto operator<=>(const NodeIndex&) const = default;
};
struct EdgeIndex {
  std::int32_t value = 0;
  auto operator<=>(const EdgeIndex&) const = default;
};
inline constexpr NodeIndex datum_node{0};

// In the order in which a normal tree takes them.
enum class EdgeClass : std::uint8_t {
  across_source,
  across_storage,
  dissipative,
  through_storage,
  through_source
};

struct GraphEdge {
  NodeIndex from, to;
  EdgeClass edge_class = EdgeClass::dissipative;
  std::int32_t component = -1;  // in Model::components
  std::int32_t edge = 0;        // in Kind::edges
};

struct LinearGraph {
  std::vector<std::int32_t> model_node;  // per graph node: index in Model::nodes (-1 for the datum)
  std::vector<NodeIndex> graph_node;     // per model node: its graph node (datums: datum_node)
  std::vector<GraphEdge> edges;
  std::vector<std::int32_t> first_edge;  // per component: its edges are consecutive from here
  std::int32_t node_count() const { return static_cast<std::int32_t>(model_node.size()); }
  std::int32_t edge_count() const { return static_cast<std::int32_t>(edges.size()); }
};

// How a kind's equations treat each of its edges: derived, never written in the kind.
std::vector<EdgeClass> classify_edges(const Kind& kind);

LinearGraph build_graph(const Model& model);

std::string edge_name(const Model& model, const LinearGraph& graph, EdgeIndex edge);  // "r1", "motor.shaft"
std::string node_name(const Model& model, const LinearGraph& graph, NodeIndex node);  // "n2", "datum"

}  // namespace tellegen
