#include "tellegen/model/machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tellegen/model/read.h"

namespace tellegen {
namespace machine_test {

const std::string rotor = R"(type = "salient"
pole_arc     = 0.7
body_width   = "20 mm"
body_height  = "10 mm"
shoe_height  = "4 mm"
shaft_radius = "5 mm"
yoke         = "10 mm"
turns        = 100
material     = "iron"
)";

std::string machine(const std::string& winding = "conductors = 8", const std::string& of_rotor = rotor,
                    int slots = 12, int poles = 4, const std::string& gap = "gap = \"0.8 mm\"") {
  return "[machine]\npoles = " + std::to_string(poles) + "\nstack = \"50 mm\"\n" + gap +
         "\n[machine.stator]\nslots = " + std::to_string(slots) + R"(
bore             = "80 mm"
tooth_width      = "8 mm"
tooth_height     = "15 mm"
yoke             = "10 mm"
slot_width       = "8 mm"
conductor_height = "12 mm"
opening          = "2 mm"
opening_height   = "1 mm"
material         = "iron"
[machine.winding]
)" + winding +
         "\n[machine.rotor]\n" + of_rotor + "\n[machine.materials]\niron = { mu_r = 1000 }\n";
}
const std::string around = R"(
[components]
load  = { kind = "electrical.resistor", p = "a", n = "neutral", R = 1 }
load2 = { kind = "electrical.resistor", p = "b", n = "neutral", R = 1 }
load3 = { kind = "electrical.resistor", p = "c", n = "neutral", R = 1 }
star  = { kind = "electrical.ground", p = "neutral" }
field_source = { kind = "electrical.voltage_source", p = "field_p", n = "datum", V = 10 }
drive = { kind = "rotational.speed_source", p = "shaft", n = "datum", w = 100 }
)";

Model read(const std::string& text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, "machine.toml", options);
}

