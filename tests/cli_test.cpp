// The program from outside: what it writes, prints and returns when all is well. cli_faults_test.cpp has the
// rest.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tellegen/results/compare.h"
#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path models = fs::path(TELLEGEN_SOURCE_DIR) / "models";
std::string model(const std::string& name) { return (models / name / "model.toml").string(); }

// RMS errors to expect from every model at its own step: the published tolerance of each benchmark.
const std::map<std::string, std::map<std::string, double>> tolerances{
    {"rlc", {{"V3", 1e-3}, {"I_L1", 1e-3}}},
    {"ladder-2", {{"V6", 1e-3}, {"I_L2", 1e-3}}},
    {"rectifier", {{"Vd1", 1e-3}, {"I_RL", 1e-3}}},
    {"pmsm-thermal", {{"T2", 0.1}, {"Q_water", 1.0}}},
    {"torque-converter",
     {{"w_p", 1e-5},
      {"w_t", 1e-5},
      {"w_s", 1e-5},
      {"Q", 1e-9},
      {"tau_s", 1e-5},
      {"E_loss", 1e-2},
      {"P_flow", 1e-2},
      {"P_shock", 1e-2}}},
    // A ten-thousandth of the peak currents, two of the peak torques; rad/s.
    {"generator-torque-step", {{"i_a", 2.9}, {"i_b", 2.9}, {"i_c", 2.9}, {"T_e", 360}, {"w_r", 1e-3}}},
    {"motor-free-acceleration", {{"i_a", 0.01}, {"i_b", 0.01}, {"i_c", 0.01}, {"T_e", 0.026}, {"w_r", 1e-2}}},
    {"generator-fault", {{"i_a", 12.9}, {"i_b", 12.9}, {"i_c", 12.9}, {"T_e", 3e4}, {"w_r", 1e-3}}},
    {"motor-sag", {{"i_a", 0.076}, {"i_b", 0.076}, {"i_c", 0.076}, {"T_e", 0.38}, {"w_r", 1e-2}}},
    // Half a percent of each peak; the reference's torque is that of an interpolant
    // (models/wrsm-mec/README.md).
    {"wrsm-mec",
     {{"lambda_q", 1.2e-4},
      {"lambda_d", 2.2e-4},
      {"lambda_0", 6.8e-6},
      {"i_q", 0.03},
      {"i_d", 0.034},
      {"i_0", 0.014},
      {"T_e", 1.5e-3}}},
    {"nimh-cell", {{"v_cell", 1e-9}, {"c_H", 1e-11}, {"c_MH", 1e-11}, {"p_O2", 1e-14}, {"i_R2", 1e-14}}},
};

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, simulates_and_agrees_with_its_reference) {
  std::vector<std::string> arguments{"simulate", model(GetParam()), "--json"};
  const fs::path reference = models / GetParam() / "reference.csv";
  if (fs::exists(reference)) arguments.insert(arguments.end(), {"--compare", reference.string()});
  const Ran ran = run_program(arguments);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const json summary = json::parse(ran.out);
  EXPECT_GT(summary.at("steps").get<int>(), 0);
  EXPECT_FALSE(summary.at("outputs").empty());
  if (!fs::exists(reference)) return;
  const auto& expected = tolerances.at(GetParam());
  EXPECT_EQ(summary.at("errors").size(), expected.size());
  for (const json& error : summary.at("errors"))
    EXPECT_LT(error.at("rms").get<double>(), expected.at(error.at("name"))) << error;
}

