#include "tellegen/model/rewrite.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace rewrite_test {

const std::string text = R"toml(# Ω is two bytes
[parameters]   # of all
R     = "3.00 ohm"   # keep me
C     = { value = 2, unit = "mF", summary = "µ, [x] = 3" }
angle = { summary = "it turns", unit = "deg", value = "30" }
plain = 7
twice = '2*R'
tau   = "5ms"

[components]
v1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }  # Ω
r2 = { kind = 'electrical.resistor', p = "b", n = "datum", R = '1.5e0 kohm' }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C" }

[components.c2]
kind = "electrical.capacitor"
p = "a"
n = "datum"
C = 1e-3
)toml";

Model read(const std::string& of) {
  return read_model_text(of, "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

std::string with(const std::string& name, double number) {
  Model model = read(text);
  const int parameter = study_parameter(model, name);
  return with_numbers(text, model, std::span(&parameter, 1), std::span(&number, 1));
}

std::string replaced(std::string of, const std::string& old, const std::string& now) {
  return of.replace(of.find(old), old.size(), now);
}

TEST(Rewrite, only_the_number_changes) {
  EXPECT_EQ(with("R", 3.25), replaced(text, "3.00 ohm", "3.25 ohm"));
  EXPECT_EQ(with("C", 0.0025), replaced(text, "value = 2,", "value = 2.5,"));
  EXPECT_EQ(with("angle", M_PI / 4), replaced(text, "\"30\"", "\"45\""));
  EXPECT_EQ(with("plain", 8), replaced(text, "plain = 7", "plain = 8.0"));
  EXPECT_EQ(with("tau", 2e-3), replaced(text, "5ms", "2ms"));
  EXPECT_EQ(with("r2.R", 1250), replaced(text, "'1.5e0 kohm'", "'1.25 kohm'"));
  EXPECT_EQ(with("c2.C", 0.5), replaced(text, "C = 1e-3", "C = 0.5"));
  EXPECT_EQ(with("v1.V", -1), replaced(text, "\"5 V\"", "\"-1 V\""));
}

TEST(Rewrite, an_expression_gives_way_to_a_number_with_its_unit) {
  EXPECT_EQ(with("twice", 3), replaced(text, "'2*R'", "3.0"));
  EXPECT_EQ(with("r1.R", 4), replaced(text, "R = \"R\"", "R = \"4 ohm\""));
}

TEST(Rewrite, a_default_is_written_where_it_was_not) {
  EXPECT_EQ(with("c1.v0", 2), replaced(text, "C = \"C\" }", "C = \"C\", v0 = \"2 V\" }"));
  EXPECT_EQ(with("c2.v0", 2), replaced(text, "C = 1e-3", "C = 1e-3\nv0 = \"2 V\""));
}

TEST(Rewrite, an_unknown_starts_from_the_new_number) {
  const std::string unknowns = text + R"toml(
[unknowns]
R = { start = "1 kohm", deviation = "2 ohm" }  # a guess
c2.C = { start = 2e-3 }
plain = { between = [1, 9] }
)toml";
  Model model = read(unknowns);
  const std::array<int, 3> parameters{study_parameter(model, "R"), study_parameter(model, "c2.C"),
                                      study_parameter(model, "plain")};
  const std::string after = with_numbers(unknowns, model, parameters, std::array{4.5, 3e-3, 8.0});
  EXPECT_NE(after.find("R = { start = \"0.0045 kohm\", deviation = \"2 ohm\" }  # a guess"),
            std::string::npos)
      << after;
  const Model back = read(after);
  EXPECT_EQ(back.unknowns[0].start, 4.5);
  EXPECT_EQ(back.unknowns[0].deviation, 2.0);
  EXPECT_EQ(back.unknowns[1].start, 3e-3);
  EXPECT_FALSE(back.unknowns[2].start);
  // With a deviation, it is that of the start.
  const Model known = read(with_numbers(unknowns, model, parameters, std::array{4.5, 3e-3, 8.0},
                                        std::array{0.25, 1e-5, std::nan("")}));
  EXPECT_EQ(known.unknowns[0].deviation, 0.25);
  EXPECT_EQ(known.unknowns[1].deviation, 1e-5);
  EXPECT_FALSE(known.unknowns[2].deviation);
  EXPECT_EQ(back.parameters[back.unknowns[2].parameter].number, 8.0);
}

TEST(Rewrite, what_is_read_back_is_the_same_number) {
  for (const char* name : {"R", "C", "angle", "tau", "r2.R"})
    for (const double number : {0.1, 1.0 / 3, 2.718281828459045, 6.02e-5, 1e-9 / 7}) {
      Model model = read(with(name, number));
      EXPECT_DOUBLE_EQ(model.parameters[study_parameter(model, name)].number, number) << name;
    }
}

// In the list where they stand, in their unit; or in place of the file's name.
TEST(Rewrite, values_of_a_table_that_are_parameters) {
  const std::string head = "[tables]\n", tail = R"toml(
[components]
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "R0(0.5)" }
i = { kind = "electrical.current_source", p = "datum", n = "a", I = 1 }
[unknowns]
R0 = { deviation = "9 mohm", smoothness = "1 mohm" }
)toml";
  const std::string was = R"(R0 = { points = [[0, 40], [1, 20]], unit = "mohm", parameters = true } # kept)";
  const std::string text = head + was + tail;
  const Model model = read(text);
  ASSERT_EQ(model.parameter_tables.size(), 1u);
  EXPECT_EQ(model.unknowns.size(), 2u);
  EXPECT_NEAR(model.components[0].values[0].number, 30e-3, 1e-15);
  const std::vector<int> parameters = model.parameter_tables[0].parameters;
  const std::array<double, 2> numbers{35e-3, 21e-3}, deviations{1e-3, 2e-3};
  const std::string now = with_numbers(text, model, parameters, numbers, deviations);
  EXPECT_NE(
      now.find(R"(R0 = { points = [[0.0, 35.0], [1.0, 21.0]], unit = "mohm", parameters = true } # kept)"),
      std::string::npos)
      << now;
  EXPECT_NE(now.find(R"(R0 = { deviation = "2 mohm", smoothness = "1 mohm" })"), std::string::npos) << now;
  const Model again = read(now);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_EQ(again.parameters[again.parameter_tables[0].parameters[k]].number, numbers[k]);
}

