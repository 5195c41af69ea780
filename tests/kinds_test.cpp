// Every kind of the library against the worked answers in its file, and the energy it says it stores.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/kind_check.h"
#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path library = TELLEGEN_SOURCE_DIR "/library";

class Kinds : public testing::TestWithParam<std::string> {};

TEST_P(Kinds, gives_its_worked_answers) {
  Pool pool;
  const KindChecks checks(library);
  std::string path = GetParam();
  std::replace(path.begin(), path.end(), '.', '/');
  const Kind kind = read_kind(pool, checks.domains(), library / (path + ".toml"), GetParam());
  ASSERT_FALSE(kind.checks.empty()) << "a kind shows a worked answer in [check]";
  for (const char* form : {"tableau", "minimal"})
    for (const WrongAnswer& wrong : checks.wrong_answers(kind, form, false))
      ADD_FAILURE() << "check " << wrong.check + 1 << " in " << form << " form: " << wrong.message << "\n"
                    << checks.text(kind, kind.checks[wrong.check]);
}

// Of these the stored energy has no formula in their states: a charge that is an integral of a capacitance, a
// table's area, a main flux that saturates.
const std::vector<std::string> without_energy{"battery.equivalent_circuit",
                                              "battery.equivalent_circuit_thermal",
                                              "battery.rint",
                                              "electrical.bjt",
                                              "electrical.jfet",
                                              "electrical.junction_diode",
                                              "electrical.mosfet_level1",
                                              "electrical.mosfet_level2",
                                              "electrical.mosfet_level3",
                                              "electrical.vdmos",
                                              "machines.induction_qd0_saturated",
                                              "machines.induction_vbr_saturated",
                                              "machines.induction_vbr_table",
                                              "machines.synchronous_qd0_saturated",
                                              "machines.synchronous_table",
                                              "machines.synchronous_vbr_saturated",
                                              "machines.synchronous_vbr_table"};

TEST_P(Kinds, stores_the_energy_that_flows_in_through_its_edges) {
  Pool pool;
  const KindChecks checks(library);
  std::string path = GetParam();
  std::replace(path.begin(), path.end(), '.', '/');
  const Kind kind = read_kind(pool, checks.domains(), library / (path + ".toml"), GetParam());
  std::vector<Expr> residuals;
  for (const KindEquation& e : kind.equations) residuals.push_back(e.residual);
  const auto symbols = symbols_of(residuals);
  const bool has_rates =
      std::any_of(symbols.begin(), symbols.end(), [](Expr s) { return s.name().starts_with("der("); });
  const bool listed =
      std::find(without_energy.begin(), without_energy.end(), GetParam()) != without_energy.end();
  EXPECT_EQ(has_rates && !kind.edges.empty() && !kind.energy, listed)
      << "a kind with states and edges says what it stores: energy = \"C/2*v^2\"";
  if (!kind.energy || kind.energy.is_number(0)) return;
  // In its differentiated variables alone.
  for (Expr s : symbols_of(std::span(&kind.energy, 1))) {
    const bool parameter = std::any_of(kind.parameters.begin(), kind.parameters.end(),
                                       [&](const KindParameter& p) { return p.name == s.name(); });
    const bool state = std::any_of(symbols.begin(), symbols.end(),
                                   [&](Expr r) { return r.name() == "der(" + s.name() + ")"; });
    EXPECT_TRUE(parameter || state) << s.name();
  }
  for (const KindCheck& check : kind.checks) {
    SCOPED_TRACE(checks.text(kind, check));
    const Model model = checks.model(kind, check);
    SimulationOptions options;
    options.stop = check.expect.at("t");
    options.step = options.stop / 1000;
    options.sample = options.stop / 50;
    options.method = "tr";
    options.compile = false;
    options.balance = Balance::by_component;
    const SimulationResult result = Simulation(model, options, {}).run();
    ASSERT_EQ(result.failure, "");
    ASSERT_TRUE(result.balance->checked) << result.balance->reason;
    EXPECT_LT(result.balance->error, 1e-4) << result.balance->brief();
  }
}

// Parts of mechanisms are nothing by themselves: mechanisms_test.cpp has them.
std::vector<std::string> kinds_by_themselves() {
  std::vector<std::string> names = library_kinds(library);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("multibody."); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, Kinds, testing::ValuesIn(kinds_by_themselves()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace tellegen
