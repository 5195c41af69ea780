// Exports on other machines, emulated: ARMv7 and the other of x86-64 and ARM64 by qemu-user, bare Cortex-M by
// qemu-system-arm. Everywhere the same bits as here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tellegen/results/test_folder.h"
#include "tests/program.h"

namespace tellegen {
namespace {

const std::string source = TELLEGEN_SOURCE_DIR;
const std::string models = source + "/models/", targets = source + "/tests/targets/";

int sh(const std::string& command) { return std::system(("{ " + command + "; } > /dev/null").c_str()); }

// What builds C for a machine, and what runs it.
struct Machine {
  std::string name, compiler, libraries, emulator;
};

const std::string strict = " -std=c99 -O2 -ffp-contract=off ";

std::vector<Machine> hosted() {
  std::vector<Machine> machines{{"ARMv7", "arm-linux-gnueabihf-gcc -static" + strict, " -lm", "qemu-arm "}};
  for (const std::string name : {"x86_64", "aarch64"})
    if (sh("command -v " + name + "-linux-gnu-gcc && command -v qemu-" + name + " && test -e /usr/" + name +
           "-linux-gnu/lib/libm.so.6") == 0)
      machines.push_back({name, name + "-linux-gnu-gcc" + strict, " -lm",
                          "qemu-" + name + " -L /usr/" + name + "-linux-gnu "});
  return machines;
}

Machine bare(const std::string& name, const std::string& processor, const std::string& board) {
  return {
      name,
      "arm-none-eabi-gcc -mthumb " + processor + strict + "-DBARE -nostartfiles -T " + targets + "flash.ld ",
      " " + targets + "start.c -lm -lc -lgcc",
      "timeout 300 qemu-system-arm -M " + board +
          " -nographic -monitor none -serial none -semihosting-config enable=on,target=native -kernel "};
}
// Without a floating-point unit, and with one for float.
Machine cortex_m3() { return bare("Cortex-M3", "-mcpu=cortex-m3", "mps2-an385"); }
Machine cortex_m4f() {
  return bare("Cortex-M4F", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", "mps2-an386");
}

// What a program prints; semihosting prints to stderr.
std::string said(const TestFolder& folder, const Machine& machine, const std::string& program) {
  const std::string to = (folder / "said").string();
  EXPECT_EQ(std::system((machine.emulator + program + " > " + to + " 2>&1").c_str()), 0) << machine.name;
  return get(to);
}

TEST(Targets, elementary_functions_have_the_same_bits_everywhere) {
  const TestFolder folder;
  std::vector<Machine> machines = hosted();
  machines.push_back(cortex_m3());
  machines.push_back(cortex_m4f());
  machines.push_back({"here, -O0", "cc -std=c99 -O0 -ffp-contract=off ", " -lm", ""});
  machines.push_back({"here, -O3", "cc -std=c99 -O3 -ffp-contract=off ", " -lm", ""});
  for (const Machine& machine : machines) {
    const std::string program = (folder / "program").string();
    ASSERT_EQ(sh(machine.compiler + "-I" + source + "/runtime -o " + program + " " + targets +
                 "elementary.c " + targets + "checksum.c" + machine.libraries),
              0)
        << machine.name;
    EXPECT_EQ(said(folder, machine, program), "af6f151b0b53a554\n") << machine.name;
  }
}

std::string exported(const std::string& model, const std::vector<std::string>& options,
                     const std::string& to) {
  std::vector<std::string> arguments{"export", models + model + "/model.toml", "--name", "model", "--output",
                                     to};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Ran ran = run_program(arguments);
  EXPECT_EQ(ran.code, 0) << model << ": " << ran.err;
  return ran.out;
}

TEST(Targets, ten_models_replay_with_the_same_bits) {
  struct Case {
    const char *model, *method, *real;
  };
  for (const Case& c :
       {Case{"rlc", "bdf3", "double"}, Case{"rectifier", "bdf2", "double"},
        Case{"pmsm-inverter", "bdf2", "double"}, Case{"dc-motor", "tr", "double"},
        Case{"inverter-leg", "rk4", "double"}, Case{"pmsm-thermal", "bdf2", "double"},
        Case{"motor-free-acceleration", "rk4", "double"}, Case{"generator-torque-step", "rk4", "double"},
        Case{"simple-pendulum", "bdf2", "double"}, Case{"speed-control", "rk4", "double"},
        Case{"pmsm-thermal", "bdf3", "float"}, Case{"motor-free-acceleration", "rk4", "float"}}) {
    const TestFolder folder;
    const std::string to = (folder / "c").string();
    exported(c.model, {"--method", c.method, "--real", c.real, "--vector", "200"}, to);
    for (const Machine& machine : hosted()) {
      ASSERT_EQ(sh("cd " + to + " && " + machine.compiler + "-O1 *.c -o other" + machine.libraries), 0)
          << c.model << ", " << machine.name;
      EXPECT_EQ(sh(machine.emulator + to + "/other"), 0) << c.model << ", " << c.real << ", " << machine.name;
    }
  }
}

// The replay is ours there: no operating system, no printf.
TEST(Targets, bare_cortex_m_gives_the_same_bits) {
  struct Case {
    const char* model;
    std::vector<std::string> options;
  };
  const std::vector<std::string> single{"--real", "float"}, twin{"--estimator", "kf"};
  const std::vector<std::string> single_twin{"--estimator", "kf", "--real", "float"};
  for (const auto& [machine, cases] :
       {std::pair{
            cortex_m3(),
            std::vector<Case>{{"rlc", {}}, {"rectifier", {}}, {"pmsm-thermal", {}}, {"inverter", twin}}},
        std::pair{cortex_m4f(), std::vector<Case>{{"rlc", single},
                                                  {"motor-thermal", single},
                                                  {"pmsm-thermal", single},
                                                  {"rectifier", {}},
                                                  {"inverter", single_twin}}}})
    for (const Case& c : cases) {
      const TestFolder folder;
      const std::string to = (folder / "c").string();
      std::vector<std::string> options{"--vector", "40"};
      options.insert(options.end(), c.options.begin(), c.options.end());
      exported(c.model, options, to);
      ASSERT_EQ(sh("cd " + to + " && rm main.c && " + machine.compiler + "-I. -Wl,--fatal-warnings *.c " +
                   targets + "replay.c -o bare.elf" + machine.libraries),
                0)
          << c.model << ", " << machine.name;
      EXPECT_EQ(said(folder, machine, to + "/bare.elf"), "every bit agrees\n")
          << c.model << ", " << machine.name;
    }
}

}  // namespace
}  // namespace tellegen
