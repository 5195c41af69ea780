// The Kalman filter of a large linear network on a few of its directions.
//
//   z = V' W (x - x0),   z' = (V' A V) z + V' W f(x0, t, u)      A = W F W^-1, V orthonormal, x0: the start
//
// V spans what sensors and quantities see of the states over the record: (s I - A')^-1 c for each row c of
// them, at shifts s from the length of the record to its step (rational Krylov, which matches the transfer
// functions from start, disturbances and inputs to all of them there). Nothing is assumed of where the
// disturbances act, so they may act on every state. W makes A symmetric where the network is reciprocal; then
// the reduced model is as stable as the network is.
//
// The error is measured, not assumed: full and reduced model go along the same random records (the inputs
// that are given; start, process noise and unknowns as uncertain as the model says) by the same implicit
// steps, and what differs in readings and quantities is told. Shifts are added until it is below a hundredth
// of the sensors' noise, or the limit is reached.
//
// [Grimme 1997] Krylov projection methods for model reduction, ch. 3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/reciprocal.h"
#include "tellegen/numeric/exponential.h"
#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {
namespace {

constexpr double wanted_error = 0.01;  // of the smallest sensor noise
constexpr int random_records = 2;

// s I - A or its transpose, of the scaled states, factorised.
class Shifted {
 public:
  Shifted(const SlopeRows& f, const std::vector<std::int32_t>& own, const Vector& scale)
      : pattern_builder_(static_cast<std::int32_t>(own.size())) {
    std::vector<std::int32_t> index(f.rows(), -1);
    for (std::size_t k = 0; k < own.size(); ++k) index[own[k]] = static_cast<std::int32_t>(k);
    for (std::size_t i = 0; i < own.size(); ++i) {
      diagonal_.push_back(pattern_builder_.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i)));
      for (auto k = f.start[own[i]]; k < f.start[own[i] + 1]; ++k)
        if (const std::int32_t j = index[f.column[k]]; j >= 0) {
          entry_.push_back(pattern_builder_.add(static_cast<std::int32_t>(i), j));
          value_.push_back(f.value[k] * scale[static_cast<long>(i)] / scale[j]);
        }
    }
    SparsePattern pattern = pattern_builder_.build();
    numbers_.resize(pattern.row.size());
    lu_ = std::make_unique<SparseLu>(std::move(pattern));
  }
  bool factor(double shift) {
    std::fill(numbers_.begin(), numbers_.end(), 0.0);
    for (std::int32_t d : diagonal_) numbers_[pattern_builder_.position(d)] += shift;
    for (std::size_t k = 0; k < entry_.size(); ++k)
      numbers_[pattern_builder_.position(entry_[k])] -= value_[k];
    return lu_->factor(numbers_);
  }
  void solve(Vector& b) const { lu_->solve(b.data()); }
  void solve_transposed(Vector& b) const { lu_->solve_transposed(b.data()); }

 private:
  PatternBuilder pattern_builder_;
  std::vector<std::int32_t> diagonal_, entry_;
  std::vector<double> value_, numbers_;
  std::unique_ptr<SparseLu> lu_;
};

