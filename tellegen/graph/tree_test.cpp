#include "tellegen/graph/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tellegen/graph/test_model.h"

namespace tellegen {
namespace tree_test {

using Matrix = std::vector<std::vector<double>>;

Matrix dense(const std::vector<Incidence>& entries, std::size_t rows, std::size_t columns) {
  Matrix m(rows, std::vector<double>(columns, 0.0));
  for (const Incidence& e : entries) m[e.row][e.column] += e.sign;
  return m;
}

std::vector<std::string> names(const TestModel& m, const LinearGraph& graph,
                               const std::vector<EdgeIndex>& edges) {
  std::vector<std::string> list;
  for (EdgeIndex e : edges) list.push_back(edge_name(m.model, graph, e));
  std::sort(list.begin(), list.end());
  return list;
}

using Names = std::vector<std::string>;

// Random edges, self-loops and parallel edges among them; with few edges some parts float.
LinearGraph random_graph(std::mt19937& random, int nodes, int edges) {
  std::vector<std::pair<int, int>> ends;
  for (int e = 0; e < edges; ++e) {
    const int from = static_cast<int>(random() % nodes);
    ends.emplace_back(from, static_cast<int>(random() % nodes));
  }
  LinearGraph graph = bare_graph(nodes, ends);
  for (GraphEdge& edge : graph.edges) edge.edge_class = static_cast<EdgeClass>(random() % 5);
  return graph;
}

LinearGraph path_graph(int length) {
  std::vector<std::pair<int, int>> ends;
  for (int n = 1; n <= length; ++n) ends.emplace_back(n, n - 1);
  ends.emplace_back(length, 0);
  return bare_graph(length + 1, ends);
}

TEST(NormalTree, TakesSourcesThenCapacitorsAndLeavesInductorsOut) {
  TestModel m;  // one loop of the ladder, with a capacitor across the output
  m.add(TestModel::inductor, "l1", "b", "c")
      .add(TestModel::resistor, "r1", "a", "b")
      .add(TestModel::capacitor, "c1", "c", "datum")
      .add(TestModel::voltage, "e1", "a", "datum");
  const LinearGraph graph = build_graph(m.model);
  const Tree tree = normal_tree(graph);
  EXPECT_EQ(names(m, graph, tree.branches), (Names{"c1", "e1", "r1"}));
  EXPECT_EQ(names(m, graph, tree.chords), (Names{"l1"}));
  EXPECT_EQ(edge_name(m.model, graph, tree.branches[0]), "e1");
  EXPECT_EQ(tree.roots, std::vector{datum_node});
}

TEST(NormalTree, OneOfTwoParallelCapacitorsIsAChord) {
  TestModel m;
  m.add(TestModel::capacitor, "c1", "a", "datum").add(TestModel::capacitor, "c2", "a", "datum");
  const LinearGraph graph = build_graph(m.model);
  EXPECT_EQ(names(m, graph, normal_tree(graph).chords), (Names{"c2"}));
}

TEST(NormalTree, ACapacitorAcrossASourceIsAChord) {
  TestModel m;
  m.add(TestModel::capacitor, "c1", "a", "datum").add(TestModel::voltage, "e1", "a", "datum");
  const LinearGraph graph = build_graph(m.model);
  EXPECT_EQ(names(m, graph, normal_tree(graph).chords), (Names{"c1"}));
}

TEST(NormalTree, OneInductorOfACutsetIsABranch) {
  TestModel m;  // a star of three inductors whose centre nothing else joins
  m.add(TestModel::inductor, "l1", "a", "s")
      .add(TestModel::inductor, "l2", "b", "s")
      .add(TestModel::inductor, "l3", "c", "s")
      .add(TestModel::resistor, "r1", "a", "datum")
      .add(TestModel::resistor, "r2", "b", "datum")
      .add(TestModel::resistor, "r3", "c", "datum");
  const LinearGraph graph = build_graph(m.model);
  const Tree tree = normal_tree(graph);
  EXPECT_EQ(names(m, graph, tree.branches), (Names{"l1", "r1", "r2", "r3"}));
  const auto cutset = cutset_of(graph, tree, {0});  // l1 + l2 + l3 = 0
  ASSERT_EQ(cutset.size(), 2u);
  EXPECT_EQ(cutset[0].sign, -1);
  EXPECT_EQ(cutset[1].sign, -1);
}

TEST(NormalTree, TwoDomainsAreOneTree) {
  TestModel m;
  m.add(TestModel::voltage, "v1", "a", "datum")
      .add(TestModel::resistor, "r1", "a", "datum")
      .add(TestModel::temperature, "t1", "x", "datum")
      .add(TestModel::heat_resistor, "h1", "x", "datum");
  const LinearGraph graph = build_graph(m.model);
  const Tree tree = normal_tree(graph);
  EXPECT_EQ(tree.roots.size(), 1u);
  EXPECT_EQ(names(m, graph, tree.branches), (Names{"t1", "v1"}));
  const auto circuit = circuit_of(graph, tree, {3});
  ASSERT_EQ(circuit.size(), 1u);
  EXPECT_EQ(edge_name(m.model, graph, circuit[0].edge), "t1");
}

TEST(TreeByRank, LowerRankIsTakenFirstAndTiesByOrder) {
  const LinearGraph graph = bare_graph(2, {{0, 1}, {1, 0}, {0, 1}});
  EXPECT_EQ(tree_by_rank(graph, std::vector<std::int32_t>{2, 1, 1}).branches, std::vector{EdgeIndex{1}});
}

TEST(Tree, EveryNodeComesAfterItsParentAndPartsHaveTheirOwnRoots) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const LinearGraph graph = random_graph(random, 20, 15);
    const Tree tree = normal_tree(graph);
    ASSERT_EQ(tree.order.size(), 20u);
    EXPECT_EQ(tree.roots.front(), datum_node);
    EXPECT_EQ(tree.branches.size() + tree.roots.size(), 20u);
    std::vector<char> seen(20, 0);
    for (NodeIndex n : tree.order) {
      seen[n.value] = 1;
      const NodeIndex parent = tree.parent[n.value];
      if (parent.value < 0) {
        EXPECT_EQ(tree.depth[n.value], 0);
        EXPECT_EQ(tree.up[n.value].value, -1);
        continue;
      }
      EXPECT_TRUE(seen[parent.value]);
      EXPECT_EQ(tree.depth[n.value], tree.depth[parent.value] + 1);
      EXPECT_TRUE(tree.is_branch[tree.up[n.value].value]);
    }
  }
}

