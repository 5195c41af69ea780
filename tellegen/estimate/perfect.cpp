// The form of [Rodriguez et al. 2021], (29) to (44): states z, their rates z' and the unknowns rho, tied by
// readings without noise.
//
//   predict    z'' = F z' + df/dt,  rho' as the unknown says
//   correct    y = h(z, rho) + noise,   0 = c (f(z, rho) - z')      c: what the rate is multiplied by (a heat
//   capacity)
//
// It begins with a prediction: a reading of the start itself, where the rates are still those of the first
// guess of the unknowns, would be held against them (published passes are met only so). The second is the
// terminal equation of each storage component. It is evaluated in full: the padded form printed after (44)
// drops the inputs.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "tellegen/estimate/filter.h"
#include "tellegen/numeric/exponential.h"

namespace tellegen {
namespace {

class PerfectFilter : public Filter {
 public:
  PerfectFilter(TwinModel& model, const FilterOptions& options) : Filter(model, options) {
    for (const TwinState& state : model.states())
      if (state.fresh)
        throw ModelError({{model.model().file.string(), 0},
                          "T628",
                          "'ekf-perfect' does not know the noise of inputs",
                          {"use ekf, or leave 'noise' of [inputs] out"}});
    for (std::size_t k = 0; k < model.size(); ++k)
      (model.states()[k].unknown < 0 ? own_ : rho_).push_back(static_cast<long>(k));
    const auto p = static_cast<long>(own_.size()), o = static_cast<long>(rho_.size());
    all_.x = Vector::Zero(2 * p + o);
    all_.p = Matrix::Zero(2 * p + o, 2 * p + o);
    noise_ = Vector::Zero(2 * p + o);
    for (long i = 0; i < p; ++i) {
      const TwinState& s = model.states()[static_cast<std::size_t>(own_[static_cast<std::size_t>(i)])];
      all_.x[i] = s.start;
      all_.p(i, i) = all_.p(p + i, p + i) = s.deviation * s.deviation;
      noise_[i] = s.noise * s.noise * options.step;
      noise_[p + i] = s.rate_noise * s.rate_noise * options.step;
    }
    for (long i = 0; i < o; ++i) {
      const TwinState& s = model.states()[static_cast<std::size_t>(rho_[static_cast<std::size_t>(i)])];
      all_.x[2 * p + i] = s.start;
      all_.p(2 * p + i, 2 * p + i) = s.deviation * s.deviation;
      noise_[2 * p + i] = s.noise * s.noise * options.step;
    }
    all_.x.segment(p, p).setConstant(std::numeric_limits<double>::quiet_NaN());
    tell();
  }

  bool predict(double t, const double* u, const double* du) override {
    if (!begin(t, u)) return false;
    if (!model_.evaluate(belief_.x, t, u, du, point_)) return false;
    const auto p = static_cast<long>(own_.size()), o = static_cast<long>(rho_.size()), n = 2 * p + o;
    Matrix m = Matrix::Zero(n + 1, n + 1);
    for (long i = 0; i < p; ++i) {
      m(i, p + i) = 1.0;
      for (long j = 0; j < p; ++j) m(p + i, p + j) = point_.by_state(own(i), own(j));
      m(p + i, n) = point_.by_time[own(i)];
    }
    for (long i = 0; i < o; ++i)
      for (long j = 0; j < o; ++j) m(2 * p + i, 2 * p + j) = point_.by_state(rho(i), rho(j));
    const Matrix e = exponential(m * options_.step);
    const Matrix phi = e.topLeftCorner(n, n);
    all_.x = phi * all_.x + e.block(0, n, n, 1);
    all_.p = phi * all_.p * phi.transpose();
    all_.p.diagonal() += noise_;
    tell();
    return all_.x.allFinite();
  }

  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    if (!started()) {
      std::fill(out.value.begin(), out.value.end(), std::numeric_limits<double>::quiet_NaN());
      out.log_likelihood = 0.0;
      return begin(t, u);
    }
    if (!model_.storage_coefficients(belief_.x, t, u, c_, c_slopes_)) return false;
    if (!model_.evaluate(belief_.x, t, u, nullptr, point_)) return false;
    const auto p = static_cast<long>(own_.size()), o = static_cast<long>(rho_.size()), n = 2 * p + o;
    std::vector<long> there;
    Vector row = Vector::Zero(n);
    for (std::size_t s = 0; s < model_.sensors(); ++s) {
      out.value[s] = out.variance[s] = std::numeric_limits<double>::quiet_NaN();
      out.refused[s] = 0;
      if (std::isnan(readings[s])) continue;
      const auto k = static_cast<long>(s);
      for (long j = 0; j < p; ++j) row[j] = point_.readings_by_state(k, own(j));
      for (long j = 0; j < o; ++j) row[2 * p + j] = point_.readings_by_state(k, rho(j));
      const double variance = row.dot(all_.p * row) + model_.noise()[s] * model_.noise()[s];
      out.refused[s] = refuse(readings[s] - point_.readings[k], variance);
      if (!out.refused[s]) there.push_back(k);
    }
    const auto sensors = static_cast<long>(there.size()), rows = sensors + p;
    Matrix h = Matrix::Zero(rows, n);
    Vector innovation(rows), r = Vector::Zero(rows);
    for (long k = 0; k < sensors; ++k) {
      const long s = there[static_cast<std::size_t>(k)];
      for (long j = 0; j < p; ++j) h(k, j) = point_.readings_by_state(s, own(j));
      for (long j = 0; j < o; ++j) h(k, 2 * p + j) = point_.readings_by_state(s, rho(j));
      innovation[k] = readings[s] - point_.readings[s];
      r[k] = model_.noise()[static_cast<std::size_t>(s)] * model_.noise()[static_cast<std::size_t>(s)];
    }
    for (long i = 0; i < p; ++i) {
      const double c = c_[own(i)], gap = point_.rates[own(i)] - all_.x[p + i];
      for (long j = 0; j < p; ++j)
        h(sensors + i, j) = c * point_.by_state(own(i), own(j)) + c_slopes_(own(i), own(j)) * gap;
      for (long j = 0; j < o; ++j)
        h(sensors + i, 2 * p + j) = c * point_.by_state(own(i), rho(j)) + c_slopes_(own(i), rho(j)) * gap;
      h(sensors + i, p + i) = -c;
      innovation[sensors + i] = -c * gap;
    }
    const Matrix ph = all_.p * h.transpose();
    Matrix s = h * ph;
    s.diagonal() += r;
    // Sensors and equations are of different sizes.
    const Vector scale = s.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
    if (!scale.allFinite()) return false;
    const Matrix scaled = scale.asDiagonal() * s * scale.asDiagonal();
    const Eigen::LDLT<Matrix> factor(scaled);
    if (factor.info() != Eigen::Success || !(factor.vectorD().minCoeff() > 1e-14)) return false;
    const Matrix gain = (scale.asDiagonal() * factor.solve(scale.asDiagonal() * ph.transpose())).transpose();
    all_.x += gain * innovation;
    Matrix rest = -gain * h;
    rest.diagonal().array() += 1.0;
    all_.p = rest * all_.p * rest.transpose() + gain * r.asDiagonal() * gain.transpose();
    all_.p = (0.5 * (all_.p + all_.p.transpose())).eval();
    out.log_likelihood = 0.0;
    for (long k = 0; k < sensors; ++k) {
      const auto sensor = static_cast<std::size_t>(there[static_cast<std::size_t>(k)]);
      out.value[sensor] = innovation[k];
      out.variance[sensor] = s(k, k);
      out.log_likelihood -= 0.5 * (innovation[k] * innovation[k] / s(k, k) + std::log(2.0 * M_PI * s(k, k)));
    }
    tell();
    return all_.x.allFinite();
  }