class ReducedFilter : public Filter {
 public:
  ReducedFilter(TwinModel& model, const FilterOptions& options, SlopeRows f, SlopeRows quantities)
      : Filter(model, options, false), f_(std::move(f)), quantities_(std::move(quantities)) {
    for (std::size_t k = 0; k < model.size(); ++k)
      (model.states()[k].unknown < 0 ? own_ : others_).push_back(static_cast<std::int32_t>(k));
    n_ = static_cast<long>(own_.size());
    m_ = static_cast<long>(others_.size());
    start_ = belief_.x;
    expected_.resize(static_cast<long>(model.sensors()));
    scale_ = reciprocal_scaling(f_, own_).value_or(Vector::Ones(n_));
    // Sizes about one, whatever the scaling's free factor is.
    scale_ /= std::sqrt(scale_.squaredNorm() / static_cast<double>(std::max(1L, n_)));
    find_rows();
    const double shortest = options.step,
                 longest = options.step * static_cast<double>(std::max(2L, options.rows));
    Shifted shifted(f_, own_, scale_);
    const long most = options.reduce > 0 ? options.reduce : 400;
    basis_.resize(n_, 0);
    for (long k = 0; k < rows_.rows(); ++k) join(rows_.row(k).transpose(), most);
    for (int rounds = 0, count = 6; rounds < 4; ++rounds, count *= 2) {
      for (int k = 0; k < count; ++k) {
        const double part =
            (static_cast<double>(k) + (rounds == 0 ? 0.0 : 0.5)) / static_cast<double>(count - (rounds == 0));
        if (part > 1.0) continue;
        if (basis_.cols() >= most) break;
        const double shift = 0.3 / longest * std::pow(10.0 * longest / shortest, part);
        if (!shifted.factor(shift)) continue;
        for (long r = 0; r < rows_.rows(); ++r) {
          Vector column = rows_.row(r).transpose();
          shifted.solve_transposed(column);
          join(column, most);
        }
      }
      project();
      measure(shifted);
      if (error_ <= wanted_error * smallest_noise_ || basis_.cols() >= most || rounds == 2) break;
    }
    begin();
  }

