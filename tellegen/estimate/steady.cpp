// The gain that does not change any more: what the Kalman filter of a linear model comes to when all its
// sensors read for long enough. A step is then a few multiplications, and the covariance a constant.
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "tellegen/estimate/filter.h"
#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

class SteadyFilter : public Filter {
 public:
  using Filter::Filter;

  bool predict(double t, const double* u, const double* du) override {
    if (predicted_.size() == 0 && !settle(t, u)) return false;
    if (!flow(belief_.x, t, u, du, step_, phi_)) return false;
    belief_.x += step_;
    return belief_.x.allFinite();
  }

  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    if (predicted_.size() == 0 && !settle(t, u)) return false;
    if (!model_.evaluate(belief_.x, t, u, nullptr, point_)) return false;
    out.log_likelihood = 0.0;
    std::uint64_t mask = 0;
    for (std::size_t s = 0; s < model_.sensors(); ++s) {
      const double innovation = readings[s] - point_.readings[static_cast<long>(s)];
      out.variance[s] = variance_[static_cast<long>(s)];
      out.refused[s] = !std::isnan(innovation) && refuse(innovation, out.variance[s]);
      out.value[s] = out.refused[s] ? std::numeric_limits<double>::quiet_NaN() : innovation;
      if (!std::isnan(out.value[s])) mask |= std::uint64_t{1} << s;
    }
    if (mask == 0) return true;
    const Matrix& gain = gain_for(mask);
    long k = 0;
    for (std::size_t s = 0; s < model_.sensors(); ++s)
      if (mask >> s & 1) {
        belief_.x += gain.col(k++) * out.value[s];
        out.log_likelihood -=
            0.5 * (out.value[s] * out.value[s] / out.variance[s] + std::log(2.0 * M_PI * out.variance[s]));
      }
    return belief_.x.allFinite();
  }

  // The covariance stays what it has become; of a filter that was saved when it had, it is that already.
  void restore(const Belief& belief) override {
    belief_.x = belief.x;
    if (predicted_.size() == 0) belief_.p = belief.p;
  }
  // The next step finds another gain.
  void set_process_noise(const Vector& variance_per_step) override {
    q_ = variance_per_step;
    predicted_.resize(0, 0);
    gains_.clear();
  }

 private:
  bool settle(double t, const double* u) {
    if (model_.sensors() > 60 || !flow(belief_.x, t, u, nullptr, step_, phi_)) return false;
    const auto steady = steady_gain(phi_, point_.readings_by_state, model_.noise(), q_);
    if (!steady) return false;
    predicted_ = steady->predicted;
    variance_ = steady->variance;
    h_ = point_.readings_by_state;
    gains_[(std::uint64_t{1} << model_.sensors()) - 1] = steady->gain;
    belief_.p = steady->corrected;
    return true;
  }

  const Matrix& gain_for(std::uint64_t mask) {
    const auto found = gains_.find(mask);
    if (found != gains_.end()) return found->second;
    std::vector<long> there;
    for (std::size_t s = 0; s < model_.sensors(); ++s)
      if (mask >> s & 1) there.push_back(static_cast<long>(s));
    const auto count = static_cast<long>(there.size());
    Matrix h(count, belief_.x.size());
    Vector r(count);
    for (long k = 0; k < count; ++k) {
      const long s = there[static_cast<std::size_t>(k)];
      h.row(k) = h_.row(s);
      r[k] = model_.noise()[static_cast<std::size_t>(s)] * model_.noise()[static_cast<std::size_t>(s)];
    }
    Matrix s = h * predicted_ * h.transpose();
    s.diagonal() += r;
    return gains_[mask] = solve_symmetric(s, h * predicted_).transpose();
  }

  Matrix predicted_, h_;
  Vector variance_;
  std::unordered_map<std::uint64_t, Matrix> gains_;
};

}  // namespace

// The Riccati equation by doubling the number of steps: [Anderson, Moore 1979], section 6.7.
std::optional<SteadyGain> steady_gain(const Matrix& transition, const Matrix& readings_by_state,
                                      const std::vector<double>& noise, const Vector& process_noise) {
  const auto n = transition.rows();
  Vector r(static_cast<long>(noise.size()));
  for (std::size_t s = 0; s < noise.size(); ++s) r[static_cast<long>(s)] = 1.0 / (noise[s] * noise[s]);
  const Matrix& h = readings_by_state;
  Matrix a = transition.transpose(), b = h.transpose() * r.asDiagonal() * h, p = process_noise.asDiagonal();
  for (int round = 0; round < 60; ++round) {
    const Matrix w = inverse(Matrix::Identity(n, n) + b * p);
    const Matrix next_a = a * w * a;
    const Matrix next_b = b + a * w * b * a.transpose();
    const Matrix next = p + a.transpose() * p * w * a;
    const double change = (next - p).norm() / (1e-300 + next.norm());
    a = next_a, b = 0.5 * (next_b + next_b.transpose()), p = 0.5 * (next + next.transpose());
    if (!p.allFinite()) return {};
    if (change < 1e-14) break;
  }
  SteadyGain steady;
  steady.spread = h * p * h.transpose();
  steady.spread.diagonal() += r.cwiseInverse();
  steady.variance = steady.spread.diagonal();
  steady.gain = solve_symmetric(steady.spread, h * p).transpose();
  Matrix rest = -steady.gain * h;
  rest.diagonal().array() += 1.0;
  steady.corrected =
      rest * p * rest.transpose() + steady.gain * r.cwiseInverse().asDiagonal() * steady.gain.transpose();
  steady.predicted = std::move(p);
  return steady;
}

std::unique_ptr<Filter> steady_matrices(TwinModel& model, const FilterOptions& options) {
  return std::make_unique<SteadyFilter>(model, options);
}

}  // namespace tellegen
