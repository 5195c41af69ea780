// Models as Verilog: the module by iverilog and the bit-true model by the C compiler, against the same
// vectors.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

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

// One with multipliers and adders only, one that divides and takes roots, one with products of two cycles;
// the same on a processor. Each by itself and over the ports of a host.
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
        Hardware{"rlc", {"--bits", "16", "--core", "microcode"}}}) {
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

TEST(Verilog, what_cannot_be_is_explained) {
  const TestFolder folder;
  const auto fault = [&](const std::string& model, std::vector<std::string> options) {
    const Ran ran = export_as_verilog(model, folder / "x", options);
    EXPECT_NE(ran.code, 0);
    return ran.err;
  };
  EXPECT_NE(fault("rlc", {"--bits", "64"}).find("T401: --bits is 12 to 32, not 64"), std::string::npos);
  EXPECT_NE(fault("rlc", {"--core", "micro"}).find("T401"), std::string::npos);
  EXPECT_NE(fault("generator-torque-step", {}).find("T420"), std::string::npos);
  EXPECT_NE(fault("pmsm-drive", {}).find("T420"), std::string::npos);
}

}  // namespace
}  // namespace tellegen
