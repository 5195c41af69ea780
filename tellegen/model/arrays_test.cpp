#include "tellegen/model/arrays.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tellegen/model/read.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace arrays_test {

namespace fs = std::filesystem;

Model read(const std::string& text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, (fs::temp_directory_path() / "tellegen_arrays" / "test.toml").string(),
                         options);
}

std::string faults_of(const std::string& text) {
  try {
    read(text);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

void write(const std::string& name, const std::string& text) {
  const fs::path folder = fs::temp_directory_path() / "tellegen_arrays";
  fs::create_directories(folder);
  std::ofstream(folder / name) << text;
}

double number(const Model& model, const std::string& component, std::size_t parameter = 0) {
  return model.components[model.component_by_name.at(component)].values[parameter].number;
}

std::string node(const Model& model, const std::string& component, std::size_t port) {
  return model.nodes[model.components[model.component_by_name.at(component)].nodes[port]].name;
}

const std::string ladder = R"toml(
[parameters]
R0 = "2 ohm"
[components]
v = { kind = "electrical.voltage_source", p = "n[0]", n = "datum", V = 5 }
r = { kind = "electrical.resistor", count = 4, p = "n[i-1]", n = "n[i]", R = "R0*(1 + 0.5*i)" }
c = { kind = "electrical.capacitor", count = 4, p = "n[i]", n = "datum", C = { each = [1, "2 uF", 3, 4] } }
)toml";

TEST(Arrays, elements_are_components) {
  const Model model = read(ladder);
  EXPECT_EQ(model.components.size(), 9u);
  EXPECT_EQ(number(model, "r[1]"), 3.0);
  EXPECT_EQ(number(model, "r[4]"), 6.0);
  EXPECT_EQ(number(model, "c[2]"), 2e-6);
  EXPECT_EQ(node(model, "r[3]", 0), "n[2]");
  EXPECT_EQ(node(model, "r[3]", 1), "n[3]");
}

TEST(Arrays, have_up_to_three_indices) {
  const Model model = read(R"toml(
[components]
r = { kind = "thermal.resistor", count = [2, 3], p = "x[i][j]", n = "x[i][mod(j, 3) + 1]", R = "10*i + j" }
s = { kind = "thermal.resistor", count = [2, 3], p = "x[i][j]", n = "datum", R = 1 }
)toml");
  EXPECT_EQ(number(model, "r[2][3]"), 23.0);
  EXPECT_EQ(node(model, "r[2][3]", 1), "x[2][1]");
  EXPECT_EQ(model.arrays.at("x").size(), 6u);
}

TEST(Arrays, rows_of_a_file_are_components) {
  write("parts.csv",
        "name;kind;p;n;R "
        "[kohm];C;V\nv;electrical.voltage_source;a;datum;;;5\nr1;electrical.resistor;a;b;1,5;;\n"
        "c1;electrical.capacitor;b;datum;;2,5 uF;\n");
  const Model model = read("[components]\nall = { rows = \"parts.csv\" }\n");
  EXPECT_EQ(model.components.size(), 3u);
  EXPECT_EQ(number(model, "r1"), 1500.0);
  EXPECT_EQ(number(model, "c1"), 2.5e-6);
  write("parts.csv", "name,kind,p,n\nr1,electrical.resistor,a\n");
  EXPECT_NE(
      faults_of("[components]\nall = { rows = \"parts.csv\" }\n").find("3 cells, where the header has 4"),
      std::string::npos);
}

TEST(Arrays, a_file_gives_each_element_its_numbers) {
  write("cells.csv", "R [mohm]\n20\n21\n\n19\n");
  const Model model = read(
      "[components]\nr = { kind = \"electrical.resistor\", rows = \"cells.csv\", p = \"n[i]\", n = \"datum\" "
      "}\n");
  EXPECT_EQ(model.components.size(), 3u);
  EXPECT_DOUBLE_EQ(number(model, "r[2]"), 0.021);
}

TEST(Arrays, many_values_are_summed_and_compared) {
  const Model model = read(ladder + R"toml(
[outputs]
heat = "sum(r[*].v*r[*].i)"
mean = "mean(n[*].v)"
v = { value = "n[i].v", count = 4, unit = "mV" }
top = "max(v[*])"
)toml");
  EXPECT_EQ(model.outputs.size(), 7u);
  EXPECT_EQ(to_text(model.formulas.at("heat")),
            "r[1].i*r[1].v + r[2].i*r[2].v + r[3].i*r[3].v + r[4].i*r[4].v");
  EXPECT_EQ(to_text(model.formulas.at("v[3]")), "n[3].v");
  EXPECT_EQ(to_text(parse_value(model, "min(n[*].v)", {})),
            to_text(parse_value(model, "min(n[0].v, n[1].v, n[2].v, n[3].v, n[4].v)", {})));
}

TEST(Arrays, elements_share_the_table_that_stands_in_their_entry) {
  const Model model = read(R"toml(
[components]
b = { kind = "battery.rint", count = 3, p = "n[i]", n = "n[i-1]", OCV = [[0, 3], [1, 4]], R0 = 0.1, capacity = "1 Ah" }
g = { kind = "electrical.ground", p = "n[0]" }
)toml");
  const auto table = [&](const char* name) {
    for (const ParameterValue& v : model.components[model.component_by_name.at(name)].values)
      if (v.table) return v.table.get();
    return static_cast<const Table*>(nullptr);
  };
  ASSERT_NE(table("b[1]"), nullptr);
  EXPECT_EQ(table("b[1]"), table("b[3]"));
}

TEST(Arrays, faults_are_said_once) {
  const auto one = [](const std::string& from, const std::string& to) {
    std::string text = ladder;
    text.replace(text.find(from), from.size(), to);
    return faults_of(text);
  };
  const std::string unknown = one("R = \"R0", "Q = \"R0");
  EXPECT_NE(unknown.find("T111"), std::string::npos);
  EXPECT_EQ(unknown.find("T111"), unknown.rfind("T111")) << unknown;
  EXPECT_NE(one("n[i-1]", "n[0.5*i]").find("an index cannot be 0.5"), std::string::npos);
  EXPECT_NE(one("n[i-1]", "n[R0]").find("an index cannot depend on 'R0'"), std::string::npos);
  EXPECT_NE(one("n[i-1]", "n[i-1").find("the bracket is not closed"), std::string::npos);
  EXPECT_NE(one("count = 4", "count = 0").find("'count' of 'r' cannot be that"), std::string::npos);
  EXPECT_NE(one("count = 4", "count = \"N\"").find("'count' of 'r' cannot be that"), std::string::npos);
  EXPECT_NE(one("[1, \"2 uF\", 3, 4]", "[1, 2]").find("2 are given, there are 4"), std::string::npos);
  EXPECT_NE(faults_of(ladder + "[outputs]\nx = \"2*n[*].v\"").find("belong in sum(), mean(), min() or max()"),
            std::string::npos);
  EXPECT_NE(faults_of(ladder + "[outputs]\nx = \"sum(q[*].v)\"").find("there are no elements 'q[*].v'"),
            std::string::npos);
  EXPECT_NE(faults_of(ladder + "[outputs]\nx = \"sum(n[*].v*r[*].i)\"").find("not equally many: 5 and 4"),
            std::string::npos);
}

TEST(Arrays, an_index_is_no_parameter) {
  std::string text = ladder;
  text.replace(text.find("R0 = "), 2, "i");
  EXPECT_NE(faults_of(text).find("'i' is the index in the array 'r' and a name of this file"),
            std::string::npos)
      << faults_of(text);
}

TEST(Arrays, a_component_and_a_node_may_share_a_name) {
  EXPECT_EQ(
      faults_of("[components]\nc = { kind = \"thermal.capacitor\", p = \"c\", n = \"datum\", C = 1 }\n"), "");
  // A storage from its node to the datum: `c.v` is the same of both, and its rate and start are known.
  EXPECT_EQ(
      faults_of("[components]\nc = { kind = \"electrical.capacitor\", p = \"c\", n = \"datum\", C = 1 }\n"
                "[initial]\n\"c.v\" = 2\n[outputs]\nv = \"c.v\"\ni = \"c.i\"\n"),
      "");
  const std::string between = faults_of(
      "[components]\nc = { kind = \"electrical.capacitor\", p = \"a\", n = \"c\", C = 1 }\n"
      "r = { kind = \"electrical.resistor\", p = \"c\", n = \"datum\", R = 1 }\n");
  EXPECT_NE(between.find("'c.v' could be of either; the component's is from 'a' to 'c'"), std::string::npos)
      << between;
  // Of several edges none goes by the component's name.
  EXPECT_EQ(
      faults_of(
          "[components]\ntr = { kind = \"electrical.ideal_transformer\", p1 = \"tr\", n1 = \"datum\", p2 = "
          "\"b\", n2 = \"datum\", n = 2 }\n"),
      "");
  const std::string resistor = "[components]\nout = { kind = \"electrical.resistor\", p = ";
  EXPECT_EQ(faults_of(resistor + "\"out\", n = \"datum\", R = 1 }\n[outputs]\ni = \"out.i\"\n"), "");
  EXPECT_NE(faults_of(resistor + "\"datum\", n = \"out\", R = 1 }\n").find("could be of either"),
            std::string::npos);
}

TEST(Arrays, names_are_found_by_patterns) {
  const ArrayIndices arrays{{"x", {"[1][1]", "[1][2]", "[2][1]", "[2][2]"}}, {"x[1][2].y", {"[7]"}}};
  EXPECT_EQ(element_names(arrays, "x[2][*].T"), (std::vector<std::string>{"x[2][1].T", "x[2][2].T"}));
  EXPECT_EQ(element_names(arrays, "x[*][2].T"), (std::vector<std::string>{"x[1][2].T", "x[2][2].T"}));
  EXPECT_EQ(element_names(arrays, "x[1][2].y[*].T"), (std::vector<std::string>{"x[1][2].y[7].T"}));
  EXPECT_TRUE(element_names(arrays, "x[*].T").empty());
}

}  // namespace arrays_test
}  // namespace tellegen
