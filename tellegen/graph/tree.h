// Spanning trees, and cutsets and circuits as tree-path operators.
//
// A tree picks its branches in order of a rank (Kruskal with union-find, near-linear). The normal tree
// ranks by EdgeClass: across-sources, across storage, dissipative, through storage, through-sources. What
// it could not place says what is wrong or redundant:
//
//   an across-source among the chords     a circuit of across-sources: contradiction, a fault
//   a through-source among the branches   a cutset of through-sources: contradiction, a fault
//   across storage among the chords       its across is a sum of others': redundant, no state of its own
//   through storage among the branches    likewise for its through
//
// Fundamental circuit of a chord: the tree path between its ends. Fundamental cutset of a branch: the chords
// whose path uses it. Walks are iterative (a path may be 100 000 edges long); the matrices are explicit only
// on request, for a ladder's circuit matrix has N^2/2 entries.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tellegen/graph/graph.h"

namespace tellegen {

struct Tree {
  std::vector<char> is_branch;      // per edge
  std::vector<EdgeIndex> branches;  // in the order taken
  std::vector<EdgeIndex> chords;
  // Rooted at the datum: per node its branch towards the root (-1 for roots), parent and depth.
  std::vector<EdgeIndex> up;
  std::vector<NodeIndex> parent;
  std::vector<std::int32_t> depth;
  std::vector<NodeIndex> order;  // every node after its parent
  std::vector<NodeIndex> roots;  // one per connected part; the datum's first. More than one: floating parts
};

Tree normal_tree(const LinearGraph& graph);
Tree tree_by_rank(const LinearGraph& graph, std::span<const std::int32_t> rank);  // lower first

// Edges of a tree given by the user: a Tree, or what is wrong with them (edges that close a circuit, nodes
// that are not reached).
struct TreeProblem {
  std::vector<EdgeIndex> closes_circuit;
  std::vector<NodeIndex> unreached;
};
std::optional<TreeProblem> check_tree(const LinearGraph& graph, std::span<const EdgeIndex> branches);

struct SignedEdge {
  EdgeIndex edge;
  int sign = 1;
};
// The branches on the path that closes `chord`: across(chord) = sum of sign * across(branch).
std::vector<SignedEdge> circuit_of(const LinearGraph& graph, const Tree& tree, EdgeIndex chord);
// through(branch) = sum of sign * through(chord) over the chords of its cutset. One walk for one branch.
std::vector<SignedEdge> cutset_of(const LinearGraph& graph, const Tree& tree, EdgeIndex branch);

// Rows chords, columns branches, as triplets; the cutset matrix is minus its transpose.
struct Incidence {
  std::int32_t row, column;
  int sign;
};
std::vector<Incidence> circuit_matrix(const LinearGraph& graph, const Tree& tree);
std::vector<Incidence> incidence_matrix(
    const LinearGraph& graph);  // rows nodes (without datum), columns edges

// y = B x and y = -B^T x without forming B: branch acrosses to chord acrosses, chord throughs to branch
// throughs. O(nodes + edges).
std::vector<double> chord_across(const LinearGraph& graph, const Tree& tree,
                                 std::span<const double> branch_across);
std::vector<double> branch_through(const LinearGraph& graph, const Tree& tree,
                                   std::span<const double> chord_through);

}  // namespace tellegen
