#include "tellegen/model/kind_reader.h"

#include <gtest/gtest.h>

#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace kind_reader_test {

const std::vector<Domain> domains{{"electrical", "v", "v", "i", "V", "A"},
                                  {"thermal", "T", "dT", "Q", "K", "W"}};

Kind read(Pool& pool, std::string_view text) {
  const Document document(text, "kind.toml");
  FaultList faults;
  Kind kind = KindReader(pool, domains, document, faults, "electrical.test").read();
  faults.throw_if_any();
  return kind;
}

std::string faults_of(std::string_view text) {
  Pool pool;
  try {
    read(pool, text);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

void expect_fault(std::string_view text, std::string_view fault) {
  const std::string said = faults_of(text);
  EXPECT_NE(said.find(fault), std::string::npos) << "expected " << fault << "\nsaid     " << said;
}

TEST(KindReader, one_edge_has_bare_names_and_several_have_the_edges_name) {
  Pool pool;
  const Kind one = read(pool, "edges = { r = [\"p\", \"n\"] }\nequations = { terminal = [\"r.v = 2*i\"] }");
  EXPECT_EQ(to_text(one.equations[0].residual), to_text(pool.symbol("v") - 2.0 * pool.symbol("i")));
  const Kind two = read(pool, R"toml(
edges = { a = ["p", "n"], b = { ports = ["h", "datum"], domain = "thermal" } }
equations = { terminal = ["a.v = 2*a.i", "b.Q = -a.v*a.i + der(b.dT)"] }
)toml");
  EXPECT_EQ(two.edges[1].across.name(), "b.dT");
  EXPECT_EQ(two.edges[1].to, -1);
  EXPECT_EQ(two.nodes[2].domain, 1);
  EXPECT_TRUE(depends_on(two.equations[1].residual, pool.symbol("der(b.dT)")));
}

TEST(KindReader, numbers_beside_a_unit_are_in_that_unit) {
  Pool pool;
  const Kind kind = read(pool, R"toml(
edges = { r = ["p", "n"] }
parameters = { R = { unit = "mohm", default = 5, above = 1, at_most = "2 ohm" } }
equations = { terminal = ["v = R*i"] }
)toml");
  EXPECT_EQ(kind.parameters[0].fallback.number(), 0.005);
  EXPECT_EQ(*kind.parameters[0].above, 0.001);
  EXPECT_EQ(broken_bound(kind.parameters[0], 3.0), "must be at most 2000 mohm, and is 3000 mohm");
  EXPECT_EQ(broken_bound(kind.parameters[0], 0.005), "");
}

TEST(KindReader, a_signal_has_variables_and_no_edges) {
  Pool pool;
  const Kind kind = read(pool, R"toml(
parameters = { u = { unit = "any" }, k = { unit = "1", default = 1 } }
variables = { y = {} }
equations = { terminal = ["der(y) = k*u"] }
)toml");
  EXPECT_EQ(kind.port_count, 0);
  EXPECT_TRUE(kind.edges.empty());
  EXPECT_TRUE(kind.parameters[0].any_unit);
  EXPECT_FALSE(kind.parameters[1].any_unit);
}

TEST(KindReader, der_of_an_edges_full_name_is_der_of_its_short_one) {
  Pool pool;
  const Kind kind = read(pool,
                         "edges = { c = [\"p\", \"n\"] }\nequations = { terminal = [\"i = der(c.v)\"] "
                         "}\ninitial = { \"c.v\" = 3 }");
  EXPECT_TRUE(depends_on(kind.equations[0].residual, pool.symbol("der(v)")));
  EXPECT_EQ(kind.initial[0].variable.name(), "v");
}

TEST(KindReader, faults_of_structure) {
  expect_fault("summary = \"x\"",
               "kind.toml:1: T150: kind 'electrical.test' has neither edges nor variables");
  expect_fault("variables = { y = {} }",
               "T152: kind 'electrical.test' has 0 equation(s) for 0 edge(s) and 1 internal variable(s)");
  expect_fault("components = {}", "T150: 'electrical.test' is a model, not a kind");
  expect_fault("edges = { r = [\"p\", \"p\"] }", "T150: edge 'r' begins and ends in 'p'");
  expect_fault("edges = { r = [\"p\"] }", "T150: edge 'r' must name its two ends");
  expect_fault("edges = { r = { ports = [\"p\", \"n\"], domain = \"termal\" } }", "did you mean 'thermal'?");
  expect_fault("edges = { r = [\"p\", \"n\"], q = { ports = [\"n\", \"datum\"], domain = \"thermal\" } }",
               "T151: node 'n' is electrical for edge 'r' and thermal for edge 'q'");
  expect_fault("edges = { r = [\"p\", \"n\"] }\nnodes = [\"j\"]",
               "kind.toml:2: T151: no edge meets the internal node 'j'");
  expect_fault("edges = { r = [\"p\", \"n\"] }",
               "T152: kind 'electrical.test' has 0 equation(s) for 1 edge(s) and 0 internal variable(s)");
}

TEST(KindReader, faults_of_names) {
  const std::string edges = "edges = { r = [\"p\", \"n\"] }\nequations = { terminal = [\"v = 0\"] }\n";
  expect_fault(edges + "parameters = { n = { unit = \"1\" } }", "T155: 'n' is both a parameter and a port");
  expect_fault(edges + "parameters = { kind = { unit = \"1\" } }",
               "T155: 'kind' is both a parameter and a key of every component");
  expect_fault(edges + "variables = { v = { unit = \"V\" } }", "T155: 'v' stands for two things");
  expect_fault(edges + "outputs = { a = \"b\", b = \"a + 1\" }", "T126: output 'a' depends on itself");
  expect_fault(edges + "parameters = { a = { default = \"2*b\" }, b = { default = \"a\" } }",
               "T126: the defaults of");
  expect_fault(edges + "parameters = { a = { default = -1, above = 0 } }",
               "T124: the default of 'a' must be above 0, and is -1");
  expect_fault(edges + "parameters = { a = { optional = true } }\noutputs = { o = \"2*a\" }",
               "T157: the optional parameter 'a'");
  expect_fault(edges + "parameters = { f = { table = true } }\noutputs = { o = \"2*f\" }",
               "T153: output 'o' uses the table 'f' like a number");
  expect_fault(edges + "initial = { w = 1 }", "T153: initial value of 'w'");
  expect_fault(edges + "check = { expect = { R = 1 } }", "T158: a check cannot have 'R' in its 'expect'");
}

}  // namespace kind_reader_test
}  // namespace tellegen
