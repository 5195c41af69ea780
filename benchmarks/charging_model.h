#pragma once

namespace tellegen {

// A capacitor charged through a resistor: 100 steps.
inline constexpr const char* charging_model = R"(name = "charging"
[parameters]
R1 = "1 kohm"
C1 = "1 uF"
[components]
source = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "10 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R1" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C1" }
[outputs]
V = { value = "b.v", unit = "V" }
E = { value = "0.5*C1*b.v^2", unit = "uJ" }
[simulation]
stop = "1 ms"
step = "10 us"
)";

}  // namespace tellegen
