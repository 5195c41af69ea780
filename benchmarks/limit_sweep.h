// Many samples of two circuits by hand: the loop over steps that a person writes who knows the circuit and
// the vector units, with samples in lanes.
//
// Fixed steps of the third backward difference formula after two trapezoidal steps, as the models take them;
// everything that is constant in a sample is computed before its steps. Elementary functions are the C
// library's, lane by lane, as the answer must be the same on every machine; limit_rectifier_samples() can use
// its vector functions instead, whose last digits are others (glibc on x86-64; nothing elsewhere).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tellegen {

// models/rc-thermal/network.toml: T1, T2, T3 at the end of each sample.
struct ThermalSample {
  double r1, r2, r3, c1, c2, heat;
};
std::vector<double> limit_thermal_samples(std::span<const ThermalSample> samples, double step, long steps);

// models/rectifier: n2.v - n3.v and the current of the resistor at the end of each sample.
struct RectifierSample {
  double resistance, inductance, amplitude;
};
std::vector<double> limit_rectifier_samples(std::span<const RectifierSample> samples, double step, long steps,
                                            bool vector_functions);
bool has_vector_functions();

}  // namespace tellegen
