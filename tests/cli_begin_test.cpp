// What a beginner meets: models to begin with, completion, the manual.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

struct Begin : testing::Test {
  Begin() : folder(fs::temp_directory_path() / ("tellegen-begin-" + std::to_string(getpid()))) {
    fs::create_directories(folder);
  }
  ~Begin() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(Begin, every_starter_is_checked_and_runs_and_nothing_is_overwritten) {
  const Ran list = run_program({"new"});
  ASSERT_EQ(list.code, 0);
  for (const char* name : {"circuit", "thermal", "drive", "battery", "mechanism"}) {
    EXPECT_NE(list.out.find(name), std::string::npos);
    const std::string file = (folder / (std::string(name) + ".toml")).string();
    ASSERT_EQ(run_program({"new", name, file}).code, 0);
    const Ran checked = run_program({"check", file});
    EXPECT_EQ(checked.code, 0) << name << "\n" << checked.err;
    const Ran ran = run_program({"simulate", file, "--strict"});
    EXPECT_EQ(ran.code, 0) << name << "\n" << ran.out << ran.err;
    EXPECT_EQ(run_program({"new", name, file}).code, 2);
  }
  const std::string twin = (folder / "thermal.toml").string(), log = (folder / "log.csv").string();
  ASSERT_EQ(run_program({"synthesize", twin, "--seed", "1", "--output", log}).code, 0);
  EXPECT_EQ(run_program({"estimate", twin, "--data", log}).code, 0);
  const Ran wrong = run_program({"new", "circus"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'circuit'?"), std::string::npos);
}

TEST_F(Begin, completion_knows_commands_and_options) {
  const std::string script = (folder / "complete.bash").string();
  std::ofstream(script)
      << run_program({"completion", "bash"}).out
      << "COMP_WORDS=(tellegen simu); COMP_CWORD=1; _tellegen; [[ ${COMPREPLY[*]} == simulate ]] || exit 1\n"
         "COMP_WORDS=(tellegen simulate --meth); COMP_CWORD=2; _tellegen; [[ ${COMPREPLY[*]} == --method "
         "]]\n";
  EXPECT_EQ(std::system(("bash " + script).c_str()), 0);
  EXPECT_NE(run_program({"completion", "zsh"}).out.find("#compdef tellegen"), std::string::npos);
  EXPECT_NE(run_program({"completion", "fish"}).out.find("-l method -r"), std::string::npos);
  EXPECT_EQ(run_program({"completion", "csh"}).code, 2);
}

TEST_F(Begin, the_manual_has_every_command) {
  const std::string page = run_program({"manual"}).out;
  EXPECT_TRUE(page.starts_with(".TH TELLEGEN 1"));
  for (const char* command : {"simulate", "estimate", "new", "export", "data"})
    EXPECT_NE(page.find(std::string(".SS ") + command + "\n"), std::string::npos) << command;
}

TEST_F(Begin, each_command_has_a_page_of_its_own) {
  const std::string page = run_program({"manual", "--command", "simulate"}).out;
  EXPECT_TRUE(page.starts_with(".TH TELLEGEN-SIMULATE 1")) << page;
  EXPECT_NE(page.find("\\-\\-method"), std::string::npos);
  EXPECT_EQ(page.find("\\-\\-shell"), std::string::npos);
  EXPECT_EQ(run_program({"manual", "--command", "simulat"}).code, 2);
  ASSERT_EQ(run_program({"manual", "--output", (folder / "man1").string()}).code, 0);
  for (const char* name : {"tellegen.1", "tellegen-simulate.1", "tellegen-calibrate.1"})
    EXPECT_TRUE(std::filesystem::exists(folder / "man1" / name)) << name;
}

}  // namespace
}  // namespace tellegen