  bool predict(double t, const double* u, const double* du) override {
    if (!model_.rates(start_, t, u, du, rates_, by_time_)) return false;
    const Vector b = projected(rates_), bt = projected(by_time_);
    z_ = (phi_r_ * z_ + by_rate_ * b + by_slope_ * bt).eval();
    clamp();
    p_ = (phi_r_ * p_ * phi_r_.transpose() + noise_).eval();
    p_ = (0.5 * (p_ + p_.transpose())).eval();
    return z_.allFinite();
  }

  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    if (!model_.readings(mean(), t, u, expected_)) return false;
    out.log_likelihood = 0.0;
    const Vector predicted = z_;
    for (long s = 0; s < sensor_rows_.rows(); ++s) {
      const auto k = static_cast<std::size_t>(s);
      out.value[k] = std::numeric_limits<double>::quiet_NaN();
      out.refused[k] = 0;
      const Vector row = sensor_rows_.row(s).transpose();
      const double r = model_.noise()[k] * model_.noise()[k];
      Vector work = p_ * row, gain;
      out.variance[k] = row.dot(work) + r;
      if (std::isnan(readings[s])) continue;
      const double innovation = readings[s] - expected_[s] - row.dot(z_ - predicted);
      if (refuse(innovation, out.variance[k])) {
        out.refused[k] = 1;
        continue;
      }
      out.value[k] = innovation;
      out.log_likelihood -=
          0.5 * (innovation * innovation / out.variance[k] + std::log(2.0 * M_PI * out.variance[k]));
      Belief belief{z_, p_};
      joseph_update(belief, row, innovation, r, out.variance[k], gain, work);
      z_ = belief.x, p_ = belief.p;
    }
    clamp();
    return z_.allFinite();
  }

  const Vector& mean() const override { return full_ = states_of({z_, {}}); }
  Vector states_of(const Belief& belief) const override {
    Vector x = start_;
    const Vector own = scale_.cwiseInverse().cwiseProduct(basis_ * belief.x.head(basis_.cols()));
    for (long k = 0; k < n_; ++k) x[at(own_, k)] += own[k];
    for (long k = 0; k < m_; ++k) x[at(others_, k)] += belief.x[basis_.cols() + k];
    return x;
  }
  void deviations(const SlopeRows& slopes, Vector& out) const override {
    deviations_in({z_, p_}, slopes, out);
  }
  void deviations_in(const Belief& belief, const SlopeRows& slopes, Vector& out) const override {
    out.resize(static_cast<long>(slopes.rows()));
    for (std::size_t q = 0; q < slopes.rows(); ++q) {
      const Vector row = in_basis(slopes, q);
      out[static_cast<long>(q)] = std::sqrt(std::max(0.0, row.dot(belief.p * row)));
    }
  }
  const Belief& belief() const override {
    seen_ = {z_, p_};
    return seen_;
  }
  Belief save() const override { return {z_, p_}; }
  void restore(const Belief& belief) override { z_ = belief.x, p_ = belief.p; }
  // Unknowns stand as they are beside the directions.
  void widen(long state, double variance) override {
    const long k = place_[static_cast<std::size_t>(state)] - n_ + basis_.cols();
    p_(k, k) += variance;
  }
  const Matrix& transition() const override { return phi_r_; }
  void set_process_noise(const Vector& variance_per_step) override {
    q_ = variance_per_step;
    noise_ = covariance(q_);
  }
  std::string executor() const override {
    return fmt::format("reduced from {} to {} states", n_ + m_, basis_.cols() + m_);
  }
  std::string remark() const override {
    return fmt::format(
        "the filter works on {} of {} states; along {} random records the readings and outputs of the "
        "reduced "
        "model differ from the full model's by {:.2g} at most ({:.2g} of the smallest sensor noise), {:.2g} "
        "root mean square, in SI units",
        basis_.cols() + m_, n_ + m_, random_records, error_, error_ / smallest_noise_, error_rms_);
  }

 private:
  static long at(const std::vector<std::int32_t>& of, long k) { return of[static_cast<std::size_t>(k)]; }

  // Rows of sensors and quantities, in the scaled states.
  void find_rows() {
    place_.assign(static_cast<std::size_t>(n_ + m_), -1);
    for (long k = 0; k < n_; ++k) place_[static_cast<std::size_t>(at(own_, k))] = k;
    for (long k = 0; k < m_; ++k) place_[static_cast<std::size_t>(at(others_, k))] = n_ + k;
    TwinPoint point;
    const std::vector<double> none(model_.inputs(), 0.0);
    model_.evaluate_readings(start_, 0.0, none.data(), point);
    readings_by_state_ = point.readings_by_state;
    const long sensors = readings_by_state_.rows(), count = sensors + static_cast<long>(quantities_.rows());
    rows_ = Matrix::Zero(count, n_);
    row_others_ = Matrix::Zero(count, m_);
    for (long s = 0; s < sensors; ++s)
      for (long j = 0; j < n_ + m_; ++j) put(s, j, readings_by_state_(s, j));
    for (std::size_t q = 0; q < quantities_.rows(); ++q)
      for (auto k = quantities_.start[q]; k < quantities_.start[q + 1]; ++k)
        put(sensors + static_cast<long>(q), quantities_.column[k], quantities_.value[k]);
    smallest_noise_ = 1e300;
    for (double noise : model_.noise())
      if (noise > 0.0) smallest_noise_ = std::min(smallest_noise_, noise);
    if (smallest_noise_ == 1e300) smallest_noise_ = 1.0;
  }
  void put(long row, long state, double value) {
    const long p = place_[static_cast<std::size_t>(state)];
    if (p < n_)
      rows_(row, p) += value / scale_[p];
    else
      row_others_(row, p - n_) += value;
  }

  void join(Vector column, long most) {
    const double size = column.norm();
    if (!(size > 0.0) || !std::isfinite(size) || basis_.cols() >= most) return;
    column /= size;
    for (int twice = 0; twice < 2; ++twice) column -= basis_ * (basis_.transpose() * column);
    if (column.norm() < 1e-8) return;
    basis_.conservativeResize(n_, basis_.cols() + 1);
    basis_.col(basis_.cols() - 1) = column / column.norm();
  }

  // F applied to states given in columns of the basis.
  void project() {
    const long r = basis_.cols();
    Matrix image = Matrix::Zero(n_, r + m_);
    others_slopes_ = Matrix::Zero(m_, m_);
    for (long row = 0; row < n_ + m_; ++row)
      for (auto k = f_.start[static_cast<std::size_t>(row)]; k < f_.start[static_cast<std::size_t>(row) + 1];
           ++k) {
        const long i = place_[static_cast<std::size_t>(row)],
                   j = place_[static_cast<std::size_t>(f_.column[k])];
        if (i < n_ && j < n_)
          image.row(i).head(r) += f_.value[k] * scale_[i] / scale_[j] * basis_.row(j);
        else if (i < n_)
          image(i, r + j - n_) += f_.value[k] * scale_[i];
        else if (j >= n_)
          others_slopes_(i - n_, j - n_) = f_.value[k];
      }
    slopes_ = Matrix::Zero(r + m_, r + m_);
    slopes_.topRows(r) = basis_.transpose() * image;
    slopes_.bottomRightCorner(m_, m_) = others_slopes_;
    coupling_ = image.rightCols(m_);
    row_basis_ = Matrix(rows_.rows(), r + m_);
    row_basis_.leftCols(r) = rows_ * basis_;
    row_basis_.rightCols(m_) = row_others_;
  }

  // Backward Euler for both along random records.
  void measure(Shifted& shifted) {
    const double h = options_.step;
    const long r = basis_.cols(), rows = std::clamp<long>(options_.rows, 2, 200);
    error_ = error_rms_ = std::numeric_limits<double>::infinity();
    if (!shifted.factor(1.0 / h)) return;
    Matrix m = -h * slopes_;
    m.diagonal().array() += 1.0;
    const Eigen::PartialPivLU<Matrix> reduced(m);
    Matrix mo = -h * others_slopes_;
    mo.diagonal().array() += 1.0;
    const Eigen::PartialPivLU<Matrix> others(mo);
    const auto inputs = static_cast<long>(model_.inputs());
    const std::vector<double> none(model_.inputs(), 0.0);
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    double worst = 0.0, squares = 0.0;
    for (int record = 0; record < random_records; ++record) {
      Vector x(n_), theta(m_);
      for (long k = 0; k < n_; ++k)
        x[k] = scale_[k] * std::sqrt(start_variance(at(own_, k))) * normal(random);
      for (long k = 0; k < m_; ++k) theta[k] = std::sqrt(start_variance(at(others_, k))) * normal(random);
      Vector z(r + m_);
      z.head(r) = basis_.transpose() * x;
      z.tail(m_) = theta;
      for (long row = 0; row < rows; ++row) {
        const Vector gap = rows_ * x + row_others_ * theta - row_basis_ * z;
        worst = std::max(worst, gap.cwiseAbs().maxCoeff());
        squares += gap.squaredNorm();
        for (long k = 0; k < n_; ++k)
          if (const double q = q_[at(own_, k)]; q > 0.0) {
            const double kick = scale_[k] * std::sqrt(q) * normal(random);
            x[k] += kick;
            z.head(r) += basis_.row(k).transpose() * kick;
          }
        for (long k = 0; k < m_; ++k)
          if (const double q = q_[at(others_, k)]; q > 0.0) {
            const double kick = std::sqrt(q) * normal(random);
            theta[k] += kick;
            z[r + k] += kick;
          }
        const double t = options_.begins + h * static_cast<double>(row + 1);
        const double* u = options_.given ? options_.given + (row + 1 < options_.rows ? row + 1 : row) * inputs
                                         : none.data();
        if (!model_.rates(start_, t, u, nullptr, rates_, by_time_)) return;
        const Vector drive = projected(rates_);
        Vector own_drive(n_);
        for (long k = 0; k < n_; ++k) own_drive[k] = scale_[k] * rates_[at(own_, k)];
        z = reduced.solve(z + h * drive);
        theta = others.solve(theta + h * drive.tail(m_));
        x = (x / h + own_drive + coupling_ * theta).eval();
        shifted.solve(x);
      }
    }
    error_ = worst;
    error_rms_ = std::sqrt(squares / (static_cast<double>(random_records) * static_cast<double>(rows) *
                                      static_cast<double>(std::max<long>(1, rows_.rows()))));
  }

  double start_variance(long state) const {
    const double deviation = model_.states()[static_cast<std::size_t>(state)].deviation;
    return deviation * deviation;
  }

  Matrix covariance(const Vector& variances) const {
    const long r = basis_.cols();
    Matrix result = Matrix::Zero(r + m_, r + m_);
    Vector own(n_);
    for (long k = 0; k < n_; ++k) own[k] = scale_[k] * std::sqrt(std::max(0.0, variances[at(own_, k)]));
    const Matrix root = basis_.transpose() * own.asDiagonal();
    result.topLeftCorner(r, r) = root * root.transpose();
    for (long k = 0; k < m_; ++k) result(r + k, r + k) = variances[at(others_, k)];
    return result;
  }

  void begin() {
    const ExponentialIntegrals e = exponential_integrals(slopes_ * options_.step);
    phi_r_ = e.power;
    by_rate_ = options_.step * e.first;
    by_slope_ = options_.step * options_.step * e.second;
    z_ = Vector::Zero(basis_.cols() + m_);
    Vector variances(n_ + m_);
    for (long k = 0; k < n_ + m_; ++k) variances[k] = start_variance(k);
    p_ = covariance(variances);
    noise_ = covariance(q_);
    sensor_rows_ = row_basis_.topRows(readings_by_state_.rows());
  }

  Vector projected(const Vector& x) const {
    Vector own(n_), z(basis_.cols() + m_);
    for (long k = 0; k < n_; ++k) own[k] = scale_[k] * x[at(own_, k)];
    z.head(basis_.cols()) = basis_.transpose() * own;
    for (long k = 0; k < m_; ++k) z[basis_.cols() + k] = x[at(others_, k)];
    return z;
  }
  Vector in_basis(const SlopeRows& slopes, std::size_t q) const {
    Vector row = Vector::Zero(basis_.cols() + m_);
    for (auto k = slopes.start[q]; k < slopes.start[q + 1]; ++k) {
      const long p = place_[static_cast<std::size_t>(slopes.column[k])];
      if (p < n_)
        row.head(basis_.cols()) += slopes.value[k] / scale_[p] * basis_.row(p).transpose();
      else
        row[basis_.cols() + p - n_] += slopes.value[k];
    }
    return row;
  }
  void clamp() {
    if (!model_.bounded()) return;
    Vector x = start_;
    for (long k = 0; k < m_; ++k) x[at(others_, k)] += z_[basis_.cols() + k];
    model_.clamp(x);
    for (long k = 0; k < m_; ++k) z_[basis_.cols() + k] = x[at(others_, k)] - start_[at(others_, k)];
  }

  SlopeRows f_, quantities_;
  std::vector<std::int32_t> own_, others_;
  std::vector<long> place_;
  long n_ = 0, m_ = 0;
  Vector start_, scale_, z_, rates_, by_time_, expected_;
  Matrix readings_by_state_, rows_, row_others_, row_basis_, basis_, slopes_, others_slopes_, coupling_;
  Matrix phi_r_, by_rate_, by_slope_, p_, noise_, sensor_rows_;
  double smallest_noise_ = 1.0, error_ = 0.0, error_rms_ = 0.0;
  mutable Vector full_;
  mutable Belief seen_;
};

}  // namespace

std::unique_ptr<Filter> reduced_filter(TwinModel& model, const FilterOptions& options) {
  const std::vector<double> none(model.inputs(), 0.0);
  Vector f, by_time;
  SlopeRows slopes, quantities;
  if (!model.rates(model.start(), 0.0, none.data(), none.data(), f, by_time)) return nullptr;
  model.rate_slopes_at(slopes);
  for (std::size_t row = 0; row < slopes.rows(); ++row)
    if (model.states()[row].unknown >= 0)
      for (auto k = slopes.start[row]; k < slopes.start[row + 1]; ++k)
        if (model.states()[static_cast<std::size_t>(slopes.column[k])].unknown < 0) return nullptr;
  if (!model.quantities_at(model.start(), 0.0, none.data(), f, quantities)) return nullptr;
  return std::make_unique<ReducedFilter>(model, options, std::move(slopes), std::move(quantities));
}

}  // namespace tellegen