TEST(Rewrite, values_of_a_grid_and_of_a_component) {
  const std::string text = R"toml([components]
c = { kind = "battery.equivalent_circuit", p = "a", n = "datum", capacity = "1 Ah", soc0 = 1, R0 = "R(c.soc, 300)", R1 = 1, C1 = 1, R2 = 1, C2 = 1, OCV = { points = [[0, 3], [1, 4]], parameters = true } }
i = { kind = "electrical.current_source", p = "datum", n = "a", I = -1 }
[tables]
R = { axes = [[0, 1], ["0 degC", "25 degC"]], values = [[1, 2], [3, 4]], unit = "mohm", parameters = true }
)toml";
  const Model model = read(text);
  std::vector<int> parameters;
  std::vector<double> numbers;
  for (const ParameterTable& table : model.parameter_tables)
    for (int parameter : table.parameters) {
      parameters.push_back(parameter);
      numbers.push_back(2.0 * model.parameters[parameter].number);
    }
  EXPECT_EQ(parameters.size(), 6u);
  const Model again = read(with_numbers(text, model, parameters, numbers));
  for (const char* name : {"R[1,1]", "R[2,1]", "R[2,2]", "c.OCV[1]", "c.OCV[2]"}) {
    Model a = model, b = again;
    EXPECT_EQ(b.parameters[study_parameter(b, name)].number,
              2.0 * a.parameters[study_parameter(a, name)].number)
        << name;
  }
}

}  // namespace rewrite_test
}  // namespace tellegen
