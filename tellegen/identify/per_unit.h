// Per unit for an induction machine's start-up: voltage V, current I and the supply's frequency w are one; so
// are flux linkage V/w, resistance V/I and inductance V/(w I). With torque (3P/4) V I / w, Q_w = J/P of
// torque/(2 w^2) and B of torque P/(2 w) all difference equations have the one factor w dT.
#pragma once

#include <array>

#include "tellegen/identify/relaxation.h"

namespace tellegen {

struct PerUnit {
  double voltage = 0.0, current = 0.0, frequency = 0.0, torque = 0.0;
  int poles = 4;

  explicit PerUnit(const StartUp& data);
  // Of L_s, L_m, r_s, r_r, J and B; per unit J/P is the Q_w of the source.
  std::array<double, 6> bases() const;
};

}  // namespace tellegen
