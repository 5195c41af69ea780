#include "tellegen/graph/faults.h"

#include <gtest/gtest.h>

#include "tellegen/graph/test_model.h"

namespace tellegen {
namespace faults_test {

std::vector<Fault> faults_of(const TestModel& m) {
  const LinearGraph graph = build_graph(m.model);
  return topology_faults(m.model, graph, normal_tree(graph));
}

std::string whole(const Fault& fault) {
  std::string text = fault.message;
  for (const std::string& line : fault.details) text += "\n" + line;
  return text;
}

#define EXPECT_SAYS(fault, words) EXPECT_NE(whole(fault).find(words), std::string::npos) << whole(fault)

TEST(TopologyFaults, ASoundModelHasNone) {
  TestModel m;
  m.add(TestModel::voltage, "e1", "a", "datum")
      .add(TestModel::resistor, "r1", "a", "b")
      .add(TestModel::inductor, "l1", "b", "datum")
      .add(TestModel::temperature, "t1", "x", "datum")
      .add(TestModel::heat, "h1", "datum", "x");
  EXPECT_TRUE(faults_of(m).empty());
}

TEST(TopologyFaults, RedundantStorageIsNoFault) {
  TestModel m;
  m.add(TestModel::capacitor, "c1", "a", "datum")
      .add(TestModel::capacitor, "c2", "a", "datum")
      .add(TestModel::inductor, "l1", "a", "b")
      .add(TestModel::inductor, "l2", "b", "datum");
  EXPECT_TRUE(faults_of(m).empty());
}

TEST(TopologyFaults, AFloatingPartIsListedWithNodesAndComponents) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "datum")
      .add(TestModel::resistor, "r2", "b", "c")
      .add(TestModel::capacitor, "c2", "c", "b");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "T201");
  EXPECT_EQ(faults[0].place.file, "models/test/model.toml");
  EXPECT_EQ(faults[0].place.line, 2);
  EXPECT_EQ(faults[0].message, "'b.v', 'c.v' are not determined");
  ASSERT_EQ(faults[0].details.size(), 3u);
  EXPECT_EQ(faults[0].details[0], "no chain of edges joins nodes 'b', 'c' to the electrical datum");
  EXPECT_EQ(faults[0].details[1], "only these components are there: 'r2', 'c2'");
  EXPECT_SAYS(faults[0], "connect one of these nodes to 'datum'");
}

TEST(TopologyFaults, EachFloatingPartIsAFaultOfItsOwnDomain) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "b").add(TestModel::heat_resistor, "h1", "x", "y");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_SAYS(faults[0], "to the electrical datum");
  EXPECT_SAYS(faults[1], "'x.T', 'y.T' are not determined");
  EXPECT_SAYS(faults[1], "to the thermal datum");
}

TEST(TopologyFaults, ANodeWithoutAnyEdgeIsFloating) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "datum");
  m.model.nodes.push_back({"lonely", 0, false, 7, -1});
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.line, 7);
  EXPECT_SAYS(faults[0], "'lonely.v' is not determined");
  EXPECT_SAYS(faults[0], "no component has an edge there");
}

TEST(TopologyFaults, SignalsNeedNoDatum) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "datum");
  m.model.domains.push_back({"signal", "", "", "", "", ""});
  m.model.nodes.push_back({"command", 2, false, 7, -1});
  EXPECT_TRUE(faults_of(m).empty());
}

TEST(TopologyFaults, ACircuitOfAcrossSourcesIsListedWhole) {
  TestModel m;
  m.add(TestModel::voltage, "e1", "a", "datum")
      .add(TestModel::voltage, "e2", "b", "a")
      .add(TestModel::resistor, "r1", "b", "datum")
      .add(TestModel::voltage, "e3", "b", "datum");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "T202");
  EXPECT_EQ(faults[0].place.line, 4);
  EXPECT_EQ(faults[0].message, "across-sources 'e3', 'e2', 'e1' form a circuit");
  EXPECT_SAYS(faults[0], "'e3' from 'b' to 'datum' (line 4)");
  EXPECT_SAYS(faults[0], "'e2' from 'b' to 'a' (line 2)");
  EXPECT_SAYS(faults[0], "'e1' from 'a' to 'datum' (line 1)");
  EXPECT_SAYS(faults[0], "e3.v - e2.v - e1.v = 0");
  EXPECT_SAYS(faults[0], "in series");
}

TEST(TopologyFaults, AnAcrossSourceWithBothEndsAtOneNodeIsACircuitOfItself) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "datum").add(TestModel::voltage, "e1", "a", "a");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "both ends of across-source 'e1' are one node");
}

TEST(TopologyFaults, ACutsetOfThroughSourcesIsListedWhole) {
  TestModel m;
  m.add(TestModel::current, "i1", "datum", "a")
      .add(TestModel::resistor, "r1", "a", "b")
      .add(TestModel::current, "i2", "b", "c")
      .add(TestModel::resistor, "r2", "c", "datum");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, "T203");
  EXPECT_EQ(faults[0].place.line, 1);
  EXPECT_EQ(faults[0].message, "through-sources 'i1', 'i2' form a cutset");
  EXPECT_SAYS(faults[0], "'i1' from 'datum' to 'a' (line 1)");
  EXPECT_SAYS(faults[0], "'i2' from 'b' to 'c' (line 3)");
  EXPECT_SAYS(faults[0], "nodes 'a', 'b' to the rest");
  EXPECT_SAYS(faults[0], "i1.i - i2.i = 0");
  EXPECT_SAYS(faults[0], "between these nodes and the rest");
}

TEST(TopologyFaults, ASingleThroughSourceWithNoReturnIsACutset) {
  TestModel m;
  m.add(TestModel::resistor, "r1", "a", "datum").add(TestModel::heat, "q1", "datum", "x");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "through-source 'q1' has no way back for its Q");
  EXPECT_SAYS(faults[0], "nothing determines the T of that node");
}

TEST(TopologyFaults, EveryKindOfFaultIsReportedAtOnce) {
  TestModel m;
  m.add(TestModel::voltage, "e1", "a", "datum")
      .add(TestModel::voltage, "e2", "a", "datum")
      .add(TestModel::current, "i1", "datum", "b")
      .add(TestModel::resistor, "r1", "c", "d");
  std::vector<std::string> codes;
  for (const Fault& fault : faults_of(m)) codes.push_back(fault.code);
  EXPECT_EQ(codes, (std::vector<std::string>{"T201", "T202", "T203"}));
}

TEST(TopologyFaults, AHopelessModelIsReportedInBoundedLength) {
  TestModel m;
  for (int k = 0; k < 100; ++k) m.add(TestModel::voltage, "e" + std::to_string(k), "a", "datum");
  const auto faults = faults_of(m);
  ASSERT_EQ(faults.size(), 20u);
  EXPECT_EQ(faults.back().details.back(), "79 more circuits of across-sources are not listed");
}

}  // namespace faults_test
}  // namespace tellegen
