// Models and records of the thermal benchmark problems, for the tests of this folder and of those above it.
#pragma once

#include <string>

#include "tellegen/equations/test_text.h"
#include "tellegen/estimate/record.h"

namespace tellegen {

// [Rodriguez et al. 2021], section IV: two capacitors, three resistors.
inline const std::string rc_components = R"(
source = { kind = "thermal.heat_source", p = "datum", n = "n1", Q = "Q0" }
r1  = { kind = "thermal.resistor", p = "n1", n = "n2", R = "R1" }
r2  = { kind = "thermal.resistor", p = "n2", n = "n3", R = "R2" }
r3  = { kind = "thermal.resistor", p = "n3", n = "n4", R = "R3" }
c1  = { kind = "thermal.capacitor", p = "n2", n = "datum", C = "C1", T0 = "299 K" }
c2  = { kind = "thermal.capacitor", p = "n3", n = "datum", C = "C2", T0 = "301 K" }
air = { kind = "thermal.fixed_temperature", p = "n4", n = "datum", T = "300 K" }
[parameters]
Q0 = "10 W"
R1 = "1 K/W"
R2 = "2 K/W"
R3 = "3 K/W"
C1 = "0.1 J/K"
C2 = "0.2 J/K"
[sensors]
T1 = { measures = "n1.T", noise = "0.5 K" }
T2 = { measures = "n2.T", noise = "0.5 K" }
T3 = { measures = "n3.T", noise = "0.5 K" }
)";

// Section V: six MOSFET blocks on three DBC plates on a cooled heatsink.
inline std::string inverter_components() {
  std::string text;
  for (int k = 1; k <= 6; ++k) {
    const std::string n = std::to_string(k), plate = std::to_string(7 + (k - 1) / 2);
    text += "q" + n + " = { kind = \"thermal.heat_source\", p = \"datum\", n = \"n" + n + "\", Q = \"Q\" }\n";
    text += "die" + n + " = { kind = \"thermal.resistor\", p = \"n" + n + "\", n = \"n" + plate +
            "\", R = \"R_die\" }\n";
  }
  for (int k = 7; k <= 9; ++k) {
    const std::string n = std::to_string(k);
    text +=
        "dbc" + n + " = { kind = \"thermal.resistor\", p = \"n" + n + "\", n = \"n10\", R = \"R_dbc\" }\n";
    text += "c" + n + " = { kind = \"thermal.capacitor\", p = \"n" + n +
            "\", n = \"datum\", C = \"C_dbc\", T0 = \"343.15 K\" }\n";
  }
  return text + R"(
sp  = { kind = "thermal.resistor", p = "n10", n = "n11", R = "R_sp" }
hs  = { kind = "thermal.resistor", p = "n11", n = "n12", R = "R_hs" }
w   = { kind = "thermal.resistor", p = "n12", n = "n13", R = "R_w" }
c11 = { kind = "thermal.capacitor", p = "n11", n = "datum", C = "C_hs", T0 = "343.15 K" }
c12 = { kind = "thermal.capacitor", p = "n12", n = "datum", C = "C_w", T0 = "343.15 K" }
water = { kind = "thermal.fixed_temperature", p = "n13", n = "datum", T = "T_w" }
[inputs]
T_w = "343.15 K"
Q = "208 W"
[parameters]
R_die = "7.516 mK/W"
R_dbc = "30.47 mK/W"
R_sp = "3.771 mK/W"
R_hs = "12.78 mK/W"
R_w = "1.837 mK/W"
C_dbc = "1.27 J/K"
C_hs = "30.79 J/K"
C_w = "114.42 J/K"
[sensors]
T7 = { measures = "n7.T", noise = "0.5 K" }
T11 = { measures = "n11.T", noise = "0.5 K" }
T12 = { measures = "n12.T", noise = "0.5 K" }
)";
}

// Rows without readings.
inline Record rows_of(std::vector<int> sensors, double step, std::int64_t rows) {
  Record record;
  record.sensors = std::move(sensors);
  record.step = step;
  record.steps = rows;
  record.readings.assign(record.sensors.size() * static_cast<std::size_t>(rows),
                         std::numeric_limits<double>::quiet_NaN());
  return record;
}

}  // namespace tellegen
