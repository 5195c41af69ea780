// The Kalman filter of a large reciprocal network (capacities, conductances) in its modes.
//
//   T = W^-1 V tau,   tau' = L tau + coupling theta,   theta' = A theta      theta: the unknowns' own states
//
// W A_tt W^-1 is symmetric (reciprocal.h) and V its eigenvectors, so the transition of tau is diagonal: a
// step of the covariance costs n^2 multiplications instead of n^3, and all readings of a step together
// another n^2 for each sensor. What is left of n^3 are the eigenvectors, once, and the deviations of all n
// states, at each row: modes that have faded are left out of these (1e-10 of the largest deviation).
//
// The readings of a step are taken one after the other, as by ekf; the covariance is corrected for all at
// once.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/reciprocal.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/numeric/exponential.h"

namespace tellegen {
namespace {

constexpr double faded = 1e-10;

class ModalFilter : public Filter {
 public:
  ModalFilter(TwinModel& model, const FilterOptions& options, std::vector<std::int32_t> own,
              std::vector<std::int32_t> others, const Vector& scale, const SlopeRows& f)
      : Filter(model, options, false), own_(std::move(own)), others_(std::move(others)) {
    n_ = static_cast<long>(own_.size());
    m_ = static_cast<long>(others_.size());
    find_modes(scale, f);
    ModalFilter::set_process_noise(Vector(q_));
    Vector variances(n_ + m_);
    for (long k = 0; k < n_ + m_; ++k) {
      const double deviation = model.states()[static_cast<std::size_t>(k)].deviation;
      variances[k] = deviation * deviation;
    }
    p_ = in_modes(variances);
    expected_.resize(static_cast<long>(model.sensors()));
    // Readings are linear with constant slopes; so are their slopes by the modes.
    TwinPoint point;
    const std::vector<double> none(model.inputs(), 0.0);
    sound_ = model.evaluate_readings(belief_.x, 0.0, none.data(), point);
    by_mode_ = Matrix(static_cast<long>(model.sensors()), n_ + m_);
    for (long s = 0; s < by_mode_.rows(); ++s) by_mode_.row(s) = row_in_modes(point.readings_by_state.row(s));
  }

  bool predict(double t, const double* u, const double* du) override {
    if (!sound_ || !model_.rates(belief_.x, t, u, du, rates_, by_time_)) return false;
    const Vector f = to_modes(rates_), ft = to_modes(by_time_);
    Vector step(n_ + m_);
    step.head(n_) = by_rate_.cwiseProduct(f.head(n_)) + by_slope_.cwiseProduct(ft.head(n_)) +
                    rate_coupling_ * f.tail(m_) + slope_coupling_ * ft.tail(m_);
    step.tail(m_) = others_by_rate_ * f.tail(m_) + others_by_slope_ * ft.tail(m_);
    belief_.x += from_modes(step);
    model_.clamp(belief_.x);

    // Of the covariance the lower triangle is kept: tau first, then theta.
    const Matrix theta = p_.bottomRightCorner(m_, m_).selfadjointView<Eigen::Lower>();
    const Matrix cross = decay_.asDiagonal() * p_.bottomLeftCorner(m_, n_).transpose();
    const Matrix half = cross + 0.5 * coupling_ * theta;
    for (long j = 0; j < n_; ++j)
      p_.col(j).segment(j, n_ - j).array() *= decay_[j] * decay_.segment(j, n_ - j).array();
    if (m_ > 0) {
      p_.topLeftCorner(n_, n_).triangularView<Eigen::Lower>() += half * coupling_.transpose();
      p_.topLeftCorner(n_, n_).triangularView<Eigen::Lower>() += coupling_ * half.transpose();
      p_.bottomLeftCorner(m_, n_) = others_decay_ * (cross + coupling_ * theta).transpose();
      p_.bottomRightCorner(m_, m_) = others_decay_ * theta * others_decay_.transpose();
    }
    if (noise_.size() > 0)
      p_.topLeftCorner(n_, n_).triangularView<Eigen::Lower>() += (length_ / options_.step) * noise_;
    for (long k = 0; k < m_; ++k) p_(n_ + k, n_ + k) += noise()[others_[static_cast<std::size_t>(k)]];
    fresh_ = false;
    return belief_.x.allFinite();
  }

  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    if (!sound_ || !model_.readings(belief_.x, t, u, expected_)) return false;
    const auto sensors = static_cast<long>(model_.sensors());
    out.log_likelihood = 0.0;
    Matrix ph = p_.selfadjointView<Eigen::Lower>() * by_mode_.transpose();  // P H'
    Matrix taken(n_ + m_, sensors);                                         // P h/sqrt(s), reading by reading
    Vector moved = Vector::Zero(n_ + m_);
    long count = 0;
    for (long s = 0; s < sensors; ++s) {
      const auto k = static_cast<std::size_t>(s);
      out.value[k] = std::numeric_limits<double>::quiet_NaN();
      out.refused[k] = 0;
      out.variance[k] = by_mode_.row(s).dot(ph.col(s)) + model_.noise()[k] * model_.noise()[k];
      if (std::isnan(readings[s])) continue;
      const double innovation = readings[s] - expected_[s] - by_mode_.row(s).dot(moved);
      if (refuse(innovation, out.variance[k])) {
        out.refused[k] = 1;
        continue;
      }
      if (!(out.variance[k] > 0.0)) return false;
      out.value[k] = innovation;
      out.log_likelihood -=
          0.5 * (innovation * innovation / out.variance[k] + std::log(2.0 * M_PI * out.variance[k]));
      moved += ph.col(s) * (innovation / out.variance[k]);
      taken.col(count) = ph.col(s) / std::sqrt(out.variance[k]);
      for (long j = s + 1; j < sensors; ++j)
        ph.col(j) -= taken.col(count) * by_mode_.row(j).dot(taken.col(count));
      ++count;
    }
    if (count > 0) {
      p_.selfadjointView<Eigen::Lower>().rankUpdate(taken.leftCols(count), -1.0);
      belief_.x += from_modes(moved);
      model_.clamp(belief_.x);
    }
    fresh_ = false;
    return belief_.x.allFinite();
  }

