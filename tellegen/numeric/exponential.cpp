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

}  // namespace tellegen
