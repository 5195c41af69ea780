#include "tellegen/estimate/follower.h"

#include <cmath>

namespace tellegen {

Follower::Follower(TwinModel& twin, const ReadingTimes& times, double step)
    : twin_(twin), times_(times), step_limit_(step) {}

std::optional<Followed> Follower::from(const Vector& start) {
  const auto n = start.size();
  Vector x = start;
  Followed result{Matrix::Identity(n, n), start, start, start, {start, {}}};
  InformationRoot information(n);
  double factored = 0.0;  // the step
  for (std::int64_t row = 0;; ++row) {
    const double t = times_.time(row);
    if (!twin_.evaluate(x, t, nullptr, nullptr, point_)) return std::nullopt;
    const Matrix slopes = point_.readings_by_state * result.transition;
    for (std::size_t s = 0; s < twin_.sensors(); ++s) {
      const double weight = times_.weights[static_cast<std::size_t>(row) * twin_.sensors() + s];
      if (weight > 0.0)
        information.add(slopes.row(static_cast<Eigen::Index>(s)) * std::sqrt(weight) / twin_.noise()[s]);
    }
    if (!slopes.allFinite()) return std::nullopt;
    if (row + 1 == times_.steps) break;
    const double length = times_.clock.empty() ? times_.step : times_.time(row + 1) - t;
    const auto substeps =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(length / step_limit_ - 1e-9)));
    h_ = length / static_cast<double>(substeps);
    for (std::int64_t k = 0; k < substeps; ++k) {
      if (k > 0 && !twin_.evaluate(x, t + h_ * static_cast<double>(k), nullptr, nullptr, point_))
        return std::nullopt;
      if (factored != h_ || !twin_.constant_slopes()) factor();
      factored = h_;
      x += pade_.solve(h_ * (point_.rates - z_ * point_.rates / 6.0) +
                       h_ * h_ * (point_.by_time / 2.0 - z_ * point_.by_time / 6.0));
      result.transition = step_ * result.transition;
    }
    if (!x.allFinite()) return std::nullopt;
    result.lowest = result.lowest.cwiseMin(x);
    result.highest = result.highest.cwiseMax(x);
  }
  result.end = x;
  result.information.root = information.root();
  return result;
}

void Follower::factor() {
  const auto n = point_.by_state.rows();
  z_ = h_ * point_.by_state;
  const Matrix one = Matrix::Identity(n, n);
  pade_.compute(one - 2.0 / 3.0 * z_ + z_ * z_ / 6.0);
  step_ = pade_.solve(one + z_ / 3.0);
}

}  // namespace tellegen
