#include "tellegen/graph/tree.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tellegen {
namespace {

class UnionFind {
 public:
  explicit UnionFind(std::int32_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

  std::int32_t find(std::int32_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }
  // False where the two were already joined. The lower root wins, so the datum roots its own part.
  bool join(std::int32_t a, std::int32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return false;
    parent_[std::max(a, b)] = std::min(a, b);
    return true;
  }

 private:
  std::vector<std::int32_t> parent_;
};

// Roots, parents and depths from the branches: breadth first, so that no path is too long for a stack.
void root_tree(const LinearGraph& graph, Tree& tree) {
  const std::int32_t nodes = graph.node_count();
  std::vector<std::int32_t> first(nodes + 1, 0);
  for (EdgeIndex b : tree.branches) {
    ++first[graph.edges[b.value].from.value + 1];
    ++first[graph.edges[b.value].to.value + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<EdgeIndex> at_node(2 * tree.branches.size());
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  for (EdgeIndex b : tree.branches) {
    at_node[next[graph.edges[b.value].from.value]++] = b;
    at_node[next[graph.edges[b.value].to.value]++] = b;
  }

  tree.up.assign(nodes, EdgeIndex{-1});
  tree.parent.assign(nodes, NodeIndex{-1});
  tree.depth.assign(nodes, -1);
  tree.order.reserve(nodes);
  for (std::int32_t root = 0; root < nodes; ++root) {
    if (tree.depth[root] >= 0) continue;
    tree.roots.push_back({root});
    tree.depth[root] = 0;
    std::size_t head = tree.order.size();
    tree.order.push_back({root});
    for (; head < tree.order.size(); ++head) {
      const NodeIndex n = tree.order[head];
      for (std::int32_t k = first[n.value]; k < first[n.value + 1]; ++k) {
        const GraphEdge& edge = graph.edges[at_node[k].value];
        const NodeIndex other = edge.from == n ? edge.to : edge.from;
        if (tree.depth[other.value] >= 0) continue;
        tree.depth[other.value] = tree.depth[n.value] + 1;
        tree.parent[other.value] = n;
        tree.up[other.value] = at_node[k];
        tree.order.push_back(other);
      }
    }
  }
}

// Across of `node` over its parent is this times the across of its branch upwards.
int up_sign(const LinearGraph& graph, const Tree& tree, NodeIndex node) {
  return graph.edges[tree.up[node.value].value].from == node ? 1 : -1;
}

NodeIndex lower_end(const LinearGraph& graph, const Tree& tree, EdgeIndex branch) {
  const GraphEdge& edge = graph.edges[branch.value];
  return tree.up[edge.from.value] == branch ? edge.from : edge.to;
}

// Position of each branch among the branches, by edge.
std::vector<std::int32_t> branch_positions(const LinearGraph& graph, const Tree& tree) {
  std::vector<std::int32_t> position(graph.edge_count(), -1);
  for (std::size_t k = 0; k < tree.branches.size(); ++k)
    position[tree.branches[k].value] = static_cast<std::int32_t>(k);
  return position;
}

}  // namespace

Tree tree_by_rank(const LinearGraph& graph, std::span<const std::int32_t> rank) {
  assert(rank.size() == graph.edges.size());
  std::vector<EdgeIndex> sorted(graph.edges.size());
  for (std::int32_t e = 0; e < graph.edge_count(); ++e) sorted[e] = {e};
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](EdgeIndex a, EdgeIndex b) { return rank[a.value] < rank[b.value]; });

