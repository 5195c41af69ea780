#include "tellegen/identifiability/follower.h"

#include <cmath>

namespace tellegen {
namespace {

constexpr double known_start = 1e-9;  // relative: of what is no question

}  // namespace

Follower::Follower(TwinModel& twin, const ReadingTimes& times, double step)
    : twin_(twin), times_(times), step_limit_(step) {}

// The model's own inputs: none is given.
class Follower::Between : public MeanFollower {
 public:
  Between(Follower& follower, Vector& x, Matrix& transition)
      : follower_(follower), x_(x), transition_(transition) {}
  const Vector& mean() const override { return x_; }
  bool predict(double t, double length, const double*, bool) override {
    return follower_.advance(t, length, x_, transition_);
  }
  void keep() override { kept_x_ = x_, kept_transition_ = transition_; }
  void go_back() override { x_ = kept_x_, transition_ = kept_transition_; }
  void change(const Vector& mean, const Matrix& change) override {
    x_ = mean;
    transition_ = change * transition_;
  }

 private:
  Follower& follower_;
  Vector &x_, kept_x_;
  Matrix &transition_, kept_transition_;
};

std::optional<Followed> Follower::from(const Vector& start) {
  const auto n = start.size();
  Vector x = start;
  Followed result{Matrix::Identity(n, n), start, start, start, {start, {}}};
  InformationRoot information(n);
  // What a computer samples begins as the model says.
  for (const TwinSample& sample : twin_.samples())
    information.add(Vector::Unit(n, sample.state).transpose() /
                    (known_start * (1.0 + std::abs(x[sample.state]))));
  std::optional<TwinEvents> events;
  Between between(*this, x, result.transition);
  const Vector memory = twin_.memory();
  if (twin_.has_events()) events.emplace(twin_, times_.step);
  if (events && !events->begin(between, times_.time(0), nullptr)) return std::nullopt;
  factored_ = 0.0;
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
    evaluated_ = !events;
    if (!(events ? events->lead(between, t, length, nullptr, nullptr)
                 : advance(t, length, x, result.transition)))
      return std::nullopt;
    result.lowest = result.lowest.cwiseMin(x);
    result.highest = result.highest.cwiseMax(x);
  }
  if (events) twin_.set_memory(memory);
  result.end = x;
  result.information.root = information.root();
  return result;
}

bool Follower::advance(double t, double length, Vector& x, Matrix& transition) {
  const auto substeps =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(length / step_limit_ - 1e-9)));
  h_ = length / static_cast<double>(substeps);
  for (std::int64_t k = 0; k < substeps; ++k) {
    if ((k > 0 || !evaluated_) &&
        !twin_.evaluate(x, t + h_ * static_cast<double>(k), nullptr, nullptr, point_))
      return false;
    if (factored_ != h_ || !twin_.constant_slopes()) factor();
    factored_ = h_;
    x += pade_.solve(h_ * (point_.rates - z_ * point_.rates / 6.0) +
                     h_ * h_ * (point_.by_time / 2.0 - z_ * point_.by_time / 6.0));
    transition = step_ * transition;
  }
  return x.allFinite();
}

void Follower::factor() {
  const auto n = point_.by_state.rows();
  z_ = h_ * point_.by_state;
  const Matrix one = Matrix::Identity(n, n);
  pade_.compute(one - 2.0 / 3.0 * z_ + z_ * z_ / 6.0);
  step_ = pade_.solve(one + z_ / 3.0);
}

}  // namespace tellegen
