// Runs of machines from their cross-section.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace machine_run_test {

const std::string cage_motor = R"toml(
[parameters]
f = "50 Hz"
[machine]
poles = 2
stack = "50 mm"
gap   = "0.6 mm"
[machine.stator]
slots            = 6
bore             = "60 mm"
tooth_width      = "14 mm"
tooth_height     = "15 mm"
yoke             = "15 mm"
slot_width       = "14 mm"
conductor_height = "12 mm"
opening          = "3 mm"
opening_height   = "1 mm"
material         = "iron"
[machine.winding]
conductors  = 100
end_leakage = "5 mH"
resistance  = "2 ohm"
[machine.rotor]
type            = "cage"
bars            = 8
tooth_width     = "9 mm"
tooth_height    = "10 mm"
slot_width      = "8 mm"
bar_height      = "8 mm"
opening         = "1 mm"
opening_height  = "0.5 mm"
bar_resistance  = "300 uohm"
ring_resistance = "20 uohm"
yoke            = "10 mm"
material        = "iron"
[machine.materials]
iron = { mu_r = 2000 }
[components]
v_a    = { kind = "electrical.sine_voltage", p = "a", n = "datum", amplitude = 60, frequency = "f" }
v_b    = { kind = "electrical.sine_voltage", p = "b", n = "datum", amplitude = 60, frequency = "f", phase = "-2*pi/3" }
v_c    = { kind = "electrical.sine_voltage", p = "c", n = "datum", amplitude = 60, frequency = "f", phase = "2*pi/3" }
ground = { kind = "electrical.ground", p = "neutral" }
drive  = { kind = "rotational.speed_source", p = "shaft", n = "datum", w = "pi*f" }
[initial]
"phase_a.lambda" = 0
"phase_b.lambda" = 0
"phase_c.lambda" = 0
[outputs]
P_in = "-(v_a.v*v_a.i + v_b.v*v_b.i + v_c.v*v_c.i)"
P_s  = "machine_winding_resistance*(phase_a.i^2 + phase_b.i^2 + phase_c.i^2)"
P_r  = "sum(bar[*].v*bar[*].i) + sum(ring_segment[*].v*ring_segment[*].i)"
P_m  = "T_e*pi*f"
)toml";

// Half of the synchronous speed: two periods of the supply are one turn of the rotor, and everything repeats.
// What goes in leaves as heat and at the shaft. The torque comes from the gaps, the heat from currents.
TEST(MachineRun, a_cage_motor_balances_its_powers) {
  ReadOptions read;
  read.library = TELLEGEN_SOURCE_DIR "/library";
  const Model model = read_model_text(cage_motor, "cage.toml", read);
  SimulationOptions given;
  given.method = "tr";
  given.form = given.start = "";
  given.step = 2e-4;
  given.stop = 0.32;
  std::vector<OutputColumn> outputs;
  for (const char* name : {"P_in", "P_s", "P_r", "P_m"})
    outputs.push_back({name, "", parse_value(model, name, {})});
  const SimulationResult result = Simulation(model, complete_options(model, given), outputs).run();
  ASSERT_EQ(result.failure, "");
  double mean[4] = {};
  const std::size_t rows = result.t.size(), count = 200;  // 40 ms
  for (std::size_t r = rows - count; r < rows; ++r)
    for (std::size_t k = 0; k < 4; ++k) mean[k] += result.values[4 * r + k] / count;
  EXPECT_GT(mean[0], 10.0);
  EXPECT_NEAR(mean[0] - mean[1] - mean[2] - mean[3], 0.0, 2e-3 * mean[0]);
  EXPECT_GT(mean[3], 0.1 * mean[0]);
}

}  // namespace machine_run_test
}  // namespace tellegen