  Belief save() const override { return all_; }
  void restore(const Belief& belief) override {
    all_ = belief;
    tell();
  }
  void widen(long state, double variance) override {
    const auto found = std::find(rho_.begin(), rho_.end(), state);
    if (found == rho_.end()) return;
    const long k = 2 * static_cast<long>(own_.size()) + (found - rho_.begin());
    all_.p(k, k) += variance;
    tell();
  }
  const Matrix& transition() const override { return none_; }
  void set_process_noise(const Vector& variance_per_step) override {
    q_ = variance_per_step;
    const auto p = static_cast<long>(own_.size()), o = static_cast<long>(rho_.size());
    for (long i = 0; i < p; ++i) noise_[i] = q_[own(i)];
    for (long i = 0; i < o; ++i) noise_[2 * p + i] = q_[rho(i)];
  }

 private:
  long own(long i) const { return own_[static_cast<std::size_t>(i)]; }
  long rho(long i) const { return rho_[static_cast<std::size_t>(i)]; }

  // Rates begin as the model has them; until then they are not numbers.
  bool started() const { return own_.empty() || !std::isnan(all_.x[static_cast<long>(own_.size())]); }
  bool begin(double t, const double* u) {
    if (started()) return true;
    Vector f(belief_.x.size());
    if (!model_.rates(belief_.x, t, u, f)) return false;
    for (std::size_t i = 0; i < own_.size(); ++i) all_.x[static_cast<long>(own_.size() + i)] = f[own_[i]];
    return true;
  }

  // The model's states out of all.
  void tell() {
    const auto p = static_cast<long>(own_.size()), n = static_cast<long>(model_.size());
    std::vector<long> place(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < own_.size(); ++i)
      place[static_cast<std::size_t>(own_[i])] = static_cast<long>(i);
    for (std::size_t i = 0; i < rho_.size(); ++i)
      place[static_cast<std::size_t>(rho_[i])] = 2 * p + static_cast<long>(i);
    for (long i = 0; i < n; ++i) {
      belief_.x[i] = all_.x[place[static_cast<std::size_t>(i)]];
      for (long j = 0; j < n; ++j)
        belief_.p(i, j) = all_.p(place[static_cast<std::size_t>(i)], place[static_cast<std::size_t>(j)]);
    }
  }

  std::vector<long> own_, rho_;
  Belief all_;
  Vector noise_, c_;
  Matrix c_slopes_, none_;
};

}  // namespace

std::unique_ptr<Filter> perfect_filter(TwinModel& model, const FilterOptions& options) {
  return std::make_unique<PerfectFilter>(model, options);
}

}  // namespace tellegen
