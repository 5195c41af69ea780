#include "tellegen/estimate/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tellegen/estimate/filter_program.h"
#include "tellegen/estimate/twin_events.h"
#include "tellegen/model/reading.h"
#include "tellegen/numeric/exponential.h"

namespace tellegen {
Filter::Filter(TwinModel& model, const FilterOptions& options, bool dense)
    : model_(model), options_(options), length_(options.step) {
  const auto n = static_cast<long>(model.size());
  belief_.x = model.start();
  if (dense) {
    belief_.p = model.start_covariance();
    phi_.resize(n, n);
  }
  q_.resize(n), step_.resize(n);
  for (long k = 0; k < n; ++k) {
    const TwinState& state = model.states()[static_cast<std::size_t>(k)];
    q_[k] = state.noise * state.noise * (state.fresh ? 1.0 : options.step);
    if (state.fresh) fresh_.push_back(k);
  }
}

bool Filter::predict_over(double t, double length, const double* u, const double* du, Matrix* phi) {
  const double parts = whole_lengths() ? 1.0 : std::max(1.0, std::ceil(length / options_.step - 1e-6));
  set_length(length / parts);
  if (whole_lengths() && !spread_over(t, u, du)) return false;
  inputs_.assign(u, u + model_.inputs());
  for (double part = 0.0; part < parts; ++part) {
    const double done = part / parts * length;
    renews_ = last_ && part + 1.0 == parts;
    for (long k : fresh_) noise_[k] = renews_ ? q_[k] : 0.0;
    for (std::size_t k = 0; k < inputs_.size(); ++k) inputs_[k] = u[k] + du[k] * done;
    if (!predict(t + done, inputs_.data(), du)) return false;
    if (phi) *phi = part == 0.0 ? transition() : Matrix(transition() * *phi);
  }
  return true;
}

namespace {

// A filter between events.
class FilterBetween : public MeanFollower {
 public:
  FilterBetween(Filter& filter, bool& last, const double* du, Matrix* phi)
      : filter_(filter), last_(last), du_(du), phi_(phi) {}
  const Vector& mean() const override { return filter_.mean(); }
  bool predict(double t, double length, const double* u, bool last) override {
    last_ = last;
    const bool good = filter_.predict_over(t, length, u, du_, phi_ ? &part_ : nullptr);
    last_ = true;
    if (phi_) *phi_ = part_ * kept_phi_;
    return good;
  }
  void keep() override {
    kept_ = filter_.save();
    if (phi_) kept_phi_ = *phi_;
  }
  void go_back() override { filter_.restore(kept_); }
  void change(const Vector& mean, const Matrix& change) override {
    Belief belief = filter_.save();
    belief.x = mean;
    propagate(belief.p, change, part_);
    filter_.restore(belief);
    if (phi_) *phi_ = change * *phi_;
  }

