// Wrong input and failing studies from outside: exit code, what is said, and that no file suffers.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

const fs::path root = TELLEGEN_SOURCE_DIR;
const std::string rlc = (root / "models/rlc/model.toml").string();
const std::string thermal = (root / "models/rc-thermal/model.toml").string();
const std::string rc_realtime = (root / "models/rc-realtime/model.toml").string();
std::string bad(const std::string& name) { return (root / "tests/models_bad" / name).string(); }

struct Wrong {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> said;  // in this order, each once the one before is found
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

void expect_said(const std::string& text, const std::vector<std::string>& said) {
  std::size_t at = 0;
  for (const std::string& part : said) {
    at = text.find(part, at);
    EXPECT_NE(at, std::string::npos) << "not said: " << part << "\nin:\n" << text;
    if (at == std::string::npos) return;
  }
}

class WrongInput : public testing::TestWithParam<Wrong> {};

TEST_P(WrongInput, is_told_on_stderr_and_ends_with_2) {
  const Ran ran = run_program(GetParam().arguments);
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  expect_said(ran.err, GetParam().said);
}

const std::vector<Wrong> wrong_inputs{
    {"unknown_command",
     {"simulat", rlc},
     {"tellegen: T400: there is no command 'simulat'", "did you mean 'simulate'?"}},
    {"unknown_option",
     {"simulate", rlc, "--stpo", "5s"},
     {"tellegen simulate: T400: there is no option '--stpo'", "did you mean '--stop'?"}},
    {"unknown_option_with_value",
     {"simulate", "--metod=bdf2", rlc},
     {"there is no option '--metod'", "'--method'"}},
    {"option_of_other_programs",
     {"simulate", rlc, "--fft"},
     {"there is no option '--fft'", ".four 50 v(out)"}},
    {"option_of_another_command",
     {"simulate", rlc, "--smooth"},
     {"there is no option '--smooth'", "tellegen estimate has it"}},
    {"nothing_to_calibrate",
     {"calibrate", rlc, "--data", (root / "models/rlc/reference.csv").string()},
     {"T601: there is nothing to calibrate", "--parameters"}},
    {"empty_data", {"data", "/dev/null"}, {"/dev/null: T590: the data file is empty"}},
    {"no_file", {"simulate"}, {"tellegen simulate: T401: FILE is required"}},
    {"two_files", {"simulate", rlc, thermal}, {"T400: '" + thermal + "' is one argument too many"}},
    {"missing_file",
     {"simulate", "none/model.toml"},
     {"T180: cannot read 'none/model.toml'", "there is no such file"}},
    {"folder_as_file", {"simulate", (root / "models").string()}, {"T180"}},
    {"unknown_unit", {"simulate", rlc, "--stop", "5 sx"}, {"T401: --stop '5 sx' has the unknown unit 'sx'"}},
    {"not_a_time", {"simulate", rlc, "--step", "5 m"}, {"T401: --step '5 m' is not a time"}},
    {"no_number", {"simulate", rlc, "--sample", "soon"}, {"T401: --sample 'soon' is not a time"}},
    {"zero_stop", {"simulate", rlc, "--stop", "0"}, {"T401: --stop must be above 0 s"}},
    {"negative_step", {"simulate", rlc, "--step=-1ms"}, {"T401: --step must be above 0 s"}},
    {"option_without_value", {"simulate", rlc, "--stop"}, {"T401", "--stop"}},
    {"iterations_not_a_number",
     {"simulate", rlc, "--iterations", "few"},
     {"T401: --iterations: 'few' is not a whole number above 0"}},
    {"unknown_method",
     {"simulate", rlc, "--method", "bdf"},
     {"T401: --method 'bdf' does not exist", "did you mean 'bdf", "known: "}},
    {"unknown_form",
     {"simulate", rlc, "--form", "minimum"},
     {"--form 'minimum' does not exist", "'minimal'"}},
    {"long_sample",
     {"simulate", thermal, "--sample", "10 s"},
     {"the sample interval is longer than the simulation"}},
    {"wrong_assignment",
     {"simulate", thermal, "--set", "Q0"},
     {"T401: --set 'Q0' is not a parameter and its value"}},
    {"unknown_parameter", {"simulate", thermal, "--set", "Q1=3"}, {"T130", "Q1", "'Q0'"}},
    {"parameter_in_wrong_unit", {"simulate", thermal, "--set", "Q0=3 V"}, {"T123", "Q0"}},
    {"parameter_out_of_bounds", {"simulate", thermal, "--set", "R1=-1 K/W"}, {"T124", "r1", "above 0"}},
    {"unknown_output",
     {"simulate", rlc, "--outputs", "n3.vv, n3.v"},
     {"tellegen simulate --outputs: T121", "'n3.vv'", "did you mean 'n3.v'?"}},
    {"unreadable_output", {"simulate", rlc, "--outputs", "n3.v*"}, {"T120"}},
    {"all_and_outputs", {"simulate", rlc, "--outputs", "n3.v", "--all"}, {"T401", "--all"}},
    {"no_output_folder",
     {"simulate", rlc, "--output", "none/run.csv"},
     {"T402: --output cannot write 'none/run.csv'", "there is no folder 'none'"}},
    {"unwritable_folder",
     {"simulate", rlc, "--output", "/proc/run.csv"},
     {"T402: --output cannot write '/proc/run.csv'"}},
    {"output_ending",
     {"simulate", rlc, "--output", "run.xls"},
     {"T402: --output 'run.xls'", "'.csv', '.h5'"}},
    {"plot_ending", {"simulate", rlc, "--plot", "run.pdf"}, {"T402: --plot 'run.pdf'", "'.svg', '.png'"}},
    {"no_reference", {"simulate", rlc, "--compare", "none.csv"}, {"T403: --compare: cannot read 'none.csv'"}},
    {"foreign_reference",
     {"simulate", thermal, "--compare", (root / "models/rlc/reference.csv").string()},
     {"T403: 'V3' of", "is no output of this run", "outputs: 'T2', 'T1'"}},
    {"reference_beyond_the_run",
     {"simulate", rlc, "--stop", "1 s", "--compare", (root / "models/rlc/reference.csv").string()},
     {"T403", "has a row at t = 1", "until 1 s"}},
    {"realtime_options_without_it",
     {"simulate", rlc, "--listen", "udp:5000"},
     {"T401: --listen requires --realtime"}},
    {"realtime_and_compare",
     {"simulate", rlc, "--realtime", "--compare", (root / "models/rlc/reference.csv").string()},
     {"T401: ", "excludes"}},
    {"endless_without_realtime", {"simulate", rlc, "--stop", "inf"}, {"T401: --stop 'inf' is not a time"}},
    {"not_an_address",
     {"simulate", rlc, "--realtime", "--send", "tcp:80"},
     {"T550: 'tcp:80' is not an address", "unix:PATH"}},
    {"nothing_to_listen_for",
     {"simulate", rlc, "--realtime", "--listen", "udp:5000"},
     {"T401: --listen: the model has no inputs", "[inputs]"}},
    {"unknown_external",
     {"simulate", rc_realtime, "--realtime", "--listen", "udp:5000", "--external", "v"},
     {"T131: there is no input 'v'", "its inputs: 'u'"}},
    {"external_twice",
     {"simulate", rc_realtime, "--realtime", "--listen", "udp:5000", "--external", "u, u"},
     {"T401: --external names 'u' twice"}},
    {"priority_too_high",
     {"simulate", rlc, "--realtime", "--priority", "100"},
     {"T401: --priority: '100' is not a priority, 1 to 99"}},
    {"negative_misses",
     {"simulate", rlc, "--realtime", "--max-miss=-1"},
     {"T401: --max-miss: '-1' is not a whole number from 0 on"}},
    {"exact_from_outside",
     {"simulate", rc_realtime, "--realtime", "--listen", "udp:5000", "--method", "exact"},
     {"T317: method 'exact' cannot follow 'u.value'"}},
    {"not_toml", {"simulate", bad("not_toml.toml")}, {"not_toml.toml:4: T100"}},
    {"every_fault_at_once",
     {"simulate", bad("unknown_names.toml")},
     {":12: T110", "did you mean 'electrical.resistor'?", ":13: T112", ":16: T121"}},
    {"checked_the_same", {"check", bad("units.toml")}, {":10: T123", ":11: T122", ":26: T123"}},
    {"domain_conflict", {"check", bad("domain_conflict.toml")}, {":4: T114"}},
};

INSTANTIATE_TEST_SUITE_P(Cli, WrongInput, testing::ValuesIn(wrong_inputs),
                         [](const auto& test) { return test.param.name; });

const std::string ends = "\n[simulation]\nstop = \"1 s\"\nstep = \"0.1 s\"\n";

// Networks that hold together as files and not as graphs.
struct WrongGraph {
  std::string name, components;
  std::vector<std::string> said;
};

void PrintTo(const WrongGraph& wrong, std::ostream* out) { *out << wrong.name; }

class WrongGraphs : public testing::TestWithParam<WrongGraph> {};

TEST_P(WrongGraphs, are_told_by_check_and_by_simulate) {
  const TestFolder folder;
  put(folder / "model.toml", "[components]\n" + GetParam().components + ends);
  for (const char* command : {"check", "simulate"}) {
    const Ran ran = run_program({command, (folder / "model.toml").string()});
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_EQ(ran.out, "");
    expect_said(ran.err, GetParam().said);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cli, WrongGraphs,
    testing::Values(WrongGraph{"floating_part",
                               "r1 = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = 1 }\n"
                               "r2 = { kind = 'electrical.resistor', p = 'b', n = 'c', R = 1 }\n",
                               {"model.toml:3: T201", "'b.v', 'c.v' are not determined"}},
                    WrongGraph{"parallel_sources",
                               "v1 = { kind = 'electrical.voltage_source', p = 'a', n = 'datum', V = 1 }\n"
                               "v2 = { kind = 'electrical.voltage_source', p = 'a', n = 'datum', V = 2 }\n",
                               {"T202", "'v2', 'v1' form a circuit"}},
                    WrongGraph{"current_without_a_way_back",
                               "r1 = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = 1 }\n"
                               "i1 = { kind = 'electrical.current_source', p = 'a', n = 'b', I = 2 }\n",
                               {"T203", "'i1'", "no way back"}},
                    WrongGraph{
                        "contradicting_initial_values",
                        "c1 = { kind = 'electrical.capacitor', p = 'a', n = 'datum', C = 1, v0 = 1 }\n"
                        "c2 = { kind = 'electrical.capacitor', p = 'a', n = 'datum', C = 1, v0 = 2 }\n",
                        {"T301", "contradicts the network"}}),
    [](const auto& test) { return test.param.name; });

TEST(CliFaults, NothingToIntegrateToIsTold) {
  const TestFolder folder;
  put(folder / "model.toml",
      "[components]\nr1 = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = 1 }\n");
  EXPECT_EQ(run_program({"check", (folder / "model.toml").string()}).code, 0);
  const Ran ran = run_program({"simulate", (folder / "model.toml").string()});
  EXPECT_EQ(ran.code, 2);
  expect_said(ran.err, {"T310: stop must be a positive time", "--stop"});
}

TEST(CliFaults, CheckGivesTheFaultsAsJsonToo) {
  const Ran ran = run_program({"check", bad("units.toml"), "--json"});
  EXPECT_EQ(ran.code, 2);
  const auto faults = nlohmann::json::parse(ran.out).at("faults");
  EXPECT_GE(faults.size(), 8u);
  EXPECT_EQ(faults[0].at("line"), 10);
  EXPECT_EQ(faults[0].at("code"), "T123");
}

TEST(CliFaults, UsageFaultsAreJsonToo) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", rlc, "--json", "--bogus"},
        {"simulate", "--json"},
        {"check", rlc, "--json", "--bogus"},
        {"check", rlc, "--json", "--set", "R1"}}) {
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 2);
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << ran.out << ran.err;
    EXPECT_EQ(json.at("faults").size(), 1u);
  }
}

