#include "tellegen/numeric/exponential.h"

#include <cmath>
#include <unsupported/Eigen/MatrixFunctions>

namespace tellegen {

Eigen::MatrixXd exponential(const Eigen::MatrixXd& m) {
  if (m.size() == 0) return m;  // Eigen's is not for matrices without entries
  const auto n = m.rows();
  Eigen::MatrixXd balanced = m;
  Eigen::VectorXd scale = Eigen::VectorXd::Ones(n);
  for (bool changed = true; changed;) {
    changed = false;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double own = std::abs(balanced(i, i));
      const double column = balanced.col(i).cwiseAbs().sum() - own,
                   row = balanced.row(i).cwiseAbs().sum() - own;
      if (column == 0.0 || row == 0.0) continue;
      const double factor = std::exp2(std::round(0.5 * std::log2(row / column)));
      if (factor * column + row / factor >= 0.95 * (column + row)) continue;
      balanced.col(i) *= factor;
      balanced.row(i) /= factor;
      scale[i] *= factor;
      changed = true;
    }
  }
  const Eigen::MatrixXd result = balanced.exp();
  return scale.asDiagonal() * result * scale.cwiseInverse().asDiagonal();
}

// Taylor's series of the last where z is halved to a small size, then doubled.
ExponentialIntegrals exponential_integrals(const Eigen::MatrixXd& z) {
  const auto n = z.rows();
  if (n == 0) return {z, z, z};
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(n, n);
  int halvings = 0;
  for (double size = z.cwiseAbs().rowwise().sum().maxCoeff(); size > 0.5; size /= 2.0) ++halvings;
  const Eigen::MatrixXd small = z * std::ldexp(1.0, -halvings);
  ExponentialIntegrals e{one, one, one / 2.0};
  Eigen::MatrixXd term = one / 2.0;
  for (int k = 3; k <= 15; ++k) {
    term = (small * term / k).eval();
    e.second += term;
  }
  e.first = one + small * e.second;
  e.power = one + small * e.first;
  for (; halvings > 0; --halvings) {
    e.second = (0.25 * (e.power * e.second + e.first + e.second)).eval();
    e.first = (0.5 * (e.power * e.first + e.first)).eval();
    e.power = (e.power * e.power).eval();
  }
  return e;
}

}  // namespace tellegen
