// Models as Verilog: the module by iverilog and the bit-true model by the C compiler, against the same
// vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "tellegen/results/test_folder.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const std::string models = TELLEGEN_SOURCE_DIR "/models/";

Ran export_as_verilog(const std::string& model, const fs::path& folder, std::vector<std::string> options) {
  std::vector<std::string> arguments{
      "export", models + model + "/model.toml", "--as", "verilog", "--output", folder.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_program(arguments);
}

std::string make_in(const fs::path& folder, const std::string& targets) {
  const int code =
      std::system(("cd " + folder.string() + " && make " + targets + " > said.txt 2>&1").c_str());
  return get(folder / "said.txt") + (code == 0 ? "" : "failed\n");
}

struct Hardware {
  std::string model;
  std::vector<std::string> options;
};

// The published scenarios from beginning to end, words of 27 bits, against the same run in double.
TEST(Verilog, machines_over_their_whole_scenarios_within_a_thousandth) {
  const std::vector<std::string> iterated{"--iterations", "2"};
  for (const auto& [model, input, more] :
       {std::tuple{"motor-free-acceleration", "", std::vector<std::string>{}},
        std::tuple{"generator-torque-step", "torque", std::vector<std::string>{}},
        std::tuple{"motor-sag", "factor_a", iterated}, std::tuple{"generator-fault", "bus", iterated}}) {
    const TestFolder folder;
    std::vector<std::string> options{"--json"};
    if (*input) options.insert(options.end(), {"--inputs", input});
    options.insert(options.end(), more.begin(), more.end());
    const Ran ran = export_as_verilog(model, folder / "v", options);  // an overflow is a fault
    ASSERT_EQ(ran.code, 0) << model << ": " << ran.err;
    const auto json = nlohmann::json::parse(ran.out);
    EXPECT_GE(json["steps"].get<int>(), 5000) << model;
    for (const auto& [output, error] : json["errors"].items())  // of an angle in turns
      EXPECT_LE(error.get<double>(), 1e-3) << model << ": " << output;
  }
}

// One with multipliers and adders only, one that divides and takes roots, one with products of two cycles;
// the same on a processor, and many machines in a pipeline, each at other states and inputs; one that
// switches. Each by itself and over the ports of a host.
TEST(Verilog, module_and_bit_true_model_agree_in_every_bit) {
  const TestFolder folder;
  int count = 0;
  for (const Hardware& h :
       {Hardware{"motor-free-acceleration", {"--stop", "0.05 s", "--multipliers", "8", "--adders", "8"}},
        Hardware{"motor-sag", {"--stop", "5 ms", "--inputs", "factor_a", "--iterations", "1"}},
        Hardware{"rlc", {"--bits", "20", "--latency", "2"}},
        Hardware{"motor-free-acceleration", {"--stop", "0.05 s", "--core", "microcode"}},
        Hardware{"motor-sag",
                 {"--stop", "5 ms", "--inputs", "factor_a", "--iterations", "1", "--core", "microcode"}},
        Hardware{"rlc", {"--bits", "16", "--core", "microcode"}},
        Hardware{"motor-free-acceleration", {"--stop", "0.05 s", "--core", "pipeline", "--machines", "5"}},
        Hardware{"motor-sag",
                 {"--stop", "5 ms", "--inputs", "factor_a", "--iterations", "1", "--core", "pipeline",
                  "--machines", "3", "--interval", "100"}},
        Hardware{"rlc", {"--core", "pipeline", "--machines", "20", "--interval", "1", "--latency", "2"}},
        Hardware{"buck-converter", {"--stop", "50 us", "--inputs", "gate", "--iterations", "2"}}}) {
    const fs::path path = folder / std::to_string(count++);
    std::vector<std::string> options = h.options;
    options.insert(options.end(), {"--vector", "3", "--name", "m"});
    const Ran ran = export_as_verilog(h.model, path, options);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string said = make_in(path, "c iverilog ports");
    EXPECT_NE(said.find("3 steps, 0 words differ"), std::string::npos) << h.model << "\n" << said;
    EXPECT_NE(said.find(" cycles, 0 bits differ"), std::string::npos) << h.model << "\n" << said;
    EXPECT_NE(said.find("3 steps over both ports, 0 words differ"), std::string::npos) << h.model << "\n"
                                                                                       << said;
  }
}

// Through all eighths of the circle, against `simulate`.
TEST(Verilog, angles_of_two_words) {
  const TestFolder folder;
  put(folder / "turn.toml", R"toml(
[components]
ex = { kind = "electrical.voltage_source", p = "x0", n = "datum", V = "3*cos(2*t)" }
rx = { kind = "electrical.resistor", p = "x0", n = "x", R = 1 }
cx = { kind = "electrical.capacitor", p = "x", n = "datum", C = "1 mF", v0 = 3 }
ey = { kind = "electrical.voltage_source", p = "y0", n = "datum", V = "3*sin(2*t) + 0.01" }
ry = { kind = "electrical.resistor", p = "y0", n = "y", R = 1 }
cy = { kind = "electrical.capacitor", p = "y", n = "datum", C = "1 mF", v0 = 0.01 }
[outputs]
up   = "atan2(y.v, x.v)"
down = "atan2(-y.v, x.v)"
[simulation]
stop = "1.5 s"
step = "10 ms"
method = "tr"
)toml");
  const std::string to = (folder / "v").string();
  const Ran ran = run_program({"export", (folder / "turn.toml").string(), "--as", "verilog", "--name", "m",
                               "--vector", "150", "--output", to, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_LT(json["errors"]["up"].get<double>(), 1e-6);
  EXPECT_LT(json["errors"]["down"].get<double>(), 1e-6);
  const std::string said = make_in(to, "c iverilog");
  EXPECT_NE(said.find("150 steps, 0 words differ"), std::string::npos) << said;
  EXPECT_NE(said.find(" cycles, 0 bits differ"), std::string::npos) << said;
  // A project for Quartus names what is there.
  const std::string project = get(fs::path(to) / "m.qsf");
  for (const char* file : {"m.v", "m_words.v", "m_axi.v", "tellegen_divide.v"}) {
    EXPECT_NE(project.find(std::string("VERILOG_FILE ") + file + "\n"), std::string::npos) << file;
    EXPECT_TRUE(fs::exists(fs::path(to) / file)) << file;
  }
}

// Readings with gaps; a row is the step. Of a linear model with its covariance, with a steady gain, and of
// one that is linearised in every row.
TEST(Verilog, estimators_agree_in_every_bit) {
  const TestFolder folder;
  const auto record = [&](const std::string& model, const std::string& name) {
    const std::string file = (folder / name).string();
    const Ran ran =
        run_program({"synthesize", models + model, "--stop", "0.1 s", "--loss", "20 %", "--output", file});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return file;
  };
  const std::string inverter = record("inverter/case2.toml", "inverter.csv"),
                    network = record("rc-thermal/network.toml", "network.csv");
  struct Case {
    std::string model, estimator, data;
    std::vector<std::string> options;
  };
  int count = 0;
  for (const Case& c :
       {Case{"inverter/model.toml", "kf", inverter, {"--outputs", "T1,T1_sd,Q_u", "--dividers", "2"}},
        Case{"inverter/model.toml", "steady", inverter, {}},
        Case{"inverter/model.toml", "kf", inverter, {"--core", "microcode"}},
        Case{"rc-thermal/network.toml", "ekf", network, {"--bits", "32"}}}) {
    const fs::path path = folder / std::to_string(count++);
    std::vector<std::string> arguments{
        "export", models + c.model, "--as",        "verilog", "--estimator", c.estimator, "--data",
        c.data,   "--output",       path.string(), "--name",  "m",           "--vector",  "20"};
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    const Ran ran = run_program(arguments);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string said = make_in(path, "c iverilog");
    EXPECT_NE(said.find("20 steps, 0 words differ"), std::string::npos) << c.estimator << "\n" << said;
    EXPECT_NE(said.find(" cycles, 0 bits differ"), std::string::npos) << c.estimator << "\n" << said;
  }
  const Ran none = run_program({"export", models + "inverter/model.toml", "--as", "verilog", "--estimator",
                                "kf", "--output", (folder / "x").string()});
  EXPECT_NE(none.err.find("needs a record"), std::string::npos) << none.err;
}

// The fastest design within limits, exported with the options that it is printed with.
TEST(Explore, finds_a_design_and_says_how_to_export_it) {
  const TestFolder folder;
  const std::string model = models + "motor-free-acceleration/model.toml";
  const auto explore = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"explore", model, "--stop", "0.05 s", "--core", "units"});
    return run_program(options);
  };
  const Ran ran = explore({"--multipliers", "1:3", "--adders", "2,3", "--bits", "18,20", "--coarser", "0",
                           "--luts", "6500", "--output", (folder / "designs.csv").string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("24 designs"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("gradient descent finds the enumerated optimum"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("genetic search finds the enumerated optimum"), std::string::npos) << ran.out;
  const std::string rows = get(folder / "designs.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 25);

  const auto line = ran.out.find("--multipliers");
  std::istringstream words(ran.out.substr(line, ran.out.find('\n', line) - line));
  std::vector<std::string> options{"--stop", "0.05 s", "--vector", "2"};
  for (std::string word; words >> word;) options.push_back(word);
  const Ran exported = export_as_verilog("motor-free-acceleration", folder / "v", options);
  EXPECT_EQ(exported.code, 0) << exported.err;
  std::istringstream row(ran.out.substr(ran.out.rfind('\n', line)));
  std::string cycles;
  row >> cycles;
  EXPECT_NE(exported.out.find("a step: " + cycles + " clock cycles"), std::string::npos) << exported.out;

  EXPECT_NE(explore({"--bits", "8:20"}).err.find("T401: --bits '8:20': 8 is not between 12 and 32"),
            std::string::npos);
  EXPECT_NE(explore({"--adders", "4:2"}).err.find("it counts down"), std::string::npos);
  EXPECT_NE(explore({"--search", "luck"}).err.find("T401"), std::string::npos);
  const Ran none =
      explore({"--multipliers", "2", "--adders", "2", "--bits", "18", "--coarser", "0", "--luts", "100"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("none of 2 designs keeps all limits"), std::string::npos) << none.err;
}

TEST(Verilog, what_cannot_be_is_explained) {
  const TestFolder folder;
  const auto fault = [&](const std::string& model, std::vector<std::string> options) {
    const Ran ran = export_as_verilog(model, folder / "x", options);
    EXPECT_NE(ran.code, 0);
    return ran.err;
  };
  EXPECT_NE(fault("rlc", {"--bits", "64"}).find("T401: --bits is 12 to 32, not 64"), std::string::npos);
  EXPECT_NE(fault("rlc", {"--core", "micro"}).find("T401"), std::string::npos);
  EXPECT_NE(fault("rlc", {"--table-bits", "30"}).find("T401: --table-bits"), std::string::npos);
  EXPECT_NE(fault("generator-torque-step", {}).find("T420"), std::string::npos);
  EXPECT_NE(fault("pmsm-drive", {}).find("T420"), std::string::npos);
}

}  // namespace
}  // namespace tellegen
