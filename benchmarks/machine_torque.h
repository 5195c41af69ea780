// Which torque of a transient is right: the exact derivative of the energy by the angle, or that of an
// interpolant through inductances at equal angles, which the reference of models/wrsm-mec has.
#pragma once

#include <array>
#include <vector>

namespace tellegen {

// The matrix of four windings by rows, at the angles 2 pi k/n of an electrical turn, k from 1.
using InductanceTable = std::vector<std::array<double, 16>>;

// 1/2 i' dL/dtheta i times the pole pairs, of the trigonometric interpolant through the table; `currents` of
// phases a, b, c and of the field, at electrical angles.
std::vector<double> interpolated_torque(const InductanceTable& table, const std::vector<double>& theta,
                                        const std::vector<std::array<double, 4>>& currents,
                                        double pole_pairs);

// Of quantities q, d and zero in the rotor's frame.
std::array<double, 3> phases_of(double q, double d, double zero, double theta);

// A sample of a run, its neighbours a little before and after it.
struct PowerSample {
  double theta = 0.0;               // electrical
  std::array<double, 4> current{};  // of the phases and the field
  std::array<double, 3> v{};        // of the phases
};

// Torque times the shaft's speed is what the terminals give, less the copper's loss and what the field
// gains. `energy` of the field and `linkage` of the field's winding at each of the three, `apart` in
// seconds from the first to the last. No derivative by the angle is in it.
double torque_of_power(const std::array<PowerSample, 3>& samples, const std::array<double, 3>& energy,
                       const std::array<double, 3>& linkage, double resistance, double apart, double w_m);

}  // namespace tellegen