  Tree tree;
  tree.is_branch.assign(graph.edges.size(), 0);
  UnionFind parts(graph.node_count());
  for (EdgeIndex e : sorted) {
    const bool joins = parts.join(graph.edges[e.value].from.value, graph.edges[e.value].to.value);
    tree.is_branch[e.value] = joins;
    (joins ? tree.branches : tree.chords).push_back(e);
  }
  root_tree(graph, tree);
  return tree;
}

Tree normal_tree(const LinearGraph& graph) {
  std::vector<std::int32_t> rank;
  rank.reserve(graph.edges.size());
  for (const GraphEdge& edge : graph.edges) rank.push_back(static_cast<std::int32_t>(edge.edge_class));
  return tree_by_rank(graph, rank);
}

std::optional<TreeProblem> check_tree(const LinearGraph& graph, std::span<const EdgeIndex> branches) {
  TreeProblem problem;
  UnionFind parts(graph.node_count());
  for (EdgeIndex b : branches)
    if (!parts.join(graph.edges[b.value].from.value, graph.edges[b.value].to.value))
      problem.closes_circuit.push_back(b);
  const std::int32_t reached = parts.find(datum_node.value);
  for (std::int32_t n = 0; n < graph.node_count(); ++n)
    if (parts.find(n) != reached) problem.unreached.push_back({n});
  if (problem.closes_circuit.empty() && problem.unreached.empty()) return std::nullopt;
  return problem;
}

std::vector<SignedEdge> circuit_of(const LinearGraph& graph, const Tree& tree, EdgeIndex chord) {
  assert(!tree.is_branch[chord.value]);
  NodeIndex a = graph.edges[chord.value].from, b = graph.edges[chord.value].to;
  std::vector<SignedEdge> path, from_b;
  while (a != b) {
    if (tree.depth[a.value] >= tree.depth[b.value]) {
      path.push_back({tree.up[a.value], up_sign(graph, tree, a)});
      a = tree.parent[a.value];
    } else {
      from_b.push_back({tree.up[b.value], -up_sign(graph, tree, b)});
      b = tree.parent[b.value];
    }
  }
  path.insert(path.end(), from_b.rbegin(), from_b.rend());  // in order from the chord's first end
  return path;
}

std::vector<SignedEdge> cutset_of(const LinearGraph& graph, const Tree& tree, EdgeIndex branch) {
  assert(tree.is_branch[branch.value]);
  const NodeIndex below = lower_end(graph, tree, branch);
  std::vector<char> inside(graph.node_count(), 0);
  inside[below.value] = 1;
  for (NodeIndex n : tree.order)
    if (tree.parent[n.value].value >= 0 && inside[tree.parent[n.value].value]) inside[n.value] = 1;

  // What leaves the inside through the branch and the chords adds up to zero.
  const int branch_leaves = up_sign(graph, tree, below);
  std::vector<SignedEdge> cutset;
  for (EdgeIndex c : tree.chords) {
    const int leaves =
        inside[graph.edges[c.value].from.value] - static_cast<int>(inside[graph.edges[c.value].to.value]);
    if (leaves != 0) cutset.push_back({c, -leaves * branch_leaves});
  }
  return cutset;
}

std::vector<Incidence> circuit_matrix(const LinearGraph& graph, const Tree& tree) {
  const std::vector<std::int32_t> column = branch_positions(graph, tree);
  std::vector<Incidence> entries;
  for (std::size_t row = 0; row < tree.chords.size(); ++row)
    for (const SignedEdge& s : circuit_of(graph, tree, tree.chords[row]))
      entries.push_back({static_cast<std::int32_t>(row), column[s.edge.value], s.sign});
  return entries;
}

std::vector<Incidence> incidence_matrix(const LinearGraph& graph) {
  std::vector<Incidence> entries;
  entries.reserve(2 * graph.edges.size());
  for (std::int32_t e = 0; e < graph.edge_count(); ++e) {
    const GraphEdge& edge = graph.edges[e];
    if (edge.from == edge.to) continue;  // leaves and enters the same node
    if (edge.from != datum_node) entries.push_back({edge.from.value - 1, e, 1});
    if (edge.to != datum_node) entries.push_back({edge.to.value - 1, e, -1});
  }
  return entries;
}

std::vector<double> chord_across(const LinearGraph& graph, const Tree& tree,
                                 std::span<const double> branch_across) {
  assert(branch_across.size() == tree.branches.size());
  const std::vector<std::int32_t> position = branch_positions(graph, tree);
  std::vector<double> potential(graph.node_count(), 0.0);  // over the root of the node's part
  for (NodeIndex n : tree.order)
    if (tree.parent[n.value].value >= 0)
      potential[n.value] = potential[tree.parent[n.value].value] +
                           up_sign(graph, tree, n) * branch_across[position[tree.up[n.value].value]];
  std::vector<double> across;
  across.reserve(tree.chords.size());
  for (EdgeIndex c : tree.chords)
    across.push_back(potential[graph.edges[c.value].from.value] - potential[graph.edges[c.value].to.value]);
  return across;
}

std::vector<double> branch_through(const LinearGraph& graph, const Tree& tree,
                                   std::span<const double> chord_through) {
  assert(chord_through.size() == tree.chords.size());
  const std::vector<std::int32_t> position = branch_positions(graph, tree);
  std::vector<double> leaving(graph.node_count(), 0.0);  // through chords, out of the subtree of each node
  for (std::size_t k = 0; k < tree.chords.size(); ++k) {
    const GraphEdge& chord = graph.edges[tree.chords[k].value];
    leaving[chord.from.value] += chord_through[k];
    leaving[chord.to.value] -= chord_through[k];
  }
  std::vector<double> through(tree.branches.size(), 0.0);
  for (auto n = tree.order.rbegin(); n != tree.order.rend(); ++n) {
    const NodeIndex parent = tree.parent[n->value];
    if (parent.value < 0) continue;
    through[position[tree.up[n->value].value]] = -up_sign(graph, tree, *n) * leaving[n->value];
    leaving[parent.value] += leaving[n->value];
  }
  return through;
}

}  // namespace tellegen
