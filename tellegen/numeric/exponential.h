// The exponential of a small dense matrix.
#pragma once

#include <Eigen/Dense>

namespace tellegen {

// Scaled by powers of two until rows and columns are of like size, which is exact: farads beside ohms would
// otherwise make the norm, and with it the number of squarings, many times what the dynamics need.
// [Parlett 1969] Numer. Math. 13, 293.
Eigen::MatrixXd exponential(const Eigen::MatrixXd& m);

// e^z, (e^z - 1)/z and (e^z - 1 - z)/z^2 of a matrix.
struct ExponentialIntegrals {
  Eigen::MatrixXd power, first, second;
};
ExponentialIntegrals exponential_integrals(const Eigen::MatrixXd& z);

}  // namespace tellegen