 private:
  Filter& filter_;
  bool& last_;
  const double* du_;
  Matrix *phi_, part_, kept_phi_;
  Belief kept_;
};

}  // namespace

bool Filter::begin_events(TwinEvents& events, double t, const double* u) {
  FilterBetween between(*this, last_, nullptr, nullptr);
  return events.begin(between, t, u);
}

bool Filter::predict_through(TwinEvents& events, double t, double length, const double* u, const double* du,
                             Matrix* phi) {
  if (phi) phi->setIdentity(mean().size(), mean().size());
  FilterBetween between(*this, last_, du, phi);
  return events.lead(between, t, length, u, du);
}

void Filter::set_length(double h) {
  if (h != length_) constant_phi_.resize(0, 0);
  length_ = h;
  noise_ = q_ * (h / options_.step);
}

// What white noise of the states leaves over the length: the integral of e^(F s) Q e^(F' s), of a short part
// by one exponential [Van Loan 1978], doubled from there; over long lengths e^(-F s) would overflow.
bool Filter::spread_over(double t, const double* u, const double* du) {
  spread_.resize(0, 0);
  for (long k : fresh_) noise_[k] = 0.0;
  if (noise_.isZero(0.0)) return true;
  if (!model_.evaluate(belief_.x, t, u, du, point_)) return false;
  Matrix f = point_.by_state;
  for (long k : fresh_) f.row(k).setZero(), f.col(k).setZero();
  const auto n = f.rows();
  const double size = f.cwiseAbs().rowwise().sum().maxCoeff() * length_;
  const int doubled = size > 1.0 ? static_cast<int>(std::ceil(std::log2(size))) : 0;
  const double part = std::ldexp(1.0, -doubled);
  Matrix joined = Matrix::Zero(2 * n, 2 * n);
  joined.topLeftCorner(n, n) = -f * (length_ * part);
  joined.topRightCorner(n, n) = (noise_ * part).asDiagonal();
  joined.bottomRightCorner(n, n) = f.transpose() * (length_ * part);
  const Matrix e = exponential(joined);
  Matrix phi = e.bottomRightCorner(n, n).transpose();
  spread_.noalias() = phi * e.topRightCorner(n, n);
  for (int k = 0; k < doubled; ++k) {
    spread_ += phi * spread_ * phi.transpose();
    phi = phi * phi;
  }
  spread_ = 0.5 * (spread_ + spread_.transpose()).eval();
  noise_.setZero();
  return true;
}

void Filter::add_noise(Matrix& p) const {
  if (spread_.size() > 0) p += spread_;
  p.diagonal() += noise();
}

void Filter::widen(long state, double variance) {
  Belief belief = save();
  belief.p(state, state) += variance;
  restore(belief);
}

void Filter::deviations(const SlopeRows& slopes, Vector& out) const {
  deviations_of(slopes, belief().p, out);
}

void Filter::deviations_in(const Belief& belief, const SlopeRows& slopes, Vector& out) const {
  deviations_of(slopes, belief.p, out);
}

void deviations_of(const SlopeRows& slopes, const Matrix& p, Vector& out) {
  out.resize(static_cast<long>(slopes.rows()));
  for (std::size_t q = 0; q < slopes.rows(); ++q) {
    double variance = 0.0;
    for (auto i = slopes.start[q]; i < slopes.start[q + 1]; ++i) {
      double along = 0.0;
      for (auto j = slopes.start[q]; j < slopes.start[q + 1]; ++j)
        along += slopes.value[j] * p(slopes.column[j], slopes.column[i]);
      variance += slopes.value[i] * along;
    }
    out[static_cast<long>(q)] = std::sqrt(std::max(0.0, variance));
  }
}

// delta' = F delta + f + (df/dt) tau, with delta = 0 at tau = 0: one exponential of the joined system gives
// delta and its derivative by x.
bool Filter::flow_of_states(const Vector& x, double t, const double* u, const double* du, Vector& step,
                            Matrix& phi) {
  if (!model_.evaluate(x, t, u, du, point_)) return false;
  const double h = length_;
  const auto n = x.size();
  if (options_.euler) {
    step = h * point_.rates;
    phi = h * point_.by_state;
    phi.diagonal().array() += 1.0;
    return true;
  }
  if (model_.constant_slopes()) {
    if (constant_phi_.size() == 0 && n > 40) {
      ExponentialIntegrals e = exponential_integrals(point_.by_state * h);
      constant_phi_ = std::move(e.power);
      by_rate_ = h * e.first;
      by_slope_ = h * h * e.second;
    }
    if (constant_phi_.size() == 0) {
      Matrix joined = Matrix::Zero(3 * n, 3 * n);
      joined.topLeftCorner(n, n) = point_.by_state;
      joined.block(0, n, n, n) = Matrix::Identity(n, n);
      joined.block(n, 2 * n, n, n) = Matrix::Identity(n, n);
      const Matrix e = exponential(joined * h);
      constant_phi_ = e.topLeftCorner(n, n);
      by_rate_ = e.block(0, n, n, n);
      by_slope_ = e.block(0, 2 * n, n, n);
    }
    step.noalias() = by_rate_ * point_.rates;
    step.noalias() += by_slope_ * point_.by_time;
    phi = constant_phi_;
    return true;
  }
  Matrix joined = Matrix::Zero(n + 2, n + 2);
  joined.topLeftCorner(n, n) = point_.by_state;
  joined.block(0, n, n, 1) = point_.rates;
  joined.block(0, n + 1, n, 1) = point_.by_time;
  joined(n + 1, n) = 1.0;
  const Matrix e = exponential(joined * h);
  phi = e.topLeftCorner(n, n);
  step = e.block(0, n, n, 1);
  return step.allFinite() && phi.allFinite();
}

bool Filter::flow(const Vector& x, double t, const double* u, const double* du, Vector& step, Matrix& phi) {
  if (!flow_of_states(x, t, u, du, step, phi)) return false;
  renew(x, step);
  if (renews_)
    for (long k : fresh_) phi.row(k).setZero();
  return true;
}

void Filter::renew(const Vector& x, Vector& step) const {
  if (!renews_) return;
  for (long k : fresh_) step[k] = -x[k];
}

namespace {

// Filters have few states as a rule: products of a size the compiler knows cost a tenth of general ones.
template <int N>
void propagate_fixed(Matrix& p, const Matrix& phi) {
  using Square = Eigen::Matrix<double, N, N>;
  const Eigen::Map<const Square> by(phi.data());
  Eigen::Map<Square> in(p.data());
  const Square half = by.lazyProduct(in);
  in = half.lazyProduct(by.transpose());
}

}  // namespace

void propagate(Matrix& p, const Matrix& phi, Matrix& work) {
  switch (p.rows()) {
    case 1:
      propagate_fixed<1>(p, phi);
      break;
    case 2:
      propagate_fixed<2>(p, phi);
      break;
    case 3:
      propagate_fixed<3>(p, phi);
      break;
    case 4:
      propagate_fixed<4>(p, phi);
      break;
    case 5:
      propagate_fixed<5>(p, phi);
      break;
    case 6:
      propagate_fixed<6>(p, phi);
      break;
    case 7:
      propagate_fixed<7>(p, phi);
      break;
    case 8:
      propagate_fixed<8>(p, phi);
      break;
    default:
      work.noalias() = phi * p, p.noalias() = work * phi.transpose();
  }
  for (Eigen::Index j = 0; j < p.cols(); ++j)
    for (Eigen::Index i = 0; i < j; ++i) p(i, j) = p(j, i) = 0.5 * (p(i, j) + p(j, i));
}

void joseph_update(Belief& belief, const Eigen::Ref<const Vector>& h, double innovation,
                   double noise_variance, double innovation_variance, Vector& gain, Vector& work) {
  work.noalias() = belief.p * h;  // P h'
  gain = work / innovation_variance;
  belief.x += gain * innovation;
  // (I - k h) P (I - k h)' + k r k'  =  P + k (S k - w)' - w k',  w = P h',  S = h w + r
  const double middle = h.dot(work) + noise_variance;
  const auto n = belief.x.size();
  for (Eigen::Index j = 0; j < n; ++j) {
    const double rest = middle * gain[j] - work[j];
    for (Eigen::Index i = 0; i <= j; ++i)
      belief.p(i, j) = belief.p(j, i) = belief.p(i, j) + (gain[i] * rest - work[i] * gain[j]);
  }
}

namespace {

class ExtendedFilter : public Filter {
 public:
  using Filter::Filter;

