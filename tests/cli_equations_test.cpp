// `tellegen equations` from outside.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tellegen/results/test_folder.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string model(const std::string& name) {
  return (fs::path(TELLEGEN_SOURCE_DIR) / "models" / name / "model.toml").string();
}

TEST(Equations, every_model_can_be_written_in_every_form) {
  for (const auto& entry : fs::directory_iterator(fs::path(TELLEGEN_SOURCE_DIR) / "models")) {
    const std::string file = (entry.path() / "model.toml").string();
    if (entry.path().string().ends_with("-mec")) continue;  // hundreds of chords: their formulas take minutes
    for (const char* form : {"tableau", "branch-chord", "minimal"}) {
      const Ran ran = run_program({"equations", file, "--form", form, "--json"});
      ASSERT_EQ(ran.code, 0) << file << " " << form << "\n" << ran.err;
      const json said = json::parse(ran.out);
      EXPECT_EQ(said.at("unknowns").size(), said.at("equations").size()) << file << " " << form;
    }
  }
}

TEST(Equations, trees_are_shown_and_taken) {
  const json chosen = json::parse(run_program({"equations", model("rlc"), "--json"}).out);
  EXPECT_FALSE(chosen.at("tree").at("branches").empty());
  const Ran ran = run_program({"equations", model("rlc"), "--tree", "ground,e1,l1", "--sensitivity",
                               "r1.R,c1.C", "--sensitivity-tree", "ground,e1,c1", "--cost", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json given = json::parse(ran.out);
  EXPECT_EQ(given.at("tree").at("branches"), json({"ground", "e1", "l1"}));
  EXPECT_EQ(given.at("sensitivity").at("tree"), json({"ground", "e1", "c1"}));
  EXPECT_EQ(given.at("cost").size(), 4u);
}

TEST(Equations, of_a_long_chain_are_short) {
  std::string text = "[components]\n", from = "datum";
  for (int k = 0; k < 9; ++k) {
    const std::string n = std::to_string(k);
    text += "h" + n + " = { kind = \"multibody.revolute\", from = \"" + from + "\", to = \"f" + n +
            "\", axis = " + (k % 2 == 0 ? "[1, 0, 0]" : "[0, 1, 0]") + " }\n" + "b" + n +
            " = { kind = \"multibody.body\", at = \"f" + n + "\", mass = 1, inertia = [0.1, 0.1, 0.1] }\n" +
            "a" + n + " = { kind = \"multibody.arm\", from = \"f" + n + "\", to = \"e" + n +
            "\", offset = [0.5, 0.1, 0] }\n";
    from = "e" + n;
  }
  const TestFolder folder;
  std::ofstream(folder / "chain.toml") << text;
  const Ran ran = run_program({"equations", (folder / "chain.toml").string(), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("equations").size(), 18u);
  EXPECT_LT(ran.out.size(), 200'000u);  // written out, its formulas would have no end
}

TEST(Equations, wrong_requests_are_explained) {
  const auto fault = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"equations", model("rlc")});
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(fault({"--tree", "ground,e1,r1,c1"}), "T222: 'c1'"));
  EXPECT_TRUE(has(fault({"--tree", "ground,e1"}), "T223: the tree does not reach 'n3'"));
  EXPECT_TRUE(has(fault({"--tree", "ground,e1,c3"}), "T224"));
  EXPECT_TRUE(has(fault({"--sensitivity", "r1.S"}), "did you mean 'r1.R'?"));
  EXPECT_TRUE(has(fault({"--form", "branch"}), "branch-chord"));
  EXPECT_TRUE(has(fault({"--sensitivity-tree", "e1"}), "without --sensitivity"));
  EXPECT_TRUE(has(fault({"--form", "minimal", "--cost"}), "T401"));
}

// The C file compiles without a warning, and its residuals vanish where the equations hold.
TEST(Equations, the_c_function_compiles_and_is_zero_on_a_solution) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-equations";
  fs::create_directories(folder);
  for (const char* name : {"rlc", "rectifier", "speed-control", "choke"}) {
    const Ran ran = run_program({"equations", model(name), "--format", "c", "--form", "branch-chord"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    put(folder / "equations.c", ran.out);
    const std::string command = "cc -std=c99 -Wall -Wextra -Werror -c -o " +
                                (folder / "equations.o").string() + " " + (folder / "equations.c").string();
    EXPECT_EQ(std::system(command.c_str()), 0) << name;
  }
  // der(v)*C + v/R = 0 at v = 2, der(v) = -4, R = 1, C = 0.5.
  put(folder / "rc.toml", R"(name = "rc"
[components]
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5 }
)");
  const Ran ran = run_program({"equations", (folder / "rc.toml").string(), "--format", "c"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  put(folder / "rc.c", ran.out + R"(
int main(void) {
  const double x[] = {2.0}, dx[] = {-4.0};
  double f[tellegen_unknowns];
  tellegen_residuals(0.0, x, dx, tellegen_parameters, 0, f);
  return tellegen_unknowns == 1 && fabs(f[0]) < 1e-15 ? 0 : 1;
}
)");
  const std::string program = (folder / "rc").string();
  ASSERT_EQ(std::system(("cc -std=c99 -o " + program + " " + program + ".c -lm").c_str()), 0);
  EXPECT_EQ(std::system(program.c_str()), 0);
}

TEST(Equations, latex_is_an_environment) {
  const Ran ran = run_program({"equations", model("rlc"), "--format", "latex", "--sensitivity", "r1.R"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("\\begin{align*}"));
  EXPECT_NE(ran.out.find("\\dot{v_{"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace tellegen
