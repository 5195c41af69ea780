// Sigma points instead of derivatives: mean and covariance of the states after a step, and of the readings,
// are those of 2n + 1 points that have the belief's mean and covariance. [Julier, Uhlmann 2004] Proc. IEEE
// 92, 401.
//
// A point beyond an unknown's bounds is evaluated at the bound, and stays where it is: moved there, it would
// shrink the covariance and shift the mean at every step, as if somebody had read the unknown.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tellegen/estimate/filter_formulas.h"

namespace tellegen {
namespace {

class UnscentedFilter : public Filter {
 public:
  UnscentedFilter(TwinModel& model, const FilterOptions& options) : Filter(model, options) {
    const auto n = belief_.x.size();
    // alpha = 1, kappa = 3 - n would make the middle weight negative for n > 3: 0 keeps it at most that.
    kappa_ = std::max(0.0, 3.0 - static_cast<double>(n));
    points_.resize(n, 2 * n + 1);
    factor_.resize(n, n);
    next_.resize(n);
    order_.resize(model.size());
  }

  bool predict(double t, const double* u, const double* du) override {
    if (!spread()) return false;
    const auto n = belief_.x.size();
    for (Eigen::Index k = 0; k < points_.cols(); ++k) {
      next_ = points_.col(k);
      model_.clamp(next_);
      if (options_.euler ? !model_.rates(next_, t, u, step_) : !flow(next_, t, u, du, step_, phi_))
        return false;
      if (options_.euler) {
        step_ *= length_;
        renew(next_, step_);
      }
      points_.col(k) += step_;
    }
    belief_.x.setZero();
    for (Eigen::Index k = 0; k < points_.cols(); ++k) belief_.x += weight(k) * points_.col(k);
    belief_.p.setZero();
    for (Eigen::Index k = 0; k < points_.cols(); ++k) {
      next_ = points_.col(k) - belief_.x;
      for (Eigen::Index j = 0; j < n; ++j) belief_.p.col(j) += (weight(k) * next_[j]) * next_;
    }
    add_noise(belief_.p);
    model_.clamp(belief_.x);
    return belief_.x.allFinite();
  }

  // Readings one after the other, each with points of its own. Where they are linear in the states, and no
  // bound bends the points, mean and covariance follow without points, and are the same.
  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    out.log_likelihood = 0.0;
    if (model_.constant_reading_slopes() && !model_.bounded()) return correct_linear(t, u, readings, out);
    Vector y(static_cast<long>(model_.sensors()));
    for (std::size_t s = 0; s < model_.sensors(); ++s) {
      out.value[s] = out.variance[s] = std::numeric_limits<double>::quiet_NaN();
      out.refused[s] = 0;
      if (std::isnan(readings[s])) continue;
      if (!spread()) return false;
      Vector at(points_.cols());
      double mean = 0.0;
      for (Eigen::Index k = 0; k < points_.cols(); ++k) {
        next_ = points_.col(k);
        model_.clamp(next_);
        if (!model_.readings(next_, t, u, y)) return false;
        at[k] = y[static_cast<long>(s)];
        mean += weight(k) * at[k];
      }
      double variance = model_.noise()[s] * model_.noise()[s];
      Vector cross = Vector::Zero(belief_.x.size());
      for (Eigen::Index k = 0; k < points_.cols(); ++k) {
        variance += weight(k) * (at[k] - mean) * (at[k] - mean);
        cross += weight(k) * (at[k] - mean) * (points_.col(k) - belief_.x);
      }
      const double innovation = readings[s] - mean;
      out.variance[s] = variance;
      if (refuse(innovation, variance)) {
        out.refused[s] = 1;
        continue;
      }
      out.value[s] = innovation;
      out.log_likelihood -= 0.5 * (innovation * innovation / variance + std::log(2.0 * M_PI * variance));
      belief_.x += cross * (innovation / variance);
      belief_.p.noalias() -= cross * cross.transpose() / variance;
    }
    model_.clamp(belief_.x);
    return belief_.x.allFinite();
  }

  const Matrix& transition() const override { return none_; }

 private:
  bool correct_linear(double t, const double* u, const double* readings, Innovations& out) {
    if (!model_.evaluate_readings(belief_.x, t, u, point_)) return false;
    next_ = belief_.x;
    for (std::size_t s = 0; s < model_.sensors(); ++s) {
      const auto i = static_cast<long>(s);
      out.value[s] = out.variance[s] = std::numeric_limits<double>::quiet_NaN();
      out.refused[s] = 0;
      if (std::isnan(readings[s])) continue;
      row_ = point_.readings_by_state.row(i).transpose();
      const double r = model_.noise()[s] * model_.noise()[s];
      cross_.noalias() = belief_.p * row_;
      const double variance = row_.dot(cross_) + r;
      double innovation = readings[s] - point_.readings[i];
      for (Eigen::Index k = 0; k < next_.size(); ++k) innovation -= row_[k] * (belief_.x[k] - next_[k]);
      out.variance[s] = variance;
      if (refuse(innovation, variance)) {
        out.refused[s] = 1;
        continue;
      }
      out.value[s] = innovation;
      out.log_likelihood -= 0.5 * (innovation * innovation / variance + std::log(2.0 * M_PI * variance));
      joseph_update(belief_, row_, innovation, r, variance, gain_, cross_);
    }
    return belief_.x.allFinite();
  }

  double weight(Eigen::Index k) const {
    const double n = static_cast<double>(belief_.x.size());
    return k == 0 ? kappa_ / (n + kappa_) : 0.5 / (n + kappa_);
  }

  // By Cholesky, the states in the order of their variances, the largest first. A state that is known exactly
  // has no spread; what rounding leaves of it is none either.
  bool spread() {
    const auto n = belief_.x.size();
    const Matrix& p = belief_.p;
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](long i, long j) { return p(i, i) > p(j, j); });
    const double scale = std::sqrt(static_cast<double>(n) + kappa_);
    points_.col(0) = belief_.x;
    factor_.setZero();
    for (Eigen::Index k = 0; k < n; ++k) {
      const long pivot = order_[static_cast<std::size_t>(k)];
      next_ = p.col(pivot);
      for (Eigen::Index j = 0; j < k; ++j) next_ -= factor_(pivot, j) * factor_.col(j);
      const double d = next_[pivot];
      if (!std::isfinite(d)) return false;
      if (d > least_pivot * p(pivot, pivot))
        for (Eigen::Index i = k; i < n; ++i) {
          const long row = order_[static_cast<std::size_t>(i)];
          factor_(row, k) = next_[row] / std::sqrt(d);
        }
      points_.col(1 + k) = belief_.x + scale * factor_.col(k);
      points_.col(1 + n + k) = belief_.x - scale * factor_.col(k);
    }
    return true;
  }

  double kappa_;
  Matrix points_, factor_, none_;
  Vector next_, row_, gain_, cross_;
  std::vector<long> order_;
};

}  // namespace

std::unique_ptr<Filter> unscented_matrices(TwinModel& model, const FilterOptions& options) {
  return std::make_unique<UnscentedFilter>(model, options);
}

}  // namespace tellegen