  bool predict(double t, const double* u, const double* du) override {
    if (!flow(belief_.x, t, u, du, step_, phi_)) return false;
    belief_.x += step_;
    model_.clamp(belief_.x);
    propagate(belief_.p, phi_, work_);
    add_noise(belief_.p);
    return belief_.x.allFinite();
  }

  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    if (!model_.evaluate_readings(belief_.x, t, u, point_)) return false;
    out.log_likelihood = 0.0;
    predicted_ = belief_.x;
    for (std::size_t s = 0; s < model_.sensors(); ++s) {
      const auto i = static_cast<long>(s);
      out.value[s] = std::numeric_limits<double>::quiet_NaN();
      out.refused[s] = 0;
      row_ = point_.readings_by_state.row(i).transpose();
      const double r = model_.noise()[s] * model_.noise()[s];
      hp_.noalias() = belief_.p * row_;
      out.variance[s] = row_.dot(hp_) + r;
      if (std::isnan(readings[s])) continue;
      // Linear in what earlier readings of this step have moved.
      const double innovation = readings[s] - point_.readings[i] - row_.dot(belief_.x - predicted_);
      if (refuse(innovation, out.variance[s])) {
        out.refused[s] = 1;
        continue;
      }
      out.value[s] = innovation;
      out.log_likelihood -=
          0.5 * (innovation * innovation / out.variance[s] + std::log(2.0 * M_PI * out.variance[s]));
      joseph_update(belief_, row_, innovation, r, out.variance[s], gain_, hp_);
      if (options_.listener) options_.listener->corrected(s, row_, gain_, innovation, out.variance[s]);
    }
    model_.clamp(belief_.x);
    return belief_.x.allFinite();
  }

