// A diagonally implicit Runge-Kutta formula with an explicit first stage, as data.
//
//   X_i = x + h sum_j a_ij k_j      k_i = rate at X_i      x_next = X_last
//
// The first stage is the end of the step before, all others are implicit with the same coefficient gamma, so
// that one factorisation serves the whole step. Stiffly accurate (the last stage is the result), L-stable,
// second order in every stage: algebraic variables and circuits of storage and sources keep their order, and
// the rates of such storage do not depend on the rates before the step. An embedded formula of one order less
// gives the error. A formula that needs no past begins at full order after every event.
//
// [Kennedy 2003] Kennedy and Carpenter, Additive Runge-Kutta schemes for convection-diffusion-reaction
// equations, Appl. Numer. Math. 44: ARK4(3)6L[2]SA.
#pragma once

#include <array>

namespace tellegen {

struct Esdirk {
  static constexpr int stages = 6;
  static constexpr int error_order = 4;  // the estimated error of a step goes with this power of its length
  static constexpr double gamma = 0.25;
  static constexpr std::array<double, stages> node{0.0, 0.5, 0.332, 0.62, 0.85, 1.0};
  static constexpr double a[stages][stages] = {
      {},
      {0.25, 0.25},
      {8611.0 / 62500, -1743.0 / 31250, 0.25},
      {5012029.0 / 34652500, -654441.0 / 2922500, 174375.0 / 388108, 0.25},
      {15267082809.0 / 155376265600, -71443401.0 / 120774400, 730878875.0 / 902184768, 2285395.0 / 8070912,
       0.25},
      {82889.0 / 524892, 0.0, 15625.0 / 83664, 69875.0 / 102672, -2260.0 / 8211, 0.25}};
  // Result minus result of the embedded formula.
  static constexpr std::array<double, stages> difference{
      82889.0 / 524892 - 4586570599.0 / 29645900160, 0.0,
      15625.0 / 83664 - 178811875.0 / 945068544,     69875.0 / 102672 - 814220225.0 / 1159782912,
      -2260.0 / 8211 + 3700637.0 / 11593932,         0.25 - 61727.0 / 225920};
};

}  // namespace tellegen