TEST_P(EveryModel, is_checked_without_faults) {
  const Ran ran = run_program({"check", model(GetParam()), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json found = json::parse(ran.out);
  EXPECT_TRUE(found.at("faults").empty());
  EXPECT_EQ(found.at("variables"), found.at("algebraic").get<int>() + found.at("differential").get<int>());
  EXPECT_EQ(run_program({"check", model(GetParam())}).code, 0);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(models))
    if (fs::exists(entry.path() / "model.toml")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cli, EveryModel, testing::ValuesIn(model_names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The other runs of --verify begin with the model as it is read, so the interpreter's bits are those of the
// first run.
TEST(CliSimulate, VerifiesShippedModels) {
  for (const std::string name : {"rectifier", "dc-motor", "inverter-leg", "pmsm-drive"}) {
    const Ran ran = run_program({"simulate", model(name), "--stop", "50 ms", "--verify", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const json& run : json::parse(ran.out).at("second_runs"))
      if (run.at("name") == "interpreted") {
        EXPECT_TRUE(run.at("agrees").get<bool>()) << name << run;
      }
  }
}

// Counts of the four benchmarks as Rodriguez et al., Energies 13 (2020) 1354, print them.
TEST(CliCheck, CountsAsThePaperDoes) {
  const std::map<std::string, std::array<int, 3>> published{{"rlc", {8, 5, 3}},
                                                            {"ladder-2", {13, 9, 4}},
                                                            {"rectifier", {20, 19, 1}},
                                                            {"pmsm-thermal", {49, 40, 9}}};
  for (const auto& [name, counts] : published) {
    const json found = json::parse(run_program({"check", model(name), "--json"}).out);
    EXPECT_EQ(found.at("variables"), counts[0]) << name;
    EXPECT_EQ(found.at("algebraic"), counts[1]) << name;
    EXPECT_EQ(found.at("differential"), counts[2]) << name;
  }
}

TEST(CliCheck, SaysWhatARedundantStorageFollowsFrom) {
  const Ran ran = run_program({"check", model("rlc")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("2 states: l1.i = 0 A, c1.v = 0 V"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("c2.v = c1.v"), std::string::npos) << ran.out;
}

TEST(CliSimulate, CsvHasTimeFirstThenNamesWithUnitsAtTheExactSamples) {
  const TestFolder folder;
  const Ran ran = run_program({"simulate", model("rc-thermal"), "--stop", "10 ms", "--step", "1ms",
                               "--output", (folder / "run.csv").string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(get(folder / "run.csv").substr(0, 29), "t [s],T2 [K],T1 [degC]\n0,299,");
  const Trajectory run = read_csv(folder / "run.csv");
  ASSERT_EQ(run.rows(), 11u);
  for (std::size_t k = 0; k < run.rows(); ++k) {
    EXPECT_DOUBLE_EQ(run.t[k], 1e-3 * static_cast<double>(k));
    EXPECT_NEAR(run.at(k, 0), 299.0 + 100.0 * run.t[k], 1e-9);                  // the closed form
    EXPECT_NEAR(run.at(k, 1), 299.0 + 10.0 - 273.15 + 100.0 * run.t[k], 1e-9);  // in the unit declared
  }
}

TEST(CliSimulate, SampleThinsTheRowsAndKeepsTheStep) {
  const TestFolder folder;
  const Ran ran = run_program({"simulate", model("rc-thermal"), "--stop=0.1s", "--sample", "20 ms",
                               "--output", (folder / "run.csv").string(), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_csv(folder / "run.csv").rows(), 6u);
  EXPECT_EQ(json::parse(ran.out).at("steps"), 100);
}

// 1e-6 is also what holds where nobody says anything.
TEST(CliSimulate, AToleranceOfTheCommandLineGoesBeforeTheModels) {
  const TestFolder folder;
  put(folder / "rc.toml", R"toml(name = "rc"
[components]
source = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "sin(300*t)" }
r      = { kind = "electrical.resistor", p = "a", n = "b", R = 1.0 }
c      = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.01 }
[simulation]
stop = "100 ms"
method = "adaptive"
tolerance = 1e-2
)toml");
  const auto steps = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"simulate", (folder / "rc.toml").string(), "--sample", "50ms",
                                       "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out).at("steps").get<int>();
  };
  EXPECT_GT(steps({"--tolerance", "1e-6"}), 2 * steps({}));
  EXPECT_NEAR(steps({"--tolerance", "1e-6"}), steps({"--tolerance", "1.0001e-6"}), 5);
}

TEST(CliSimulate, Hdf5HoldsTheSameAsCsv) {
  const TestFolder folder;
  for (const char* name : {"run.csv", "run.h5"})
    ASSERT_EQ(run_program({"simulate", model("dc-motor"), "--output", (folder / name).string()}).code, 0);
  const Trajectory csv = read_csv(folder / "run.csv"), hdf5 = read_hdf5(folder / "run.h5");
  EXPECT_EQ(csv.names, hdf5.names);
  EXPECT_EQ(csv.units, hdf5.units);
  EXPECT_EQ(csv.t, hdf5.t);
  EXPECT_EQ(csv.values, hdf5.values);
}

TEST(CliSimulate, SetReplacesAParameter) {
  const Ran ran = run_program(
      {"simulate", "--set", "Q0=20 W", "--set", "C1=0.2J/K", model("rc-thermal"), "--json", "--stop", "1s"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NEAR(json::parse(ran.out).at("outputs")[0].at("final").get<double>(), 399.0, 1e-6);
}

TEST(CliSimulate, AllReportsEveryVariable) {
  const TestFolder folder;
  ASSERT_EQ(run_program({"simulate", model("rlc"), "--all", "--output", (folder / "run.csv").string()}).code,
            0);
  const Trajectory run = read_csv(folder / "run.csv");
  for (const char* name : {"n2.v", "n3.v", "e1.i", "r1.i", "l1.i", "c1.i", "c2.i"})
    EXPECT_TRUE(run.find(name)) << name;
}

// `c.v` is the capacitor's and the node's: runs, derivatives, events and estimates are those of a node with a
// name of its own.
TEST(CliSimulate, AStorageNamedAsItsNodeIsAnyOther) {
  const TestFolder folder;
  const auto text = [](const std::string& node, const char* start) {
    return "name = 'charging'\n[parameters]\nC = '1 mF'\nR = '1 kohm'\n[inputs]\nu = { value = 10, unit = "
           "'V' }\n[components]\n"
           "src = { kind = 'electrical.voltage_source', p = 'in', n = 'datum', V = 'u' }\n"
           "r = { kind = 'electrical.resistor', p = 'in', n = '" +
           node +
           "', R = 'R' }\n"
           "c = { kind = 'electrical.capacitor', p = '" +
           node +
           "', n = 'datum', C = 'C' }\n"
           "hit = { kind = 'signals.comparator', u = 'c.v', upper = 5 }\n"
           "[sensors]\nV = { measures = 'c.v', noise = '10 mV' }\n"
           "[outputs]\ne = { value = '0.5*C*c.v^2', unit = 'mJ' }\ny = 'hit.y'\ni = 'c.i'\n"
           "[objectives]\nwhen = { time_when = 'c.v > 5' }\n[unknowns]\nR = { start = '2 kohm' }\n"
           "[estimate]\ninputs = ['u']\nstates = { 'c.v' = { deviation = '1 V', noise = '1 mV' } }\n"
           "[initial]\n'c.v' = " +
           start + "\n[simulation]\nstop = '2 s'\nstep = '1 ms'\n";
  };
  const auto said = [&](std::vector<std::string> arguments) {
    const Ran ran = run_program(std::move(arguments));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string same = (folder / "same.toml").string(), other = (folder / "other.toml").string();
  for (const char* start : {"'1 V'", "'steady'"}) {
    put(same, text("c", start));
    put(other, text("cap", start));
    for (const char* method : {"bdf2", "rk4", "adaptive"}) {
      for (const std::string& file : {same, other})
        said({"simulate", file, "--method", method, "--outputs", "c.v, e, y, i", "--output", file + ".csv"});
      EXPECT_EQ(get(same + ".csv"), get(other + ".csv")) << method;
    }
  }
  const Trajectory steady = read_csv(same + ".csv");
  EXPECT_NEAR(steady.at(0, 0), 10.0, 1e-9);
  put(same, text("c", "'1 V'"));
  put(other, text("cap", "'1 V'"));
  EXPECT_EQ(said({"rank", same, "--of", "when"}), said({"rank", other, "--of", "when"}));
  said({"synthesize", other, "--output", (folder / "record.csv").string()});
  const auto found = [&](const std::string& file) {
    return json::parse(said({"calibrate", file, "--data", (folder / "record.csv").string(), "--json"}))
        .at("stages")[0]
        .at("parameters");
  };
  EXPECT_EQ(found(same), found(other));
}

TEST(CliSimulate, OutputsTakesVariablesFormulasAndTheModelsOwn) {
  const TestFolder folder;
  const Ran ran = run_program({"simulate", model("rlc"), "--outputs", "n3.v, r1.i*2, max(n3.v, 0), V3",
                               "--output", (folder / "run.csv").string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Trajectory run = read_csv(folder / "run.csv");
  EXPECT_EQ(run.names, (std::vector<std::string>{"n3.v", "r1.i*2", "max(n3.v, 0)", "V3"}));
  EXPECT_EQ(run.units, (std::vector<std::string>{"V", "", "", "V"}));
  EXPECT_EQ(run.at(run.rows() - 1, 0), run.at(run.rows() - 1, 3));
}

TEST(CliSimulate, InterpretedAndCompiledRunsAgreeToTheLastDigit) {
  const TestFolder folder;
  ASSERT_EQ(run_program({"simulate", model("rectifier"), "--output", (folder / "a.csv").string()}).code, 0);
  ASSERT_EQ(
      run_program({"simulate", model("rectifier"), "--interpret", "--output", (folder / "b.csv").string()})
          .code,
      0);
  EXPECT_EQ(get(folder / "a.csv"), get(folder / "b.csv"));
}

TEST(CliSimulate, PrintsATableWithoutOutputAndJsonToAFile) {
  const TestFolder folder;
  const Ran ran = run_program({"simulate", model("rc-thermal"), "--json", (folder / "run.json").string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("output   unit"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("5000 steps of 0.001 s"), std::string::npos) << ran.out;
  const json summary = json::parse(get(folder / "run.json"));
  EXPECT_EQ(summary.at("steps"), 5000);
  EXPECT_EQ(summary.at("step"), 1e-3);
  EXPECT_EQ(summary.at("method"), "bdf3");
  EXPECT_GT(summary.at("real_time_factor"), 0.0);
}

TEST(CliSimulate, JsonBeforeTheFileDoesNotSwallowIt) {
  const Ran ran = run_program({"simulate", "--json", model("rc-thermal")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("model"), "RC thermal benchmark");
}

TEST(CliSimulate, PlotsAsSvgAndPng) {
  const TestFolder folder;
  for (const char* name : {"run.svg", "run.png"}) {
    const Ran ran = run_program({"simulate", model("rc-thermal"), "--plot", (folder / name).string()});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  EXPECT_NE(get(folder / "run.svg").find("RC thermal benchmark"), std::string::npos);
  EXPECT_EQ(get(folder / "run.png").substr(1, 3), "PNG");
  EXPECT_EQ(folder.file_count(), 2u);
}

// The rows of both halves are those of the whole; the second one may end later than the first was to.
TEST(CliSimulate, ARunThatWasSavedGoesOn) {
  TestFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  for (const char* name : {"rectifier", "inverter-leg"}) {
    const std::string file = model(name);
    const double stop = json::parse(run_program({"simulate", file, "--json"}).out).at("stop");
    const std::string half = std::to_string(stop / 2) + "s", whole = std::to_string(stop) + "s";
    const Ran all =
        run_program({"simulate", file, "--stop", whole, "--interpret", "--output", at("all.csv")});
    ASSERT_EQ(all.code, 0) << all.err;
    const Ran first = run_program({"simulate", file, "--stop", half, "--interpret", "--output",
                                   at("first.csv"), "--checkpoint", at("a.run"), "--every", "1ms"});
    ASSERT_EQ(first.code, 0) << first.err;
    const Ran rest = run_program({"simulate", file, "--stop", whole, "--interpret", "--output",
                                  at("rest.csv"), "--resume", at("a.run")});
    ASSERT_EQ(rest.code, 0) << rest.err;
    const std::string second = get(at("rest.csv"));
    EXPECT_TRUE(get(at("first.csv")) + second.substr(second.find('\n') + 1) == get(at("all.csv"))) << name;
    const Ran other = run_program({"simulate", file, "--method", "bdf1", "--resume", at("a.run")});
    EXPECT_EQ(other.code, 2);
    EXPECT_NE(other.err.find("T632"), std::string::npos) << other.err;
  }
  put(at("no.run"), "hello");
  EXPECT_NE(run_program({"simulate", model("rlc"), "--resume", at("no.run")}).err.find("T631"),
            std::string::npos);
  EXPECT_NE(run_program({"simulate", model("rlc"), "--method", "adaptive-ida", "--checkpoint", at("b.run")})
                .err.find("T321"),
            std::string::npos);
  EXPECT_NE(run_program({"simulate", model("rlc"), "--plot", at("p.svg"), "--resume", at("a.run")}).code, 0);
}

TEST(CliLibrary, ListsEveryKindOnItsShelfWithItsSummary) {
  const Ran ran = run_program({"library"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("electrical\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\nthermal\n"), std::string::npos) << ran.out;
  const json list = json::parse(run_program({"library", "--json"}).out);
  std::size_t files = 0;  // on a shelf: what stands at the top is about all of them
  const fs::path library = fs::path(TELLEGEN_SOURCE_DIR) / "library";
  for (const auto& entry : fs::recursive_directory_iterator(library))
    files += entry.path().extension() == ".toml" && entry.path().parent_path() != library;
  EXPECT_EQ(list.size(), files);
  for (const json& kind : list) {
    EXPECT_NE(ran.out.find("  " + kind.at("name").get<std::string>() + " "), std::string::npos) << kind;
    EXPECT_NE(ran.out.find(kind.at("summary").get<std::string>()), std::string::npos) << kind;
  }
  const json shelf = json::parse(run_program({"library", "thermal", "--json"}).out);
  EXPECT_GT(shelf.size(), 5u);
  for (const json& kind : shelf) EXPECT_EQ(kind.at("name").get<std::string>().rfind("thermal.", 0), 0u);
}

TEST(CliLibrary, ShowsAKindAsItsFileHasIt) {
  const Ran ran = run_program({"library", "electrical.diode"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* line :
       {"Junction diode with series resistance", "  p  electrical\n",
        "  junction  from p to j  (electrical)\n", "internal nodes\n  j\n", "series.v = Rs*series.i",
        "= junction.v + series.v", "given   Is = 1e-15, N = 1.5", "default 1.380649e-23*T/1.602176634e-19"})
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << "\n" << ran.out;
  const json kind = json::parse(run_program({"library", "electrical.capacitor", "--json"}).out);
  EXPECT_EQ(kind.at("ports")[1], (json{{"name", "n"}, {"domain", "electrical"}}));
  EXPECT_EQ(kind.at("equations"), json{"i = C*der(v)"});
  EXPECT_EQ(kind.at("parameters")[0].at("required"), true);
  EXPECT_EQ(kind.at("parameters")[0].at("bounds"), "above 0");
  EXPECT_EQ(kind.at("parameters")[1].at("default"), "0");
  EXPECT_EQ(kind.at("initial").at("v"), "v0");
  EXPECT_EQ(kind.at("checks")[0].at("expect").at("v"), "1");
  const json held = json::parse(run_program({"library", "signals.sample_hold", "--json"}).out);
  EXPECT_EQ(held.at("discrete")[0].at("every"), "period");
}

TEST(CliLibrary, SuggestsKindsThatAreNamedAlike) {
  const Ran typo = run_program({"library", "electrical.diod"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_EQ(typo.err.rfind("tellegen library: T570: the library has no kind 'electrical.diod'", 0), 0u)
      << typo.err;
  EXPECT_NE(typo.err.find("'electrical.diode'"), std::string::npos) << typo.err;
  const Ran shelf = run_program({"library", "spring"});
  EXPECT_NE(shelf.err.find("did you mean 'multibody.spring', 'rotational.spring', 'translational.spring'?"),
            std::string::npos)
      << shelf.err;
  const Ran wild = run_program({"library", "qwertyuiop"});
  EXPECT_EQ(wild.code, 2);
  EXPECT_EQ(wild.err.find("did you mean"), std::string::npos) << wild.err;
}

TEST(Cli, HelpAndVersionAreNoFaults) {
  EXPECT_EQ(run_program({"--version"}).out.rfind("tellegen ", 0), 0u);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"simulate", "--help"},
                                                {"check", "--help"},
                                                {"library", "--help"},
                                                {"benchmark", "--help"}}) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("Usage"), std::string::npos) << ran.out;
  }
  EXPECT_EQ(run_program({}).code, 2);
}

}  // namespace
}  // namespace tellegen
