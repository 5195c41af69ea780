// What must hold for every kind and every model that Tellegen ships.
#include <gtest/gtest.h>

#include <filesystem>

#include "tellegen/model/read.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace library_test {

namespace fs = std::filesystem;
const fs::path library = TELLEGEN_SOURCE_DIR "/library";

TEST(Library, every_kind_loads_and_has_a_summary_and_a_worked_check) {
  Pool pool;
  const auto domains = read_domains(library);
  const auto names = library_kinds(library);
  EXPECT_GE(names.size(), 24u);
  for (const std::string& name : names) {
    std::string path = name;
    path.replace(path.find('.'), 1, "/");
    SCOPED_TRACE(name);
    const Kind kind = read_kind(pool, domains, library / (path + ".toml"), name);
    EXPECT_FALSE(kind.summary.empty());
    const bool mechanical = name.starts_with("multibody.");  // nothing by itself: tests/mechanisms_test.cpp
    if (!mechanical) {
      EXPECT_EQ(kind.equations.size(), kind.edges.size() + kind.variables.size());
    }
    ASSERT_EQ(kind.checks.empty(), mechanical);
    for (const KindCheck& check : kind.checks) {
      EXPECT_TRUE(check.expect.contains("t"));
      EXPECT_GE(check.expect.size(), 2u);
    }
    for (const KindParameter& parameter : kind.parameters) {
      EXPECT_FALSE(parameter.summary.empty()) << parameter.name;
      EXPECT_EQ(parameter.unit.empty(), parameter.any_unit) << parameter.name;
      if (parameter.any_unit) continue;
      EXPECT_EQ(units().to_si(1.0, parameter.unit), 1.0)
          << "library kinds are written in SI: " << parameter.name;
    }
  }
}

TEST(Library, domains_have_the_names_of_the_style_page) {
  const auto domains = read_domains(library);
  ASSERT_EQ(domains.size(), 6u);
  EXPECT_EQ(domains[0].name, "electrical");
  EXPECT_EQ(domains[1].across, "dT");
  EXPECT_EQ(domains[4].across_scale, 1e5);
}

TEST(Library, every_shipped_model_loads) {
  int count = 0;
  for (const auto& folder : fs::directory_iterator(TELLEGEN_SOURCE_DIR "/models")) {
    if (!fs::exists(folder.path() / "model.toml")) continue;
    SCOPED_TRACE(folder.path().string());
    EXPECT_NO_THROW({
      const Model model = read_model(folder.path() / "model.toml");
      EXPECT_FALSE(model.components.empty());
      EXPECT_FALSE(model.outputs.empty());
      EXPECT_TRUE(model.simulation.stop.has_value());
    });
    ++count;
  }
  EXPECT_GE(count, 7);
}

TEST(Library, a_parameter_may_be_called_like_the_variable_of_the_only_edge) {
  Pool pool;
  const Kind kind =
      read_kind(pool, read_domains(library), library / "thermal/heat_source.toml", "thermal.heat_source");
  EXPECT_EQ(kind.edges[0].through.name(), "source.Q");
  EXPECT_EQ(kind.edges[0].across.name(), "dT");
  EXPECT_TRUE(depends_on(kind.equations[0].residual, pool.symbol("Q")));
}

TEST(Library, the_air_gap_sees_its_nodes_own_temperatures_and_its_outputs_are_written_out) {
  Pool pool;
  const Kind kind =
      read_kind(pool, read_domains(library), library / "thermal/air_gap.toml", "thermal.air_gap");
  ASSERT_TRUE(kind.nodes[0].across);
  EXPECT_EQ(kind.nodes[0].across.name(), "p.T");
  EXPECT_TRUE(depends_on(kind.equations[0].residual, pool.symbol("n.T")));
  EXPECT_FALSE(depends_on(kind.equations[0].residual, pool.symbol("R")));
  // The resistance of PROBLEMS.md, section 4, at a film temperature of 350 K: 0.219 K/W.
  ExprMap<double> at;
  for (const auto& [name, value] : kind.checks[0].given) at[pool.symbol(name)] = value;
  EXPECT_NEAR(evaluate(kind.outputs[0].value, at), 0.21912468177880834, 1e-14);
}

TEST(Library, a_diode_has_an_internal_node_and_a_default_in_other_parameters) {
  Pool pool;
  const Kind kind =
      read_kind(pool, read_domains(library), library / "electrical/diode.toml", "electrical.diode");
  EXPECT_EQ(kind.port_count, 2);
  ASSERT_EQ(kind.nodes.size(), 3u);
  EXPECT_EQ(kind.nodes[2].name, "j");
  EXPECT_EQ(kind.edges[1].from, 2);
  EXPECT_EQ(kind.edges[1].through.name(), "series.i");
  EXPECT_NEAR(evaluate(kind.parameters[4].fallback, {{pool.symbol("T"), 300.0}}), 0.0258519997864355, 1e-15);
}

}  // namespace library_test
}  // namespace tellegen
