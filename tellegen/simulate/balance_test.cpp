#include "tellegen/simulate/balance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tellegen/model/read.h"
#include "tellegen/simulate/network_integrator.h"
#include "tellegen/simulate/second_run.h"
#include "tellegen/simulate/test_run.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {
namespace balance_test {

namespace fs = std::filesystem;

SimulationResult balanced(std::string_view components, SimulationOptions options,
                          Balance how = Balance::by_component) {
  options.balance = how;
  const Model model = model_of(components);
  SimulationResult result = Simulation(model, options, {}).run();
  EXPECT_EQ(result.failure, "");
  EXPECT_TRUE(result.balance.has_value());
  return result;
}

constexpr const char* charging = R"(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 10 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 2 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.1 }
)";

// Charged from a source, a capacitor holds C V^2/2 and as much is lost on the way.
// Flows of rounding add up to anything: of a cell at rest nothing is said.
TEST(EnergyAccount, a_network_at_rest_is_not_accused) {
  const Model model = model_of(R"(
src = { kind = "electrical.current_source", p = "datum", n = "plus", I = 0 }
cell = { kind = "battery.equivalent_circuit", p = "plus", n = "datum", OCV = [[0, 3.1], [1, 4.2]], R0 = "1 mohm", R1 = "0.5 mohm", C1 = "20 kF", R2 = "1 mohm", C2 = "100 kF", capacity = "50 Ah", soc0 = 0.6 }
)");
  SimulationOptions options = options_of("bdf3", 10.0, 1.0 / 32);
  options.balance = Balance::on;
  const SimulationResult result = Simulation(model, options, {}).run();
  ASSERT_TRUE(result.balance);
  EXPECT_EQ(result.balance->warning(), "");
}

TEST(Balance, half_of_what_a_source_gives_is_in_the_capacitor) {
  for (const char* method : {"bdf2", "bdf3", "tr", "rk4", "adaptive"}) {
    const auto run = balanced(charging, options_of(method, 4.0, 1e-3));
    const EnergyBalance& b = *run.balance;
    ASSERT_TRUE(b.checked) << method;
    EXPECT_NEAR(b.delivered, 10.0, 1e-3) << method;
    EXPECT_NEAR(b.stored, 5.0, 1e-6) << method;
    EXPECT_LT(b.error, 1e-4) << method;
    EXPECT_EQ(b.warning(), "") << method;
    EXPECT_LT(b.power_error, 1e-9) << method;
  }
}

// 20 J circulate without loss; backward Euler damps them away, and nothing in the model does.
constexpr const char* swinging = R"(
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.1, v0 = 20 }
l = { kind = "electrical.inductor", p = "a", n = "datum", L = 0.1 }
)";

TEST(Balance, energy_that_backward_euler_destroys_is_missed_and_a_component_named) {
  const auto damped = balanced(swinging, options_of("bdf1", 5.0, 0.01));
  EXPECT_GT(damped.balance->error, 0.05);
  EXPECT_NE(damped.balance->warning().find("the largest share is that of '"), std::string::npos);
  ASSERT_EQ(damped.warnings().size(), 1u);
  EXPECT_EQ(balanced(swinging, options_of("tr", 5.0, 0.01)).balance->warning(), "");
}

// A capacitor whose kind says twice the energy.
TEST(Balance, a_kind_with_a_wrong_energy_is_named) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-balance";
  fs::create_directories(folder / "mine");
  const auto kind = [&](const std::string& name, const std::string& energy) {
    std::ofstream(folder / "mine" / (name + ".toml"))
        << "summary = \"a capacitor\"\ndomain = \"electrical\"\nedges = { c = [\"p\", \"n\"] }\n" + energy +
               "[parameters]\nC = { unit = \"F\", summary = \"capacitance\" }\n"
               "[equations]\nterminal = [\"i = C*der(v)\"]\n[initial]\nv = 0\n";
  };
  kind("wrong", "energy = \"C*v^2\"\n");
  kind("silent", "");
  const auto run = [&](const std::string& name) {
    ReadOptions read;
    read.library = TELLEGEN_SOURCE_DIR "/library";
    const Model model =
        read_model_text("name = \"m\"\n[components]\n" + std::string(charging) + "d = { kind = \"mine." +
                            name + "\", p = \"b\", n = \"datum\", C = 0.01 }\n",
                        folder / "model.toml", read);
    SimulationOptions options = options_of("bdf2", 4.0, 1e-3);
    options.balance = Balance::by_component;
    return Simulation(model, options, {}).run().balance.value();
  };
  const EnergyBalance wrong = run("wrong");
  EXPECT_NE(wrong.warning().find("'d': 500 mJ flowed in, 1000 mJ is stored"), std::string::npos)
      << wrong.warning();
  const EnergyBalance silent = run("silent");
  EXPECT_EQ(silent.warning(), "");
  EXPECT_EQ(silent.unknown, std::vector<std::string>{"d"});
  fs::remove_all(folder);
}

TEST(Balance, leaves_the_solution_as_it_is_to_the_last_bit) {
  const std::string rectifier = R"(
e = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 10, frequency = 50 }
d = { kind = "electrical.diode", p = "a", n = "b" }
s = { kind = "electrical.switch", p = "b", n = "k", cp = "a", cn = "datum", Vt = 5, Vh = 1 }
r = { kind = "electrical.resistor", p = "k", n = "datum", R = 5 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 mF" }
q = { kind = "electrical.resistor", p = "b", n = "datum", R = 500 }
)";
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "adaptive"})
    for (const char* form : {"auto", "minimal"}) {
      SimulationOptions options = options_of(method, 0.03, 1e-4);
      options.form = form;
      const Model model = model_of(rectifier);
      const auto without = Simulation(model, options, {}).run();
      const auto with = balanced(rectifier, options, Balance::on);
      EXPECT_EQ(without.values, with.values) << method << " " << form;
      EXPECT_EQ(with.balance->warning(), "") << method << " " << form;
    }
}