TEST(CliFaults, AFullDiskFailsTheStudyNotTheInput) {
  const Ran ran = run_program({"simulate", rlc, "--output", "/dev/full"});
  EXPECT_EQ(ran.code, 1);
  expect_said(ran.err, {"T402", "/dev/full"});
  const int status = std::system((std::string(tested_program) + " --help > /dev/full 2> /dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(CliFaults, AFaultOfATableIsOne) {
  const TestFolder folder;
  put(folder / "model.toml",
      "[tables]\nF = [[0, 1], [0, 2]]\n"
      "[components]\nr = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = 'F(0.5)' }\n");
  const Ran ran = run_program({"check", (folder / "model.toml").string(), "--json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("faults").size(), 1u) << ran.err;
}

TEST(CliFaults, APartsCodeIsUnderstood) {
  const TestFolder folder;
  put(folder / "model.toml",
      "[parameters]\nC = '4n7'\n"
      "[components]\nr = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = '4k7' }\n"
      "s = { kind = 'electrical.resistor', p = 'a', n = 'datum', R = '1R5' }\n");
  const Ran ran = run_program({"check", (folder / "model.toml").string()});
  expect_said(ran.err, {"did you mean '4.7 nF'?", "did you mean '4.7 kohm'?", "did you mean '1.5 ohm'?"});
}

// x' = x^2 from 1 has no solution beyond t = 1; no step passes there.
const std::string runaway =
    "[components]\n"
    "r1 = { kind = 'electrical.capacitor', p = 'a', n = 'datum', C = 1, v0 = 1 }\n"
    "i1 = { kind = 'electrical.current_source', p = 'datum', n = 'a', I = 'a.v^2' }\n"
    "[outputs]\nV = { value = 'a.v', unit = 'V' }\n"
    "[simulation]\nstop = '2 s'\nstep = '1 ms'\nmethod = 'bdf2'\n";

TEST(CliFaults, AFailedStudyEndsWith1AndKeepsWhatItHas) {
  const TestFolder folder;
  put(folder / "model.toml", runaway);
  put(folder / "run.csv", "precious");
  put(folder / "run.json", "precious");
  const Ran ran = run_program({"simulate", (folder / "model.toml").string(), "--output",
                               (folder / "run.csv").string(), "--json", (folder / "run.json").string()});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  expect_said(ran.err, {"model.toml: T410: ", "t = ", "run.partial.csv"});
  EXPECT_EQ(get(folder / "run.csv"), "precious");
  EXPECT_EQ(get(folder / "run.json"), "precious");
  const Trajectory partial = read_csv(folder / "run.partial.csv");
  ASSERT_GT(partial.rows(), 900u);
  EXPECT_NEAR(partial.at(500, 0), 2.0, 1e-4);  // 1/(1 - t)
  EXPECT_FALSE(
      nlohmann::json::parse(get(folder / "run.partial.json")).at("failure").get<std::string>().empty());
}

TEST(CliFaults, WrongInputLeavesExistingOutputsAlone) {
  const TestFolder folder;
  for (const char* name : {"run.csv", "run.svg", "run.json"}) put(folder / name, "precious");
  const std::vector<std::string> targets{"--output", (folder / "run.csv").string(),
                                         "--plot",   (folder / "run.svg").string(),
                                         "--json",   (folder / "run.json").string()};
  for (std::vector<std::string> arguments : {std::vector<std::string>{"simulate", bad("names.toml")},
                                             {"simulate", rlc, "--step", "1 kg"},
                                             {"simulate", thermal, "--outputs", "n9.T"},
                                             {"simulate", rlc, "--compare", "none.csv"}}) {
    arguments.insert(arguments.end(), targets.begin(), targets.end());
    EXPECT_EQ(run_program(arguments).code, 2);
  }
  for (const char* name : {"run.csv", "run.svg", "run.json"}) EXPECT_EQ(get(folder / name), "precious");
  EXPECT_FALSE(nlohmann::json::parse(get(folder / "run.partial.json")).at("faults").empty());
  EXPECT_EQ(folder.file_count(), 4u);
}

TEST(CliFaults, AReferenceMayHaveItsTimesInMilliseconds) {
  const TestFolder folder;
  put(folder / "model.toml",
      "[components]\nr = { kind = 'electrical.resistor', p = 'out', n = 'datum', R = 2 }\n"
      "i = { kind = 'electrical.current_source', p = 'datum', n = 'out', I = 't' }\n"
      "[outputs]\nV = 'out.v'\n[simulation]\nstop = '1 s'\nstep = '0.1 s'\n");
  put(folder / "reference.csv", "t [ms],V\n0,0\n500,1\n1000,2\n");
  const Ran ran = run_program({"simulate", (folder / "model.toml").string(), "--compare",
                               (folder / "reference.csv").string(), "--interpret"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(CliFaults, AReferenceIsNotReplacedByTheRunThatReadsIt) {
  const TestFolder folder;
  fs::copy(root / "models/rlc/reference.csv", folder / "reference.csv");
  const std::string file = (folder / "reference.csv").string(), before = get(file);
  const Ran ran = run_program({"simulate", rlc, "--compare", file, "--output", file});
  EXPECT_EQ(ran.code, 2);
  expect_said(ran.err, {"T402: --output would replace"});
  EXPECT_EQ(get(file), before);
}

}  // namespace
}  // namespace tellegen