 private:
  Matrix work_;
  Vector row_, gain_, hp_, predicted_;
};

// All readings of a step together: (4.23) to (4.26) of [Yadav 2021], rho = keep. A step allocates nothing.
class PartialFilter : public Filter {
 public:
  PartialFilter(TwinModel& model, const FilterOptions& options)
      : Filter(model, options), keep_(belief_.x.size()) {
    for (std::size_t k = 0; k < model.size(); ++k) keep_[static_cast<long>(k)] = model.states()[k].keep;
    const auto n = belief_.x.size(), m = static_cast<long>(model.sensors());
    ph_.resize(n, m), gain_.resize(n, m), s_.resize(m, m), weighed_.resize(m);
    there_.reserve(model.sensors());
  }

  bool predict(double t, const double* u, const double* du) override {
    if (!flow(belief_.x, t, u, du, step_, phi_)) return false;
    belief_.x += step_;
    model_.clamp(belief_.x);
    propagate(belief_.p, phi_, work_);
    add_noise(belief_.p);
    return belief_.x.allFinite();
  }

  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    if (!model_.evaluate_readings(belief_.x, t, u, point_)) return false;
    out.log_likelihood = 0.0;
    there_.clear();
    const Matrix& h = point_.readings_by_state;
    for (std::size_t s = 0; s < model_.sensors(); ++s) {
      const auto i = static_cast<long>(s);
      const double r = model_.noise()[s] * model_.noise()[s];
      const double innovation = readings[s] - point_.readings[i];
      const auto column = static_cast<long>(there_.size());
      multiply(h, i, column);
      out.variance[s] = along(h, i, column) + r;
      out.refused[s] = !std::isnan(innovation) && refuse(innovation, out.variance[s]);
      out.value[s] = out.refused[s] ? std::numeric_limits<double>::quiet_NaN() : innovation;
      if (!std::isnan(out.value[s])) there_.push_back(i);
    }
    if (there_.empty()) return belief_.x.allFinite();
    const auto count = static_cast<long>(there_.size()), n = belief_.x.size();
    for (long k = 0; k < count; ++k)
      for (long j = 0; j <= k; ++j) {
        s_(k, j) = along(h, there_[static_cast<std::size_t>(k)], j);
        if (j == k) s_(k, k) = out.variance[static_cast<std::size_t>(there_[static_cast<std::size_t>(k)])];
      }
    if (!factor(count)) return false;