TEST(Balance, a_network_of_any_size_gives_that_of_the_whole_step) {
  SimulationOptions options = options_of("bdf3", 0.03, 1e-4);
  options.balance = Balance::on;
  const Model model = model_of(charging);
  const EquationSystem system = build_system(model);
  const Simulation simulation(system, options, {});
  const Problem& problem = simulation.problem();
  const auto network = followed_network(problem, build_network(system));
  WholeIntegrator whole(problem, build_network(system));
  std::vector<double> rows(300 * problem.outputs.size());
  ASSERT_EQ(network->advance(300, rows.data()), 300);
  const Totals a = network->totals();
  ASSERT_EQ(a.steps, 60);
  ASSERT_EQ(whole.advance(60, rows.data()), 60);
  const Totals b = whole.totals();
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t k = 0; k < a.values.size(); ++k)
    EXPECT_NEAR(a.values[k], b.values[k], 1e-12 * std::abs(b.values[k]));
}

// 100 W into 50 J/K beside 0.5 K/W to the surroundings: in the end 100 W leave, 50*50 = 2500 J are stored.
TEST(Balance, heat_is_counted_as_heat) {
  for (const char* end : {"datum", "air"}) {
    const auto run = balanced(fmt::format(R"(
q = {{ kind = "thermal.heat_source", p = "air", n = "body", Q = 100 }}
c = {{ kind = "thermal.capacitor", p = "body", n = "{}", C = 50, T0 = {} }}
r = {{ kind = "thermal.resistor", p = "body", n = "air", R = 0.5 }}
a = {{ kind = "thermal.fixed_temperature", p = "air", T = 300 }}
)",
                                          end, std::string(end) == "datum" ? 300 : 0),
                              options_of("bdf2", 500.0, 0.5));
    ASSERT_TRUE(run.balance->checked) << end;
    EXPECT_NEAR(run.balance->stored, 2500.0, 0.1) << end;
    EXPECT_NEAR(run.balance->flown_in, 2500.0, 1.0) << end;
    EXPECT_NEAR(run.balance->delivered, 2500.0, 1.0) << end;
    EXPECT_EQ(run.balance->warning(), "") << end;
  }
}

// Heat flows into large masses at room temperature, over short steps, are differences of a last digit.
TEST(Balance, flows_that_are_rounding_of_large_potentials_are_not_accused) {
  for (const char* method : {"tr", "bdf2"}) {
    SimulationOptions options = options_of(method, 0.02, 1e-5);
    options.sample = 1e-3;
    options.balance = Balance::on;
    const TestRun run(
        "air  = { kind = \"thermal.fixed_temperature\", p = \"ambient\", T = 298.15 }\n"
        "mass = { kind = \"thermal.capacitor\", p = \"block\", n = \"ambient\", C = 900, T0 = 0 }\n"
        "wall = { kind = \"thermal.convection\", p = \"block\", n = \"ambient\", h = 12, area = 0.06 }\n"
        "loss = { kind = \"thermal.heat_source\", p = \"datum\", n = \"block\", Q = 0.01 }\n",
        options, {"block.T"});
    ASSERT_TRUE(run.result.balance && run.result.balance->power_checked) << method;
    EXPECT_LT(run.result.balance->power_error, 1e-9) << method;
    EXPECT_EQ(run.result.balance->warning(), "") << method;
  }
}

// 300 K that change by a hundredth of a kelvin a second, and a row at the very instant of the jump: over that
// instant nearly equal values would differ.
TEST(Balance, a_row_at_a_jump_has_the_rates_of_the_equations) {
  for (const char* method : {"adaptive", "bdf2", "tr"}) {
    SimulationOptions options = options_of(method, 100.0, 1.0);
    options.sample = 10.0;
    const auto run = balanced(R"toml(
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "if(t < 50, 3, 1)" }
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = 500, T0 = 300 }
r = { kind = "thermal.resistor", p = "body", n = "air", R = 2 }
a = { kind = "thermal.fixed_temperature", p = "air", T = 295 }
)toml",
                              options);
    ASSERT_TRUE(run.balance->power_checked) << method;
    EXPECT_LT(run.balance->power_error, method == std::string("adaptive") ? 1e-9 : 1e-6) << method;
  }
}

TEST(SecondRun, agrees_where_the_step_is_short_and_names_what_differs_where_it_is_long) {
  const auto with_new_equations = [](const UseOfEquations& use) {
    const Model model = model_of(swinging);
    use(build_system(model), columns_of(model, {"c.v"}));
  };
  const auto compared = [&](const char* method, double step) {
    SimulationOptions options = options_of(method, 2.0, step);
    options.sample = 0.02;
    SimulationResult run;
    with_new_equations([&](const EquationSystem& system, const std::vector<OutputColumn>& columns) {
      run = Simulation(system, options, columns).run();
    });
    return second_runs(with_new_equations, options, run, 0.01);
  };
  for (const SecondRun& run : compared("bdf3", 5e-4)) EXPECT_TRUE(run.agrees()) << run.name << run.failure;
  const auto coarse = compared("bdf1", 0.01);
  const auto warnings = second_run_warnings(coarse);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("'c.v'"), std::string::npos) << warnings[0];
  EXPECT_EQ(coarse[1].name, "half the step");
}

}  // namespace balance_test
}  // namespace tellegen
