#include "tellegen/graph/graph.h"

#include <gtest/gtest.h>

#include "tellegen/graph/test_model.h"

namespace tellegen {
namespace graph_test {

using enum EdgeClass;

// A kind with the edges given as {name, from, to} over ports a, b, c.
struct KindMaker {
  Pool pool;
  Kind kind;

  KindMaker() {
    for (const char* port : {"a", "b", "c"}) kind.nodes.push_back({port, 0, s(port + std::string(".T"))});
  }
  Expr s(const std::string& name) { return pool.symbol(name); }
  void edge(const std::string& name, int from, int to) {
    kind.edges.push_back({name, from, to, 0, s(name + ".dT"), s(name + ".Q")});
  }
  void equation(Expr residual) { kind.equations.push_back({residual, "", 1}); }
};

TEST(ClassifyEdges, FollowsFromHowTheEquationsTreatAcrossAndThrough) {
  TestModel m;
  auto class_of = [&](TestModel::KindNumber k) { return classify_edges(m.model.kinds[k]).at(0); };
  EXPECT_EQ(class_of(TestModel::voltage), across_source);
  EXPECT_EQ(class_of(TestModel::capacitor), across_storage);
  EXPECT_EQ(class_of(TestModel::resistor), dissipative);
  EXPECT_EQ(class_of(TestModel::inductor), through_storage);
  EXPECT_EQ(class_of(TestModel::current), through_source);
}

TEST(ClassifyEdges, BothDerivativesMeanAcrossStorage) {
  KindMaker k;
  k.edge("e", 0, 1);
  k.equation(k.s("der(e.dT)") + k.s("der(e.Q)"));
  EXPECT_EQ(classify_edges(k.kind), std::vector{across_storage});
}

TEST(ClassifyEdges, ANodesOwnAcrossCountsForItsEdge) {
  KindMaker k;
  k.edge("e", 0, 1);
  k.equation(k.s("e.Q") - k.s("h") * k.s("a.T"));
  EXPECT_EQ(classify_edges(k.kind), std::vector{dissipative});
}

TEST(ClassifyEdges, ADerivativeAtANodeBelongsToTheEdgeItsEquationNames) {
  KindMaker k;
  k.edge("store", 0, -1);
  k.edge("path", 0, 1);
  k.equation(k.s("store.Q") - k.s("C") * k.s("der(a.T)"));
  k.equation(k.s("path.dT") - k.s("R") * k.s("path.Q"));
  EXPECT_EQ(classify_edges(k.kind), (std::vector{across_storage, dissipative}));
}

TEST(ClassifyEdges, AKindWithSeveralEdgesGetsAClassForEach) {
  KindMaker k;  // a controlled source: the output's flow is free, the input's is used nowhere but set to zero
  k.edge("in", 0, -1);
  k.edge("out", 1, -1);
  k.equation(k.s("in.Q"));
  k.equation(k.s("out.dT") - k.s("gain") * k.s("in.dT"));
  EXPECT_EQ(classify_edges(k.kind), (std::vector{dissipative, across_source}));
}

TEST(BuildGraph, TheDatumsOfAllDomainsAreNodeZero) {
  TestModel m;
  m.add(TestModel::voltage, "v1", "a", "datum")
      .add(TestModel::resistor, "r1", "a", "datum")
      .add(TestModel::temperature, "t1", "x", "datum")
      .add(TestModel::heat_resistor, "h1", "x", "datum");
  const LinearGraph graph = build_graph(m.model);
  ASSERT_EQ(m.model.nodes.size(), 4u);
  EXPECT_EQ(graph.node_count(), 3);
  ASSERT_EQ(graph.edge_count(), 4);
  for (const GraphEdge& edge : graph.edges) EXPECT_EQ(edge.to, datum_node);
  EXPECT_EQ(graph.edges[0].from, graph.edges[1].from);
  EXPECT_NE(graph.edges[0].from, graph.edges[2].from);
  EXPECT_EQ(graph.edges[2].edge_class, across_source);
}

TEST(BuildGraph, ModelNodesAndGraphNodesPointAtEachOther) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "datum").add(TestModel::resistor, "r2", "b", "a");
  const LinearGraph graph = build_graph(m.model);
  for (std::int32_t n = 1; n < graph.node_count(); ++n)
    EXPECT_EQ(graph.graph_node[graph.model_node[n]], NodeIndex{n});
  EXPECT_EQ(graph.model_node[0], -1);
}

TEST(BuildGraph, EdgesOfAComponentAreConsecutiveAndNamed) {
  TestModel m;
  Kind two = m.model.kinds[TestModel::resistor];
  two.edges.push_back(two.edges[0]);
  two.edges[0].name = "in";
  two.edges[1].name = "out";
  two.edges[1].to = -1;
  m.model.kinds.push_back(two);
  m.add(TestModel::resistor, "r1", "a", "b");
  m.add(static_cast<TestModel::KindNumber>(m.model.kinds.size() - 1), "x", "a", "b");
  const LinearGraph graph = build_graph(m.model);
  EXPECT_EQ(graph.first_edge, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(edge_name(m.model, graph, {0}), "r1");
  EXPECT_EQ(edge_name(m.model, graph, {1}), "x.in");
  EXPECT_EQ(edge_name(m.model, graph, {2}), "x.out");
  EXPECT_EQ(graph.edges[2].to, datum_node);
  EXPECT_EQ(node_name(m.model, graph, graph.edges[0].to), "b");
  EXPECT_EQ(node_name(m.model, graph, datum_node), "datum");
}

TEST(BuildGraph, AMillionEdges) {
  TestModel m;
  Model& model = m.model;
  constexpr int count = 500'000;
  model.nodes.push_back({"datum", 0, true});
  for (int n = 1; n <= count; ++n) model.nodes.push_back({"n", 0});
  for (int n = 1; n <= count; ++n) {
    model.components.push_back({"r", TestModel::resistor, {n - 1, n}, {}, {}});
    model.components.push_back({"c", TestModel::capacitor, {n, 0}, {}, {}});
  }
  const LinearGraph graph = build_graph(model);
  EXPECT_EQ(graph.edge_count(), 2 * count);
  EXPECT_EQ(graph.node_count(), count + 1);
}

}  // namespace graph_test
}  // namespace tellegen
