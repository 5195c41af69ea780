#include "tellegen/equations/network.h"

#include <gtest/gtest.h>

#include <set>

#include "tellegen/model/test_text.h"

namespace tellegen {
namespace network_test {

std::set<std::string> unknowns(const EquationSystem& system, const Network& network) {
  std::set<std::string> names;
  for (std::int32_t c : network.column_of) names.insert(column_name(system, c));
  return names;
}

TEST(Network, of_the_rectifier_has_five_nodes_and_two_currents) {
  const Model model = shipped_model("rectifier");
  const EquationSystem system = build_system(model);
  const Network network = build_network(system);
  EXPECT_EQ(unknowns(system, network),
            (std::set<std::string>{"n1.v", "n2.v", "n3.v", "n4.v", "n5.v", "ground.i", "e1.i"}));
  EXPECT_EQ(network.node_unknowns, 5);
  EXPECT_TRUE(network.iterative());
}

TEST(Network, of_a_linear_circuit_is_not_iterative) {
  const Model model = shipped_model("ladder-2");
  const EquationSystem system = build_system(model);
  EXPECT_FALSE(build_network(system).iterative());
}

TEST(Network, columns_and_unknowns_are_inverse) {
  for (const char* name :
       {"rlc", "ladder-2", "rectifier", "pmsm-thermal", "dc-motor", "rc-subsystem", "rc-thermal"}) {
    const Model model = shipped_model(name);
    const EquationSystem system = build_system(model);
    const Network network = build_network(system);
    for (std::int32_t u = 0; u < network.size(); ++u)
      EXPECT_EQ(network.unknown_of[network.column_of[u]], u) << name;
    std::int32_t known = 0;
    for (std::int32_t u : network.unknown_of) known += u >= 0;
    EXPECT_EQ(known, network.size()) << name;
  }
}

// As many equations as unknowns: a balance per node, and each kept equation in a row of its own.
TEST(Network, every_row_is_written_and_kept_equations_have_a_row_each) {
  for (const char* name :
       {"rlc", "ladder-2", "rectifier", "pmsm-thermal", "dc-motor", "rc-subsystem", "rc-thermal"}) {
    const Model model = shipped_model(name);
    const EquationSystem system = build_system(model);
    const Network network = build_network(system);
    std::set<std::int32_t> balances;
    std::multiset<std::int32_t> kept;
    for (std::size_t g = 0; g < network.groups.size(); ++g)
      for (std::size_t r = 0; r < network.groups[g].form.rows.size(); ++r)
        for (std::int32_t row : network.groups[g].rows[r]) {
          if (network.groups[g].form.rows[r].node < 0)
            kept.insert(row);
          else if (row >= 0)
            balances.insert(row);
        }
    EXPECT_EQ(static_cast<std::int32_t>(balances.size()), network.node_unknowns) << name;
    EXPECT_EQ(static_cast<std::int32_t>(kept.size()), network.size() - network.node_unknowns) << name;
    EXPECT_EQ(std::set(kept.begin(), kept.end()).size(), kept.size()) << name;
    if (!kept.empty()) {
      EXPECT_EQ(*kept.begin(), network.node_unknowns) << name;
    }
  }
}

TEST(Network, a_current_that_controls_another_source_is_an_unknown) {
  const Model model = model_of(R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 10 }
s = { kind = "electrical.resistor", p = "b", n = "datum", R = 20 }
f = { kind = "electrical.current_source", p = "datum", n = "b", I = "3*r.i" }
)toml");
  const EquationSystem system = build_system(model);
  const Network network = build_network(system);
  EXPECT_EQ(unknowns(system, network), (std::set<std::string>{"a.v", "b.v", "e.i", "r.i"}));
}

}  // namespace network_test
}  // namespace tellegen