TEST(CheckTree, ATreeHasNoProblem) {
  const LinearGraph graph = bare_graph(3, {{0, 1}, {1, 2}, {2, 0}});
  EXPECT_FALSE(check_tree(graph, std::vector<EdgeIndex>{{0}, {2}}));
}

TEST(CheckTree, NamesTheEdgeThatClosesACircuitAndTheNodesNotReached) {
  const LinearGraph graph = bare_graph(4, {{0, 1}, {1, 2}, {2, 0}, {2, 3}});
  const auto problem = check_tree(graph, std::vector<EdgeIndex>{{0}, {1}, {2}});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->closes_circuit, (std::vector<EdgeIndex>{{2}}));
  EXPECT_EQ(problem->unreached, (std::vector<NodeIndex>{{3}}));
}

TEST(Circuit, FollowsTheTreePathFromTheChordsFirstEnd) {
  //  1 -> 0, 2 -> 1, 0 -> 3 in the tree; the chord runs from 2 to 3
  const LinearGraph graph = bare_graph(4, {{1, 0}, {2, 1}, {0, 3}, {2, 3}});
  const Tree tree = normal_tree(graph);
  const auto circuit = circuit_of(graph, tree, {3});
  ASSERT_EQ(circuit.size(), 3u);
  EXPECT_EQ(circuit[0].edge, EdgeIndex{1});
  EXPECT_EQ(circuit[1].edge, EdgeIndex{0});
  EXPECT_EQ(circuit[2].edge, EdgeIndex{2});
  for (const SignedEdge& s : circuit) EXPECT_EQ(s.sign, 1);
}

TEST(Circuit, OfASelfLoopIsEmpty) {
  const LinearGraph graph = bare_graph(2, {{0, 1}, {1, 1}});
  EXPECT_TRUE(circuit_of(graph, normal_tree(graph), {1}).empty());
}

TEST(Circuit, APathOfAHundredThousandEdgesNeedsNoRecursion) {
  constexpr int length = 100'000;
  const LinearGraph graph = path_graph(length);
  const Tree tree = normal_tree(graph);
  EXPECT_EQ(tree.depth[length], length);
  EXPECT_EQ(circuit_of(graph, tree, {length}).size(), static_cast<std::size_t>(length));
  EXPECT_EQ(chord_across(graph, tree, std::vector<double>(length, 1.0)), std::vector{double(length)});
  EXPECT_EQ(cutset_of(graph, tree, {length / 2}).size(), 1u);
}

