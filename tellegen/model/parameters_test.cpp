#include "tellegen/model/parameters.h"

#include <gtest/gtest.h>

#include "tellegen/model/read.h"

namespace tellegen {
namespace parameters_test {

Model circuit() {
  return read_model_text(R"toml(
name = "test"
[parameters]
twice = "2*R1"
R1 = "3 ohm"
[components]
v1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "twice + 1" }
r2 = { kind = "electrical.resistor", p = "b", n = "datum", R = "7 ohm" }
f  = { kind = "rotational.stick_slip", p = "s", n = "datum", tau_slide = "2 N m" }
m  = { kind = "rotational.torque_source", p = "datum", n = "s", tau = "1 N m" }
)toml",
                         "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

double value(const Model& model, const std::string& component, const std::string& parameter) {
  const Component& c = model.components[model.component_by_name.at(component)];
  const Kind& kind = model.kinds[c.kind];
  for (std::size_t k = 0; k < kind.parameters.size(); ++k)
    if (kind.parameters[k].name == parameter) return c.values[k].number;
  return -1.0;
}

TEST(Parameters, NewNumbersReachEverythingThatFollows) {
  Model model = circuit();
  const int r1 = study_parameter(model, "R1");
  set_parameters(model, std::array{r1}, std::array{10.0});
  EXPECT_DOUBLE_EQ(value(model, "r1", "R"), 21.0);
  EXPECT_DOUBLE_EQ(model.parameters[0].number, 20.0);
}

TEST(Parameters, NumberOfAComponentIsAParameterToo) {
  Model model = circuit();
  const int r2 = study_parameter(model, "r2.R"), slide = study_parameter(model, "f.tau_slide");
  EXPECT_EQ(study_parameter(model, "r2.R"), r2);
  set_parameters(model, std::array{r2, slide}, std::array{8.0, 5.0});
  EXPECT_DOUBLE_EQ(value(model, "r2", "R"), 8.0);
  EXPECT_DOUBLE_EQ(value(model, "f", "tau_break"), 5.0);  // a default written in tau_slide
}

TEST(Parameters, SlopesGoThroughTheChain) {
  Model model = circuit();
  const std::array wrt{study_parameter(model, "R1"), study_parameter(model, "f.tau_slide")};
  const ParameterSlopes slopes(model, wrt);
  const Component& r1 = model.components[model.component_by_name.at("r1")];
  EXPECT_EQ(slopes.of(r1.values[0].value), (Slopes{{0, 2.0}}));
}

TEST(Parameters, BrokenBoundLeavesTheModelAsItWas) {
  Model model = circuit();
  const int r2 = study_parameter(model, "r2.R");
  EXPECT_THROW(set_parameters(model, std::array{r2}, std::array{-1.0}), ModelError);
  EXPECT_DOUBLE_EQ(value(model, "r2", "R"), 7.0);
}

// The short way has the numbers of the long one to the last bit, and its faults.
TEST(Parameters, ASetterDoesWhatSettingDoes) {
  Model often = circuit();
  std::vector<int> parameters;
  for (const char* name : {"R1", "r2.R", "f.tau_slide"}) parameters.push_back(study_parameter(often, name));
  ParameterSetter setter(often, parameters);
  for (const double factor : {1.1, 0.3, -1.0, 1.7}) {
    const std::array numbers{3.3 * factor, 7.7 * factor, 0.9 * factor};
    Model once = circuit();
    for (const char* name : {"R1", "r2.R", "f.tau_slide"}) study_parameter(once, name);
    const auto codes = [&](auto set) {
      std::string codes;
      try {
        set();
      } catch (const ModelError& error) {
        for (const Fault& fault : error.faults()) codes += fault.code + " ";
      }
      return codes;
    };
    const std::string wanted = codes([&] { set_parameters(once, parameters, numbers); });
    EXPECT_EQ(codes([&] { setter.set(numbers); }), wanted);
    EXPECT_EQ(wanted.empty(), factor > 0.0);
    if (!wanted.empty()) continue;
    for (std::size_t p = 0; p < once.parameters.size(); ++p)
      EXPECT_EQ(often.parameters[p].number, once.parameters[p].number);
    for (std::size_t c = 0; c < once.components.size(); ++c)
      for (std::size_t k = 0; k < once.components[c].values.size(); ++k)
        EXPECT_EQ(often.components[c].values[k].number, once.components[c].values[k].number);
  }
}

TEST(Parameters, UnknownNamesTheNearest) {
  Model model = circuit();
  try {
    study_parameter(model, "r2.S");
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].code, "T140");
    EXPECT_NE(error.faults()[0].details[0].find("r2.R"), std::string::npos);
  }
}

}  // namespace parameters_test
}  // namespace tellegen
