// Sigma points instead of derivatives: mean and covariance of the states after a step, and of the readings,
// are those of 2n + 1 points that have the belief's mean and covariance. [Julier, Uhlmann 2004] Proc. IEEE
// 92, 401.
#include <cmath>

#include "tellegen/estimate/filter.h"

namespace tellegen {
namespace {

class UnscentedFilter : public Filter {
 public:
  UnscentedFilter(TwinModel& model, const FilterOptions& options) : Filter(model, options) {
    const auto n = belief_.x.size();
    // alpha = 1, kappa = 3 - n would make the middle weight negative for n > 3: 0 keeps it at most that.
    kappa_ = std::max(0.0, 3.0 - static_cast<double>(n));
    points_.resize(n, 2 * n + 1);
    next_.resize(n);
  }

  bool predict(double t, const double* u, const double* du) override {
    if (!spread()) return false;
    const auto n = belief_.x.size();
    for (Eigen::Index k = 0; k < points_.cols(); ++k) {
      next_ = points_.col(k);
      model_.clamp(next_);
      if (!flow(next_, t, u, du, step_, phi_)) return false;
      points_.col(k) = next_ + step_;
    }
    belief_.x.setZero();
    for (Eigen::Index k = 0; k < points_.cols(); ++k) belief_.x += weight(k) * points_.col(k);
    belief_.p = Matrix::Zero(n, n);
    for (Eigen::Index k = 0; k < points_.cols(); ++k) {
      next_ = points_.col(k) - belief_.x;
      belief_.p.noalias() += weight(k) * next_ * next_.transpose();
    }
    belief_.p.diagonal() += q_;
    model_.clamp(belief_.x);
    return belief_.x.allFinite();
  }

  // Readings one after the other, each with points of its own.
  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    out.log_likelihood = 0.0;
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
  double weight(Eigen::Index k) const {
    const double n = static_cast<double>(belief_.x.size());
    return k == 0 ? kappa_ / (n + kappa_) : 0.5 / (n + kappa_);
  }

  bool spread() {
    const auto n = belief_.x.size();
    // A state that is known exactly has no spread; what rounding leaves below zero is none either.
    const Eigen::LDLT<Matrix> factor(belief_.p);
    Matrix root = factor.matrixL();
    const Vector d = factor.vectorD().cwiseMax(0.0).cwiseSqrt();
    root = factor.transpositionsP().transpose() * (root * d.asDiagonal());
    if (!root.allFinite()) return false;
    const double scale = std::sqrt(static_cast<double>(n) + kappa_);
    points_.col(0) = belief_.x;
    for (Eigen::Index k = 0; k < n; ++k) {
      points_.col(1 + k) = belief_.x + scale * root.col(k);
      points_.col(1 + n + k) = belief_.x - scale * root.col(k);
    }
    return true;
  }

  double kappa_;
  Matrix points_, none_;
  Vector next_;
};

}  // namespace

std::unique_ptr<Filter> unscented_filter(TwinModel& model, const FilterOptions& options) {
  return std::make_unique<UnscentedFilter>(model, options);
}

}  // namespace tellegen
