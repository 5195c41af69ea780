#include "tellegen/estimate/smoother.h"

#include "tellegen/numeric/decompose.h"

namespace tellegen {

void Smoother::keep(std::size_t row, const Belief& corrected, const Matrix& transition,
                    const Belief& predicted) {
  if (steps_.size() < row) steps_.resize(row);
  steps_[row - 1] = {corrected, predicted, transition};
}

// x = x+ + G (x_next - x-_next),  P = P+ + G (P_next - P-_next) G',  G = P+ Phi' (P-_next)^-1
void Smoother::back(const Step& step, Belief& smooth) {
  // Scaled to a unit diagonal: a temperature's variance and a power's differ by a billion. What is known
  // exactly has no variance, and stays as it is.
  const Vector scale =
      step.predicted.p.diagonal().unaryExpr([](double v) { return v > 0.0 ? 1.0 / std::sqrt(v) : 0.0; });
  Matrix scaled = scale.asDiagonal() * step.predicted.p * scale.asDiagonal();
  for (Eigen::Index k = 0; k < scale.size(); ++k)
    if (scale[k] == 0.0) scaled(k, k) = 1.0;
  const Matrix right = scale.asDiagonal() * step.transition * step.corrected.p;
  const Matrix gain = (scale.asDiagonal() * solve_symmetric(scaled, right)).transpose();
  smooth.x = step.corrected.x + gain * (smooth.x - step.predicted.x);
  smooth.p = step.corrected.p + gain * (smooth.p - step.predicted.p) * gain.transpose();
  smooth.p = (0.5 * (smooth.p + smooth.p.transpose())).eval();
}

}  // namespace tellegen