  const Vector& mean() const override { return belief_.x; }

  // All n states: n^3, so what has faded is left out and the rows are shared among threads.
  void deviations(const SlopeRows& slopes, Vector& out) const override {
    if (quantities_.rows() != static_cast<long>(slopes.rows()) || slopes.value != slopes_seen_) {
      slopes_seen_ = slopes.value;
      quantities_ = Matrix::Zero(static_cast<long>(slopes.rows()), n_ + m_);
      for (std::size_t q = 0; q < slopes.rows(); ++q)
        for (auto k = slopes.start[q]; k < slopes.start[q + 1]; ++k) {
          const auto at = place_[static_cast<std::size_t>(slopes.column[k])];
          if (at < n_)
            quantities_.row(static_cast<long>(q)).head(n_) += slopes.value[k] * physical_.row(at);
          else
            quantities_(static_cast<long>(q), at) += slopes.value[k];
        }
      largest_ = quantities_.cwiseAbs().colwise().maxCoeff().transpose();
    }
    const Vector sizes = p_.diagonal().cwiseMax(0.0).cwiseSqrt().cwiseProduct(largest_);
    std::vector<long> order(static_cast<std::size_t>(n_ + m_));
    std::iota(order.begin(), order.end(), 0L);
    std::sort(order.begin(), order.end(), [&](long a, long b) { return sizes[a] > sizes[b]; });
    double rest = 0.0;
    const double negligible = order.empty() ? 0.0 : faded * sizes[order.front()];
    while (!order.empty() && rest + sizes[order.back()] <= negligible) {
      rest += sizes[order.back()];
      order.pop_back();
    }
    std::sort(order.begin(), order.end());
    const auto r = static_cast<long>(order.size()), rows = quantities_.rows();
    Matrix lower(r, r);  // P = lower + lower'
    for (long j = 0; j < r; ++j) {
      for (long i = j; i < r; ++i)
        lower(i, j) = p_(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
      lower(j, j) *= 0.5;
    }
    out.resize(rows);
    const auto part = [&](long first, long last) {
      Matrix c = quantities_.middleRows(first, last - first);
      if (r < c.cols()) c = c(Eigen::all, order).eval();
      const Matrix along = c * lower.triangularView<Eigen::Lower>();
      Vector squares = Vector::Zero(last - first);  // column by column: rows lie far apart
      for (long j = 0; j < r; ++j) squares += along.col(j).cwiseProduct(c.col(j));
      out.segment(first, last - first) = (2.0 * squares).cwiseMax(0.0).cwiseSqrt();
    };
    const double work = static_cast<double>(rows) * static_cast<double>(r) * static_cast<double>(r);
    const long threads =
        work < 1e8 ? 1 : std::clamp<long>(static_cast<long>(std::thread::hardware_concurrency()), 1, 8);
    std::vector<std::jthread> workers;
    for (long k = 1; k < threads; ++k)
      workers.emplace_back(part, rows * k / threads, rows * (k + 1) / threads);
    part(0, rows / threads);
  }

  const Belief& belief() const override {
    if (fresh_) return seen_;
    const Matrix full = p_.selfadjointView<Eigen::Lower>();
    Matrix back = Matrix::Zero(n_ + m_, n_ + m_);
    back.topLeftCorner(n_, n_) = physical_;
    back.bottomRightCorner(m_, m_).setIdentity();
    const Matrix ordered = back * full * back.transpose();
    seen_.x = belief_.x;
    seen_.p.resize(n_ + m_, n_ + m_);
    for (long i = 0; i < n_ + m_; ++i)
      for (long j = 0; j < n_ + m_; ++j)
        seen_.p(i, j) = ordered(place_[static_cast<std::size_t>(i)], place_[static_cast<std::size_t>(j)]);
    fresh_ = true;
    return seen_;
  }
  // Inside, in modes.
  Belief save() const override { return {belief_.x, p_}; }
  void restore(const Belief& belief) override {
    belief_.x = belief.x;
    p_ = belief.p;
    fresh_ = false;
  }

  // Unknowns stand as they are beside the modes.
  void widen(long state, double variance) override {
    const long k = place_[static_cast<std::size_t>(state)];
    p_(k, k) += variance;
    fresh_ = false;
  }

  const Matrix& transition() const override {
    if (transition_.size() > 0) return transition_;
    const Matrix own = physical_ * decay_.asDiagonal() * modal_.transpose();
    const Matrix cross = physical_ * coupling_;
    transition_ = Matrix::Zero(n_ + m_, n_ + m_);
    for (long j = 0; j < n_; ++j)
      for (long i = 0; i < n_; ++i) transition_(at(own_, i), at(own_, j)) = own(i, j);
    for (long j = 0; j < m_; ++j) {
      for (long i = 0; i < n_; ++i) transition_(at(own_, i), at(others_, j)) = cross(i, j);
      for (long i = 0; i < m_; ++i) transition_(at(others_, i), at(others_, j)) = others_decay_(i, j);
    }
    return transition_;
  }

  void set_process_noise(const Vector& variance_per_step) override {
    q_ = variance_per_step;
    bool any = false;
    for (std::int32_t k : own_) any = any || q_[k] > 0.0;
    noise_.resize(0, 0);
    if (any) noise_ = in_modes(q_).topLeftCorner(n_, n_);
  }
  std::string executor() const override { return "modes of the network"; }

 private:
  static long at(const std::vector<std::int32_t>& of, long k) { return of[static_cast<std::size_t>(k)]; }

  void find_modes(const Vector& scale, const SlopeRows& f) {
    place_.assign(static_cast<std::size_t>(n_ + m_), -1);
    for (long k = 0; k < n_; ++k) place_[static_cast<std::size_t>(at(own_, k))] = k;
    for (long k = 0; k < m_; ++k) place_[static_cast<std::size_t>(at(others_, k))] = n_ + k;
    Matrix symmetric = Matrix::Zero(n_, n_), own_by_others = Matrix::Zero(n_, m_);
    others_slopes_ = Matrix::Zero(m_, m_);
    for (long row = 0; row < n_ + m_; ++row)
      for (auto k = f.start[static_cast<std::size_t>(row)]; k < f.start[static_cast<std::size_t>(row) + 1];
           ++k) {
        const long i = place_[static_cast<std::size_t>(row)],
                   j = place_[static_cast<std::size_t>(f.column[k])];
        if (i < n_ && j < n_)
          symmetric(i, j) = f.value[k] * scale[i] / scale[j];
        else if (i < n_)
          own_by_others(i, j - n_) = f.value[k] * scale[i];
        else
          others_slopes_(i - n_, j - n_) = f.value[k];
      }
    const SymmetricEigen eigen = symmetric_eigen(0.5 * (symmetric + symmetric.transpose()));
    physical_ = scale.cwiseInverse().asDiagonal() * eigen.vectors;
    modal_ = scale.asDiagonal() * eigen.vectors;
    values_ = eigen.values;
    by_others_ = eigen.vectors.transpose() * own_by_others;
    discretise(options_.step);
  }

  bool whole_lengths() const override { return q_.isZero(0.0); }
  void set_length(double h) override {
    if (h != length_) discretise(h);
    Filter::set_length(h);
  }

  // Each mode with the others' states: exact, as one small system.
  void discretise(double h) {
    const long small = 1 + m_;
    decay_.resize(n_), by_rate_.resize(n_), by_slope_.resize(n_);
    coupling_.resize(n_, m_), rate_coupling_.resize(n_, m_), slope_coupling_.resize(n_, m_);
    const auto exact = [&](double value, const auto& row) {
      Matrix joined = Matrix::Zero(3 * small, 3 * small);
      joined(0, 0) = value;
      joined.block(0, 1, 1, m_) = row;
      joined.block(1, 1, m_, m_) = others_slopes_;
      joined.block(0, small, small, small).setIdentity();
      joined.block(small, 2 * small, small, small).setIdentity();
      return exponential(joined * h);
    };
    for (long k = 0; k < n_; ++k) {
      const Matrix e = exact(values_[k], by_others_.row(k));
      decay_[k] = e(0, 0), by_rate_[k] = e(0, small), by_slope_[k] = e(0, 2 * small);
      coupling_.row(k) = e.block(0, 1, 1, m_);
      rate_coupling_.row(k) = e.block(0, small + 1, 1, m_);
      slope_coupling_.row(k) = e.block(0, 2 * small + 1, 1, m_);
    }
    const Matrix e = exact(0.0, Eigen::RowVectorXd::Zero(m_));
    others_decay_ = e.block(1, 1, m_, m_);
    others_by_rate_ = e.block(1, small + 1, m_, m_);
    others_by_slope_ = e.block(1, 2 * small + 1, m_, m_);
  }

  Vector to_modes(const Vector& x) const {
    Vector own(n_), result(n_ + m_);
    for (long k = 0; k < n_; ++k) own[k] = x[at(own_, k)];
    result.head(n_).noalias() = modal_.transpose() * own;
    for (long k = 0; k < m_; ++k) result[n_ + k] = x[at(others_, k)];
    return result;
  }
  Vector from_modes(const Vector& modes) const {
    const Vector own = physical_ * modes.head(n_);
    Vector x(n_ + m_);
    for (long k = 0; k < n_; ++k) x[at(own_, k)] = own[k];
    for (long k = 0; k < m_; ++k) x[at(others_, k)] = modes[n_ + k];
    return x;
  }
  Eigen::RowVectorXd row_in_modes(const Eigen::RowVectorXd& slopes) const {
    Eigen::RowVectorXd own(n_), result(n_ + m_);
    for (long k = 0; k < n_; ++k) own[k] = slopes[at(own_, k)];
    result.head(n_) = own * physical_;
    for (long k = 0; k < m_; ++k) result[n_ + k] = slopes[at(others_, k)];
    return result;
  }
  // A diagonal covariance.
  Matrix in_modes(const Vector& variances) const {
    Vector own(n_);
    for (long k = 0; k < n_; ++k) own[k] = variances[at(own_, k)];
    Matrix result = Matrix::Zero(n_ + m_, n_ + m_);
    const Matrix root = modal_.transpose() * own.cwiseMax(0.0).cwiseSqrt().asDiagonal();
    result.topLeftCorner(n_, n_).selfadjointView<Eigen::Lower>().rankUpdate(root);
    for (long k = 0; k < m_; ++k) result(n_ + k, n_ + k) = variances[at(others_, k)];
    return result;
  }

  std::vector<std::int32_t> own_, others_;
  long n_ = 0, m_ = 0;
  std::vector<long> place_;  // of each state: among tau, then theta
  Matrix physical_, modal_;  // T = physical tau, tau = modal' T
  Vector values_;            // of the modes
  Matrix by_others_, others_slopes_;
  Vector decay_, by_rate_, by_slope_;
  Matrix coupling_, rate_coupling_, slope_coupling_;
  Matrix others_decay_, others_by_rate_, others_by_slope_;
  Matrix p_, noise_, by_mode_;
  bool sound_ = true;
  Vector rates_, by_time_, expected_;
  mutable Matrix transition_, quantities_;
  mutable Vector largest_;
  mutable std::vector<double> slopes_seen_;
  mutable Belief seen_;
  mutable bool fresh_ = false;
};

}  // namespace

std::unique_ptr<Filter> modal_filter(TwinModel& model, const FilterOptions& options) {
  std::vector<std::int32_t> own, others;
  for (std::size_t k = 0; k < model.size(); ++k)
    (model.states()[k].unknown < 0 ? own : others).push_back(static_cast<std::int32_t>(k));
  const std::vector<double> none(model.inputs(), 0.0);
  Vector f, by_time;
  if (!model.rates(model.start(), 0.0, none.data(), none.data(), f, by_time)) return nullptr;
  SlopeRows slopes;
  model.rate_slopes_at(slopes);
  const auto scale = reciprocal_scaling(slopes, own);
  if (!scale) return nullptr;
  for (std::int32_t row : others)
    for (auto k = slopes.start[static_cast<std::size_t>(row)];
         k < slopes.start[static_cast<std::size_t>(row) + 1]; ++k)
      if (model.states()[static_cast<std::size_t>(slopes.column[k])].unknown < 0) return nullptr;
  return std::make_unique<ModalFilter>(model, options, std::move(own), std::move(others), *scale, slopes);
}

}  // namespace tellegen