TEST(CircuitMatrix, IsOrthogonalToIncidence) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const LinearGraph graph = random_graph(random, 12, 10 + trial);
    const Tree tree = normal_tree(graph);
    // All edges: a circuit holds its chord and, with the opposite sign, the path that closes it.
    Matrix circuits(tree.chords.size(), std::vector<double>(graph.edge_count(), 0.0));
    for (const Incidence& e : circuit_matrix(graph, tree))
      circuits[e.row][tree.branches[e.column].value] = -e.sign;
    for (std::size_t c = 0; c < tree.chords.size(); ++c) circuits[c][tree.chords[c].value] = 1.0;
    const Matrix incidence = dense(incidence_matrix(graph), graph.node_count() - 1, graph.edge_count());
    for (const auto& node : incidence)
      for (const auto& circuit : circuits) {
        double sum = 0.0;
        for (std::size_t e = 0; e < circuit.size(); ++e) sum += node[e] * circuit[e];
        EXPECT_EQ(sum, 0.0);
      }
  }
}

TEST(CutsetOf, IsMinusTheTransposeOfTheCircuitMatrix) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const LinearGraph graph = random_graph(random, 12, 10 + trial);
    const Tree tree = normal_tree(graph);
    const Matrix circuits = dense(circuit_matrix(graph, tree), tree.chords.size(), tree.branches.size());
    for (std::size_t b = 0; b < tree.branches.size(); ++b) {
      std::vector<double> by_edge(graph.edge_count(), 0.0);
      for (const SignedEdge& s : cutset_of(graph, tree, tree.branches[b])) by_edge[s.edge.value] = s.sign;
      for (std::size_t c = 0; c < tree.chords.size(); ++c)
        EXPECT_EQ(by_edge[tree.chords[c].value], -circuits[c][b]);
    }
  }
}

TEST(TreeOperators, AgreeWithTheExplicitMatrices) {
  std::mt19937 random(4);
  std::uniform_int_distribution<int> whole(-9, 9);  // whole numbers: sums are exact in any order
  for (int trial = 0; trial < 50; ++trial) {
    const LinearGraph graph = random_graph(random, 15, 10 + trial);
    const Tree tree = normal_tree(graph);
    const Matrix circuits = dense(circuit_matrix(graph, tree), tree.chords.size(), tree.branches.size());
    std::vector<double> across(tree.branches.size()), through(tree.chords.size());
    for (double& x : across) x = whole(random);
    for (double& x : through) x = whole(random);
    const std::vector<double> chords = chord_across(graph, tree, across);
    const std::vector<double> branches = branch_through(graph, tree, through);
    for (std::size_t c = 0; c < tree.chords.size(); ++c) {
      double sum = 0.0;
      for (std::size_t b = 0; b < across.size(); ++b) sum += circuits[c][b] * across[b];
      EXPECT_EQ(chords[c], sum);
    }
    double power = 0.0;  // Tellegen's theorem, for values that only topology relates
    for (std::size_t b = 0; b < across.size(); ++b) {
      double sum = 0.0;
      for (std::size_t c = 0; c < through.size(); ++c) sum -= circuits[c][b] * through[c];
      EXPECT_EQ(branches[b], sum);
      power += across[b] * branches[b];
    }
    for (std::size_t c = 0; c < through.size(); ++c) power += chords[c] * through[c];
    EXPECT_EQ(power, 0.0);
  }
}

TEST(TreeOperators, AMillionEdges) {
  constexpr int nodes = 500'000;
  std::vector<std::pair<int, int>> ends;
  for (int n = 1; n < nodes; ++n) {
    ends.emplace_back(n, n - 1);
    ends.emplace_back(n, 0);
  }
  const LinearGraph graph = bare_graph(nodes, ends);
  const Tree tree = normal_tree(graph);
  EXPECT_EQ(tree.roots.size(), 1u);
  EXPECT_EQ(tree.branches.size(), static_cast<std::size_t>(nodes - 1));
  EXPECT_EQ(chord_across(graph, tree, std::vector<double>(tree.branches.size(), 1.0)).size(),
            tree.chords.size());
}

}  // namespace tree_test
}  // namespace tellegen