// Codes and messages of all faults, "" where there are none.
std::string faults_of(const std::string& text) {
  try {
    read(text);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}
void expect_fault(const std::string& text, const std::string& code, const std::string& words) {
  const std::string faults = faults_of(text);
  EXPECT_NE(faults.find(code), std::string::npos) << faults;
  EXPECT_NE(faults.find(words), std::string::npos) << faults;
}

MachineWinding winding(const std::string& text, int slots, int poles) {
  const Document document(machine(text, rotor, slots, poles), "machine.toml");
  FaultList faults;
  const MachineWinding made =
      read_winding({document, faults}, document.root().find("machine")->find("winding"), slots, poles);
  faults.throw_if_any();
  return made;
}

TEST(Machine, becomes_a_network_of_the_library_s_kinds) {
  const Model model = read(machine() + around);
  EXPECT_TRUE(model.component_by_name.contains("tooth[12]"));
  EXPECT_TRUE(model.component_by_name.contains("gap[12][4]"));
  EXPECT_TRUE(model.component_by_name.contains("phase_c"));
  EXPECT_TRUE(model.component_by_name.contains("field"));
  EXPECT_NE(expand_machine(Document(machine() + around, "machine.toml"))
                .toml.find("machine_gap = { value = \"0.8 mm\""),
            std::string::npos);
}

TEST(Machine, its_dimensions_are_parameters_and_may_be_formulas) {
  const std::string text =
      "[parameters]\ng = \"1 mm\"\n" + machine("conductors = 8", rotor, 12, 4, "gap = \"g/2\"") + around;
  const Model model = read(text);
  const auto& gap = model.components[static_cast<std::size_t>(model.component_by_name.at("gap[1][1]"))];
  const auto& kind = model.kinds[static_cast<std::size_t>(gap.kind)];
  for (std::size_t k = 0; k < kind.parameters.size(); ++k)
    if (kind.parameters[k].name == "length") {
      const double pitch = std::numbers::pi * 80e-3 / 12,
                   carter = pitch / (pitch - 4e-6 / (2e-3 + 5 * 0.5e-3));
      EXPECT_NEAR(gap.values[k].number, carter * 0.5e-3, 1e-12);
    }
}

// Two slots per pole and phase: a running sum of the conductors, without its mean.
TEST(Machine, a_full_pitch_winding_surrounds_its_teeth) {
  const MachineWinding made = winding("conductors = 10", 24, 4);
  const std::vector<double> expected{-10, 0, 10, 10, 10, 10, 10, 0, -10, -10, -10, -10};
  for (std::size_t k = 0; k < 24; ++k) EXPECT_NEAR(made.turns[0][k], expected[k % 12], 1e-12) << k;
  // Phase b is four slots later, and the axis of a in the middle of teeth 3 to 7, counted from 1.
  for (std::size_t k = 0; k < 24; ++k) EXPECT_NEAR(made.turns[1][(k + 4) % 24], made.turns[0][k], 1e-12) << k;
  EXPECT_NEAR(made.axis, 4 * 2 * std::numbers::pi / 24, 1e-12);
}

TEST(Machine, two_layers_shorten_the_coils) {
  const MachineWinding made = winding("conductors = 10\nlayers = 2\ncoil_pitch = 5", 24, 4);
  double sum = 0.0;
  for (const double conductors : made.conductors[0]) sum += std::abs(conductors);
  EXPECT_NEAR(sum, 24 / 3 * 10, 1e-12);
  EXPECT_NEAR(made.conductors[0][5], -5, 1e-12);  // the other side of the coil that begins in the first slot
}

// Twelve slots, ten poles: a coil around every tooth.
TEST(Machine, fractional_slots_make_three_phases) {
  const MachineWinding made = winding("conductors = 20\nlayers = 2\ncoil_pitch = 1", 12, 10);
  int wound = 0;
  for (const double turns : made.turns[0]) wound += std::abs(turns) > 5;
  EXPECT_EQ(wound, 4);
}

TEST(Machine, parallel_paths_divide_the_turns) {
  EXPECT_NEAR(winding("conductors = 10\npaths = 2", 24, 4).turns[0][3], 5, 1e-12);
}

TEST(Machine, a_table_of_conductors_is_a_winding) {
  const MachineWinding made =
      winding("a = [7, 0, 0, -7, 0, 0]\nb = [0, 0, 7, 0, 0, -7]\nc = [0, -7, 0, 0, 7, 0]", 6, 2);
  EXPECT_NEAR(made.turns[0][1], 3.5, 1e-12);
}

TEST(Machine, what_is_wrong_is_reported) {
  EXPECT_EQ(faults_of(machine() + around), "");
  expect_fault(machine("conductors = 8", rotor, 10) + around, "T185", "10 slots");
  expect_fault(machine("conductors = 8", rotor, 12, 3) + around, "T124", "even");
  expect_fault(machine("conductors = 8\ncoil_pitch = 2") + around, "T185", "two layers");
  expect_fault(machine("a = [1, 2]\nb = []\nc = []") + around, "T185", "2 entries for 12 slots");
  expect_fault(machine("a = [1, 0, 0, -1, 0, 0, 1, 0, 0, -1, 0, 0]") + around, "T103", "'b'");
  expect_fault(machine("layers = 2") + around, "T103", "conductors");
  expect_fault(machine("conductors = 8", "type = \"clawpole\"") + around, "T186", "clawpole");
  expect_fault(machine("conductors = 8", "type = \"salient\"\nmaterial = \"iron\"") + around, "T103",
               "pole_arc");
  expect_fault(machine("conductors = 8", rotor + "bars = 3") + around, "T101", "bars");
  expect_fault(machine("conductors = 8\nresistanse = 1") + around, "T101", "resistance");
  expect_fault(machine("conductors = 8", rotor, 12, 4, "gap = \"1 kg\"") + around, "T123", "machine_gap");
  expect_fault(machine("conductors = 8", rotor, 12, 4, "gap = 0") + around, "T124", "length");
  expect_fault(machine("conductors = 8", rotor, 12, 4, "") + around, "T103", "'gap'");
  std::string other = machine() + around;
  other.replace(other.find("iron = { mu_r"), 4, "cake");
  expect_fault(other, "T184", "cake");
  std::string taken = machine() + around;
  taken.replace(taken.find("load2"), 5, "tooth");
  expect_fault(taken, "T106", "tooth");
  EXPECT_NE(faults_of("machine = 3\n" + around), "");
}

}  // namespace machine_test
}  // namespace tellegen
