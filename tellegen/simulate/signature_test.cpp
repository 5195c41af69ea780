#include "tellegen/simulate/signature.h"

#include <gtest/gtest.h>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace signature_test {

using Role = Signature::Role;

Model circuit() {
  return read_model_text(R"toml(
[parameters]
R = "2 ohm"
twice = "2*R"
[components]
e  = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "twice" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "3 F", v0 = "0.5 V" }
[outputs]
v = { value = "c1.v", unit = "mV" }
)toml",
                         "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
}

// From the file to the register, which holds the number, and back.
TEST(Signature, follows_numbers_to_their_registers) {
  const Model model = circuit();
  for (const char* method : {"bdf1", "bdf3", "tr"}) {
    SimulationOptions options = options_of(method, 1.0, 0.1);
    options.restarts = true;
    const Simulation simulation(model, options, {});
    const StepCode code = simulation.step_code();
    const Signature signature = signature_of(simulation);
    const auto found = signature.of("R");
    ASSERT_EQ(found.size(), code.parts.size()) << method;
    for (const Signature::Register& r : found) {
      EXPECT_EQ(r.name, "r1.R");
      EXPECT_EQ(r.unit, "ohm");
      EXPECT_EQ(r.follows, (std::vector<std::string>{"twice", "R"}));
      EXPECT_EQ(code.parts[r.part].registers[static_cast<std::size_t>(r.reg)], 4.0);
      ASSERT_EQ(signature.at(r.part, r.reg).size(), 1u);
      EXPECT_EQ(signature.at(r.part, r.reg)[0].name, "r1.R");
    }
    EXPECT_EQ(signature.of("C").size(), 0u);
    EXPECT_EQ(signature.of("c1.C").size(), code.parts.size());
  }
}

TEST(Signature, names_states_time_and_outputs) {
  const Model model = circuit();
  for (const char* method : {"bdf3", "rk4"}) {
    const Simulation simulation(model, options_of(method, 1.0, 0.1), {});
    const StepCode code = simulation.step_code();
    const Signature signature = signature_of(simulation);
    int states = 0;
    for (const Signature::Register& r : signature.of("c1.v")) {
      if (r.role == Role::rate) continue;
      EXPECT_EQ(r.unit, "V");
      EXPECT_EQ(r.role == Role::state, r.age == 0);
      EXPECT_EQ(code.parts[r.part].registers[static_cast<std::size_t>(r.reg)], 0.5) << method;
      states += r.role == Role::state;
    }
    EXPECT_EQ(states, static_cast<int>(code.parts.size())) << method;
    EXPECT_EQ(signature.of("t").size(), code.parts.size());
    EXPECT_EQ(signature.of("v").size(), code.parts.size());
    EXPECT_EQ(role_name(signature.of("v")[0].role), "output");
  }
}

TEST(Signature, tells_inputs_from_outside_from_what_events_change) {
  Model model = read_model_text(
      "[inputs]\nu = { value = 2.0, unit = \"V\" }\n[components]\n"
      "v = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"u\" }\n"
      "s = { kind = \"electrical.switch\", cp = \"b\", cn = \"datum\", p = \"a\", n = \"b\", Roff = 10 }\n"
      "c = { kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 1.0 }\n",
      "test.toml", {.library = TELLEGEN_SOURCE_DIR "/library", .overrides = {}});
  make_external(model, "u");
  SimulationOptions options = options_of("tr", 1.0, 0.1);
  options.external = {"u"};
  const Signature signature = signature_of(Simulation(model, options, columns_of(model, {"b.v"})));
  ASSERT_EQ(signature.of("u").size(), 1u);
  EXPECT_EQ(signature.of("u")[0].role, Role::input);
  EXPECT_EQ(signature.of("u")[0].unit, "V");
  ASSERT_EQ(signature.of("s.on").size(), 1u);
  EXPECT_EQ(signature.of("s.on")[0].role, Role::discrete);
}

}  // namespace signature_test
}  // namespace tellegen
