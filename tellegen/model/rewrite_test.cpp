#include "tellegen/model/rewrite.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace {

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

}  // namespace
}  // namespace tellegen