    // K = P H' S^-1, and the innovation weighed by S^-1.
    double logs = 0.0, squares = 0.0;
    for (long k = 0; k < count; ++k) {
      gain_.col(k) = ph_.col(k);
      weighed_[k] = out.value[static_cast<std::size_t>(there_[static_cast<std::size_t>(k)])];
      for (long j = 0; j < k; ++j) {
        gain_.col(k) -= s_(k, j) * gain_.col(j);
        weighed_[k] -= s_(k, j) * weighed_[j];
      }
    }
    for (long k = count - 1; k >= 0; --k) {
      squares += weighed_[k] * weighed_[k] / s_(k, k);
      logs += std::log(std::abs(s_(k, k)) * 2.0 * M_PI);
      gain_.col(k) /= s_(k, k);
      weighed_[k] /= s_(k, k);
    }
    for (long k = count - 1; k >= 0; --k)
      for (long j = k + 1; j < count; ++j) {
        gain_.col(k) -= s_(j, k) * gain_.col(j);
        weighed_[k] -= s_(j, k) * weighed_[j];
      }
    out.log_likelihood = -0.5 * (squares + logs);

    for (long i = 0; i < n; ++i) {
      double move = 0.0;
      for (long k = 0; k < count; ++k) move += ph_(i, k) * weighed_[k];
      belief_.x[i] += (1.0 - keep_[i]) * move;
    }
    for (long j = 0; j < n; ++j)
      for (long i = 0; i <= j; ++i) {
        double change = 0.0;  // (K H P)_ij, which is symmetric
        for (long k = 0; k < count; ++k) change += gain_(i, k) * ph_(j, k) + gain_(j, k) * ph_(i, k);
        belief_.p(i, j) = belief_.p(j, i) = belief_.p(i, j) - (1.0 - keep_[i] * keep_[j]) * 0.5 * change;
      }
    model_.clamp(belief_.x);
    return belief_.x.allFinite();
  }

 private:
  // ph column = P h', h one row of the slopes.
  void multiply(const Matrix& h, long row, long column) {
    ph_.col(column).setZero();
    for (long j = 0; j < belief_.x.size(); ++j)
      if (const double slope = h(row, j); slope != 0.0) ph_.col(column) += slope * belief_.p.col(j);
  }
  double along(const Matrix& h, long row, long column) const {
    double sum = 0.0;
    for (long j = 0; j < belief_.x.size(); ++j) sum += h(row, j) * ph_(j, column);
    return sum;
  }
  // S = L D L' in place: L below the diagonal, D on it.
  bool factor(long count) {
    for (long k = 0; k < count; ++k) {
      for (long j = 0; j < k; ++j) {
        for (long l = 0; l < j; ++l) s_(k, j) -= s_(k, l) * s_(j, l) * s_(l, l);
        s_(k, j) /= s_(j, j);
        s_(k, k) -= s_(k, j) * s_(k, j) * s_(j, j);
      }
      if (s_(k, k) == 0.0 || std::isnan(s_(k, k))) return false;
    }
    return true;
  }

  Vector keep_, weighed_;
  Matrix work_, ph_, gain_, s_;
  std::vector<long> there_;
};

constexpr std::size_t most_generated = 6000;
constexpr std::size_t fewest_modal = 40;  // states; below, dense products are quicker

constexpr EstimatorEntry table[] = {
    {"kf", "Kalman filter, for linear models", true, false, true, true, extended_filter},
    {"ekf", "extended Kalman filter", true, false, true, true, extended_filter},
    {"pkf", "partial update: states keep part of their values", false, false, true, true, partial_filter},
    {"ukf", "unscented: sigma points instead of derivatives", false, false, true, false, unscented_filter},
    {"ekf-perfect", "states, rates and unknowns; the equations between them as readings without noise", false,
     true, false, false, perfect_filter},
    {"steady", "the gain that does not change any more, for linear models", false, false, false, false,
     steady_filter},
};

}  // namespace

namespace {

// Straight-line code has n^2 (n + sensors) operations, and compilers take the square of their number.
bool can_be_generated(TwinModel& model, const FilterOptions& options, FilterFormulas::Method method) {
  using Method = FilterFormulas::Method;
  const std::size_t n = model.size(), m = model.sensors();
  if (!options.generate || options.any_length || options.reduce > 0 || model.has_events()) return false;
  if (method == Method::steady)
    return 3 * n * n + m * (n + m * m) <= most_generated && FilterFormulas::possible(model, options, method);
  std::size_t products = model.constant_slopes() ? 1 : 4;
  // Before formulas are looked for, which takes its time.
  if (n * n * (products * n + m) > most_generated || !FilterFormulas::possible(model, options, method))
    return false;
  if (method == Method::sigma_points && FilterFormulas::points_matter(model)) {
    if (!model.formulas()) return false;
    products += 5 + 3 * FilterFormulas::readings_by_points(model);
  }
  return n * n * (products * n + m) <= most_generated;
}

}  // namespace

std::unique_ptr<Filter> extended_filter(TwinModel& model, const FilterOptions& options) {
  if (can_be_generated(model, options, FilterFormulas::Method::one_by_one))
    return generated_filter(model, options, FilterFormulas::Method::one_by_one);
  const std::size_t n = model.size();
  const bool fresh = std::any_of(model.states().begin(), model.states().end(),
                                 [](const TwinState& state) { return state.fresh; });
  const bool linear = !options.euler && model.constant_slopes();
  if (linear && fresh && (options.reduce > 0 || (options.reduce == 0 && n > full_filter_limit)))
    throw ModelError({{model.model().file.string(), 0},
                      "T628",
                      "a reduced filter does not know the noise of inputs",
                      {"leave 'noise' of [inputs] out, or --reduce"}});
  if (options.reduce > 0 && (!linear || model.has_events()))
    throw ModelError(
        {{model.model().file.string(), 0},
         "T628",
         "only a linear model without events can be reduced, with the exact flow",
         {"here an event, or a product of states, or of a state and an unknown, changes its matrices; "
          "leave --reduce and --discretisation out"}});
  if (linear && !options.any_length && (options.reduce > 0 || (options.reduce == 0 && n > full_filter_limit)))
    if (auto filter = reduced_filter(model, options)) return filter;
  if (linear && !fresh && !model.has_events() && n > fewest_modal)
    if (auto filter = modal_filter(model, options)) return filter;
  return std::make_unique<ExtendedFilter>(model, options);
}

std::unique_ptr<Filter> partial_filter(TwinModel& model, const FilterOptions& options) {
  if (can_be_generated(model, options, FilterFormulas::Method::together))
    return generated_filter(model, options, FilterFormulas::Method::together);
  return std::make_unique<PartialFilter>(model, options);
}

std::unique_ptr<Filter> unscented_filter(TwinModel& model, const FilterOptions& options) {
  if (can_be_generated(model, options, FilterFormulas::Method::sigma_points))
    return generated_filter(model, options, FilterFormulas::Method::sigma_points);
  return unscented_matrices(model, options);
}

std::unique_ptr<Filter> steady_filter(TwinModel& model, const FilterOptions& options) {
  if (!model.constant_slopes())
    throw ModelError({{model.model().file.string(), 0},
                      "T624",
                      "a steady gain is for linear models whose unknowns are inputs",
                      {"here a product of states, or of a state and an unknown, changes the gain; use ekf"}});
  if (can_be_generated(model, options, FilterFormulas::Method::steady))
    return generated_filter(model, options, FilterFormulas::Method::steady);
  return steady_matrices(model, options);
}

std::span<const EstimatorEntry> estimators() { return table; }

const EstimatorEntry& find_estimator(const std::string& name, const Place& place) {
  std::vector<std::string> names;
  for (const EstimatorEntry& e : table) {
    if (e.name == name) return e;
    names.emplace_back(e.name);
  }
  throw ModelError({place,
                    "T623",
                    fmt::format("there is no estimator '{}'", name),
                    {did_you_mean(name, names), "estimators: " + joined(names)}});
}

}  // namespace tellegen
