#include "tellegen/identify/local_search.h"

#include <algorithm>
#include <cmath>

#include "tellegen/calibrate/levenberg.h"
#include "tellegen/identify/per_unit.h"
#include "tellegen/identify/smooth.h"
#include "tellegen/numeric/sparse_ldl.h"

namespace tellegen {
namespace {

// Unknowns: logarithms of L_s - L_m, L_m, r_s, r_r, Q_w and B; then for each sample flux linkages, currents,
// torque, speed.
constexpr int shared = 6, per_sample = 10, flux_at = 0, current_at = 4, torque_at = 8, speed_at = 9;

// Per unit of the largest current and the voltage, where a machine at standstill has an impedance of about
// one: a start is taken from this range, and the search stays in the wider one.
constexpr double smallest_start = 0.05, largest_start = 20.0, smallest = 1e-4, largest = 1e2;

constexpr double least_felt = 1e-9;  // of a variable that nothing moves

class Discretised {
 public:
  Discretised(const StartUp& data, const LocalSearchOptions& options)
      : data_(data), unit_(data), samples_(static_cast<std::int32_t>(data.samples())) {
    unknowns_ = shared + per_sample * samples_;
    x.assign(unknowns_, 0.0);
    weight_.assign(unknowns_, 0.0);
    reading_.assign(unknowns_, 0.0);
    // Weights per unit such that the whole is of order one: the search's own scale.
    double whole = 0.0;
    const auto read = [&](std::int32_t at, double reading, double weight, double unit) {
      if (std::isnan(reading)) return;
      weight_[at] = weight * unit * unit;
      reading_[at] = reading / unit;
      whole += weight * reading * reading;
    };
    for (std::int32_t n = 0; n < samples_; ++n) {
      read(place(n, current_at), data.i_qs[n], options.current_weight, unit_.current);
      read(place(n, current_at + 1), data.i_ds[n], options.current_weight, unit_.current);
      read(place(n, speed_at), data.w_r[n], options.speed_weight, unit_.frequency);
    }
    smooth_ = reading_;
    const auto smooth = [&](const std::vector<double>& readings, int at, double unit) {
      const double noise = white_noise(readings);
      const std::vector<double> values = smoothed(readings, std::isnan(noise) ? 0.0 : noise);
      for (std::int32_t n = 0; n < samples_ && !values.empty(); ++n) smooth_[place(n, at)] = values[n] / unit;
    };
    smooth(data.i_qs, current_at, unit_.current);
    smooth(data.i_ds, current_at + 1, unit_.current);
    smooth(data.w_r, speed_at, unit_.frequency);
    scale_ = whole > 0.0 ? samples_ / whole : 1.0;
    for (double& weight : weight_) weight *= scale_;
    last_.assign(samples_, 0);
    last_[samples_ - 1] = 1;
    for (const std::size_t first : data.windows)
      if (first > 0 && first < data.samples()) last_[first - 1] = 1;
    build();
  }

  // Readings as they are, or smoothed: noise in a rate is many times that of a reading.
  void use(bool smooth) {
    if (smooth != smooth_in_use_) reading_.swap(smooth_);
    smooth_in_use_ = smooth;
  }

  void begin(const InductionParameters& start, const std::vector<InductionState>& states) {
    const std::array<double, 6> values = start.values(), bases = unit_.bases();
    for (int k = 0; k < shared; ++k) {
      const double value = (k == 0 ? values[0] - std::abs(values[1]) : values[k]) / bases[k];
      x[k] = std::log(std::clamp(k == 1 ? std::abs(value) : value, smallest_start, largest_start));
    }
    const double L_m = std::exp(x[1]), L_s = std::exp(x[0]) + L_m;
    for (std::int32_t n = 0; n < samples_; ++n) {
      for (int k = 0; k < 4; ++k) x[place(n, current_at + k)] = states[n].current[k] / unit_.current;
      x[place(n, speed_at)] = states[n].speed / unit_.frequency;
      for (const int what : {current_at, current_at + 1, speed_at})
        if (weight_[place(n, what)] > 0.0) x[place(n, what)] = smooth_[place(n, what)];
      const double* i = &x[place(n, current_at)];
      double* flux = &x[place(n, flux_at)];
      for (int k = 0; k < 4; ++k) flux[k] = L_s * i[k] + L_m * i[(k + 2) % 4];
      x[place(n, torque_at)] = flux[1] * i[0] - flux[0] * i[1];
    }
  }

  double fit() const {  // 1/2 |r|^2
    double sum = 0.0;
    for (std::int32_t k = 0; k < unknowns_; ++k) {
      const double d = x[k] - reading_[k];
      sum += 0.5 * weight_[k] * d * d;
    }
    return sum;
  }
  double fit_of_source() const { return 2.0 * fit() / scale_; }  // (3.8a)

  double violation() const {
    double most = 0.0;
    for (const double e : equations) most = std::max(most, std::abs(e));
    return most;
  }
  double squared_violation() const {
    double sum = 0.0;
    for (const double e : equations) sum += e * e;
    return sum;
  }

  // E(x), and its derivatives where asked.
  void evaluate(bool derivatives) {
    std::size_t entry = 0;
    std::int32_t row = 0;
    const auto put = [&](double value) {
      if (derivatives) values_[jacobian_[entry]] = value;
      ++entry;
    };
    const double a = data_.frequency * data_.step;
    const double leakage = std::exp(x[0]), L_m = std::exp(x[1]), L_s = leakage + L_m, r_s = std::exp(x[2]),
                 r_r = std::exp(x[3]), Q_w = std::exp(x[4]), B = std::exp(x[5]);
    for (std::int32_t n = 0; n < samples_; ++n) {
      const double* s = &x[place(n, 0)];
      const double *flux = s + flux_at, *i = s + current_at, torque = s[torque_at], w = s[speed_at];
      for (int k = 0; k < 4; ++k) {  // (3.8d)
        const double across = i[(k + 2) % 4];
        equations[row++] = flux[k] - L_s * i[k] - L_m * across;
        put(1.0), put(-L_s), put(-L_m), put(-leakage * i[k]), put(-L_m * (i[k] + across));
      }
      equations[row++] = torque - flux[1] * i[0] + flux[0] * i[1];  // (3.8e)
      put(1.0), put(-i[0]), put(i[1]), put(-flux[1]), put(flux[0]);
      if (last_[n]) continue;
      const double *next = s + per_sample,
                   voltage[4] = {data_.v_qs[n] / unit_.voltage, data_.v_ds[n] / unit_.voltage, 0.0, 0.0};
      for (int k = 0; k < 4; ++k) {  // (3.8b), a rate: divided by w dT
        const int turned = k % 2 == 0 ? k + 1 : k - 1;
        const double slip = (k % 2 == 0 ? -1.0 : 1.0) * (k < 2 ? 1.0 : 1.0 - w);
        const double r = k < 2 ? r_s : r_r;
        equations[row++] = (next[flux_at + k] - flux[k]) / a - slip * flux[turned] + r * i[k] - voltage[k];
        put(1.0 / a), put(-1.0 / a), put(-slip), put(r), put(r * i[k]);
        if (k >= 2) put((k % 2 == 0 ? -1.0 : 1.0) * flux[turned]);
      }
      const double rate = (next[speed_at] - w) / a;  // (3.8c)
      equations[row++] = Q_w * rate - torque + B * w;
      put(Q_w / a), put(-Q_w / a + B), put(-1.0), put(Q_w * rate), put(B * w);
    }
  }

  // The step for a penalty rho and a damping, at the point of the last derivatives.
  std::vector<double> step(double rho, double damping) {
    // Each variable is damped in the scale in which it is felt [Marquardt 1963].
    const SparsePattern& pattern = ldl_->pattern();
    std::vector<double> felt = weight_;
    for (std::int32_t j = unknowns_; j < pattern.size; ++j)
      for (std::int32_t p = pattern.column_start[j]; p < pattern.column_start[j + 1]; ++p)
        if (pattern.row[p] < unknowns_) felt[pattern.row[p]] += rho * values_[p] * values_[p];
    for (std::int32_t k = 0; k < unknowns_; ++k)
      values_[diagonal_[k]] = weight_[k] + damping * (felt[k] + least_felt);
    for (std::size_t k = 0; k < equations.size(); ++k) values_[diagonal_[unknowns_ + k]] = -1.0 / rho;
    ldl_->factor(values_, 1e-14);
    std::vector<double> right(unknowns_ + equations.size()), solution(right.size(), 0.0), left;
    for (std::int32_t k = 0; k < unknowns_; ++k) right[k] = -weight_[k] * (x[k] - reading_[k]);
    for (std::size_t k = 0; k < equations.size(); ++k) right[unknowns_ + k] = -equations[k];
    for (int refinement = 0; refinement < 3; ++refinement) {
      left = right;
      for (std::int32_t j = 0; j < pattern.size && refinement > 0; ++j)
        for (std::int32_t p = pattern.column_start[j]; p < pattern.column_start[j + 1]; ++p) {
          const std::int32_t i = pattern.row[p];
          left[i] -= values_[p] * solution[j];
          if (i != j) left[j] -= values_[p] * solution[i];
        }
      ldl_->solve(left.data());
      for (std::size_t k = 0; k < left.size(); ++k) solution[k] += left[k];
    }
    solution.resize(unknowns_);
    return solution;
  }

  std::vector<double> x, equations;

 private:
  static std::int32_t place(std::int32_t sample, int what) { return shared + per_sample * sample + what; }

  // The places of evaluate()'s derivatives, in its order.
  void build() {
    std::int32_t rows = 0;
    for (std::int32_t n = 0; n < samples_; ++n) rows += last_[n] ? 5 : 10;
    equations.assign(rows, 0.0);
    PatternBuilder builder(unknowns_ + rows);
    for (std::int32_t k = 0; k < unknowns_ + rows; ++k) diagonal_.push_back(builder.add(k, k));
    std::int32_t row = unknowns_;
    const auto put = [&](std::int32_t column) { jacobian_.push_back(builder.add(column, row)); };
    for (std::int32_t n = 0; n < samples_; ++n) {
      const std::int32_t s = place(n, 0), next = s + per_sample;
      for (int k = 0; k < 4; ++k, ++row)
        put(s + flux_at + k), put(s + current_at + k), put(s + current_at + (k + 2) % 4), put(0), put(1);
      put(s + torque_at), put(s + flux_at + 1), put(s + flux_at), put(s + current_at),
          put(s + current_at + 1);
      ++row;
      if (last_[n]) continue;
      for (int k = 0; k < 4; ++k, ++row) {
        put(next + flux_at + k), put(s + flux_at + k), put(s + flux_at + (k % 2 == 0 ? k + 1 : k - 1));
        put(s + current_at + k), put(k < 2 ? 2 : 3);
        if (k >= 2) put(s + speed_at);
      }
      put(next + speed_at), put(s + speed_at), put(s + torque_at), put(4), put(5);
      ++row;
    }
    SparsePattern pattern = builder.build();
    for (std::vector<std::int32_t>* places : {&diagonal_, &jacobian_})
      for (std::int32_t& at : *places) at = builder.position(at);
    values_.assign(pattern.nonzeros(), 0.0);
    std::vector<signed char> signs(unknowns_ + rows, 1);
    std::fill(signs.begin() + unknowns_, signs.end(), -1);
    ldl_ = std::make_unique<SparseLdl>(std::move(pattern), std::move(signs));
  }

  const StartUp& data_;
  PerUnit unit_;
  std::int32_t samples_, unknowns_ = 0;
  double scale_ = 1.0;
  std::vector<double> weight_, reading_, smooth_, values_;
  bool smooth_in_use_ = false;
  std::vector<char> last_;  // of a window
  std::vector<std::int32_t> diagonal_, jacobian_;
  std::unique_ptr<SparseLdl> ldl_;
};

constexpr double first_rho = 1e-2, last_smooth_rho = 10.0, last_rho = 1e2, growth = 10.0;
constexpr double longest_step = 1.0;  // of a parameter's logarithm

// The same with the trajectories from the difference equations: what is left are the parameters and, for each
// window, the state that it begins with.
class Shooting {
 public:
  Shooting(const StartUp& data, const LocalSearchOptions& options)
      : data_(data), unit_(data), options_(options), unknowns_(shared + states * data.windows.size()) {}

  Eigen::VectorXd start(const std::vector<double>& x) const {  // of the discretised problem
    Eigen::VectorXd result(unknowns_);
    for (int k = 0; k < shared; ++k) result[k] = x[k];
    for (std::size_t w = 0; w < data_.windows.size(); ++w) {
      const std::size_t s = shared + per_sample * data_.windows[w];
      for (int k = 0; k < 4; ++k) result[place(w) + k] = x[s + flux_at + k];
      result[place(w) + 4] = x[s + speed_at];
    }
    return result;
  }

  // Half of (3.8a) with its normal equations; the trajectory where asked.
  SquaresPoint at(const Eigen::VectorXd& x, std::vector<InductionState>* trajectory = nullptr) const {
    SquaresPoint point;
    point.gradient = Eigen::VectorXd::Zero(unknowns_);
    point.normal = Eigen::MatrixXd::Zero(unknowns_, unknowns_);
    const double leakage = std::exp(x[0]), L_m = std::exp(x[1]), L_s = leakage + L_m, r_s = std::exp(x[2]),
                 r_r = std::exp(x[3]), Q_w = std::exp(x[4]), B = std::exp(x[5]);
    const double determinant = leakage * (leakage + 2.0 * L_m), a = data_.frequency * data_.step;
    const auto swapped = [](const auto& v, int k) -> decltype(auto) { return v.row((k + 2) % 4); };
    for (std::size_t w = 0; w < data_.windows.size(); ++w) {
      const std::size_t end = w + 1 < data_.windows.size() ? data_.windows[w + 1] : data_.samples();
      Eigen::Matrix<double, 5, 1> state = x.segment<5>(place(w)), rate;
      Eigen::Matrix<double, 5, columns> slope = Eigen::Matrix<double, 5, columns>::Zero(), rate_slope;
      slope.rightCols<5>().setIdentity();
      for (std::size_t n = data_.windows[w]; n < end; ++n) {
        Eigen::Matrix<double, 4, 1> i;
        Eigen::Matrix<double, 4, columns> di, v = slope.topRows<4>();
        for (int k = 0; k < 4; ++k) i[k] = (L_s * state[k] - L_m * state[(k + 2) % 4]) / determinant;
        for (int k = 0; k < 4; ++k) {
          v(k, 0) -= leakage * i[k];
          v(k, 1) -= L_m * (i[k] + i[(k + 2) % 4]);
        }
        for (int k = 0; k < 4; ++k) di.row(k) = (L_s * v.row(k) - L_m * swapped(v, k)) / determinant;
        if (!std::isfinite(i.sum() + state.sum()) || i.norm() > 1e4) {
          point.failure = "the difference equations diverge";
          return point;
        }
        reading(data_.i_qs[n], options_.current_weight, unit_.current, i[0], di.row(0), w, point);
        reading(data_.i_ds[n], options_.current_weight, unit_.current, i[1], di.row(1), w, point);
        reading(data_.w_r[n], options_.speed_weight, unit_.frequency, state[4], slope.row(4), w, point);
        if (trajectory)
          trajectory->push_back(
              {{i[0] * unit_.current, i[1] * unit_.current, i[2] * unit_.current, i[3] * unit_.current},
               state[4] * unit_.frequency});
        const double slip = 1.0 - state[4];
        for (int k = 0; k < 4; ++k) {
          const int turned = k % 2 == 0 ? k + 1 : k - 1;
          const double sign = k % 2 == 0 ? -1.0 : 1.0, turn = sign * (k < 2 ? 1.0 : slip),
                       r = k < 2 ? r_s : r_r;
          const double voltage = k == 0 ? data_.v_qs[n] : k == 1 ? data_.v_ds[n] : 0.0;
          rate[k] = turn * state[turned] - r * i[k] + voltage / unit_.voltage;
          rate_slope.row(k) = turn * slope.row(turned) - r * di.row(k);
          if (k >= 2) rate_slope.row(k) -= sign * state[turned] * slope.row(4);
          rate_slope(k, k < 2 ? 2 : 3) -= r * i[k];
        }
        const double torque = state[1] * i[0] - state[0] * i[1];
        rate[4] = (torque - B * state[4]) / Q_w;
        rate_slope.row(4) = (state[1] * di.row(0) + i[0] * slope.row(1) - state[0] * di.row(1) -
                             i[1] * slope.row(0) - B * slope.row(4)) /
                            Q_w;
        rate_slope(4, 4) -= rate[4];
        rate_slope(4, 5) -= B * state[4] / Q_w;
        state += a * rate;
        slope += a * rate_slope;
      }
    }
    point.normal.triangularView<Eigen::StrictlyUpper>() = point.normal.transpose();
    return point;
  }

  InductionParameters parameters(const Eigen::VectorXd& x) const {
    std::array<double, 6> p{};
    const std::array<double, 6> bases = unit_.bases();
    for (int k = 0; k < shared; ++k) p[k] = std::exp(x[k]) * bases[k];
    return {p[0] + p[1], p[1], p[2], p[3], p[4], p[5]};
  }

  SquaresSearch search(const Eigen::VectorXd& start, int most_iterations) const {
    SquaresProblem problem;
    problem.at = [this](const Eigen::VectorXd& x) { return at(x); };
    problem.lower = Eigen::VectorXd::Constant(unknowns_, -INFINITY);
    problem.upper = Eigen::VectorXd::Constant(unknowns_, INFINITY);
    problem.lower.head(shared).setConstant(std::log(smallest));
    problem.upper.head(shared).setConstant(std::log(largest));
    problem.size = Eigen::VectorXd::Ones(unknowns_);
    problem.positive.assign(unknowns_, 0);
    problem.longest = Eigen::VectorXd::Constant(unknowns_, INFINITY);
    problem.longest.head(shared).setConstant(longest_step);
    return levenberg_marquardt(problem, start, most_iterations);
  }

 private:
  static constexpr int states = 5, columns = shared + states;
  Eigen::Index place(std::size_t window) const { return static_cast<Eigen::Index>(shared + states * window); }

  template <typename Row>
  void reading(double read, double weight, double unit, double value, const Row& row, std::size_t window,
               SquaresPoint& point) const {
    if (std::isnan(read)) return;
    const double residual = value * unit - read;
    point.cost += 0.5 * weight * residual * residual;
    std::array<Eigen::Index, columns> where{};
    for (int k = 0; k < columns; ++k) where[k] = k < shared ? k : place(window) + k - shared;
    for (int k = 0; k < columns; ++k) {
      point.gradient[where[k]] += weight * unit * residual * row[k];
      for (int j = 0; j <= k; ++j) point.normal(where[k], where[j]) += weight * unit * unit * row[k] * row[j];
    }
  }

  const StartUp& data_;
  PerUnit unit_;
  const LocalSearchOptions& options_;
  std::size_t unknowns_;
};

}  // namespace

LocalSearch search_locally(const StartUp& data, const InductionParameters& start,
                           const std::vector<InductionState>& states, const LocalSearchOptions& options) {
  Discretised problem(data, options);
  problem.begin(start, states);
  const Shooting shooting(data, options);
  LocalSearch result;
  SquaresSearch best;
  best.point.cost = INFINITY;
  const auto merit = [&](double rho) {
    problem.evaluate(false);
    return problem.fit() + 0.5 * rho * problem.squared_violation();
  };
  double damping = 1e-3;
  for (double rho = first_rho; rho <= last_rho * 1.01; rho *= growth) {
    problem.use(rho < last_smooth_rho);
    double cost = merit(rho), raise = 2.0;
    int slow = 0;  // steps in a row that gain little
    damping = std::min(damping, 1e-3);
    for (int k = 0; k < options.most_iterations && slow < 2; ++k) {
      problem.evaluate(true);
      const std::vector<double> before = problem.x;
      double size = 0.0, next = INFINITY;
      for (; k < options.most_iterations && damping < 1e8; ++k) {
        const std::vector<double> step = problem.step(rho, damping);
        ++result.iterations;
        size = 0.0;
        for (int j = 0; j < shared; ++j) size = std::max(size, std::abs(step[j]));
        const double factor = std::min(1.0, longest_step / size);
        for (std::size_t j = 0; j < step.size(); ++j) problem.x[j] = before[j] + factor * step[j];
        for (int j = 0; j < shared; ++j)
          problem.x[j] = std::clamp(problem.x[j], std::log(smallest), std::log(largest));
        next = merit(rho);
        if (next <= cost) break;
        damping *= raise;
        raise *= 2.0;
      }
      if (!(next <= cost)) {  // no better point in reach of rounding, or of the iterations
        problem.x = before;
        break;
      }
      slow = (cost - next <= 1e-2 * cost && size < 0.1) || next < 1e-20 ? slow + 1 : 0;
      cost = next;
      damping = std::max(1e-10, damping / 5.0);
      raise = 2.0;
    }
    const SquaresSearch found = shooting.search(shooting.start(problem.x), options.most_iterations);
    result.iterations += found.evaluations;
    if (found.point.failure.empty() && found.point.cost < best.point.cost) best = found;
  }
  result.converged = best.converged;
  result.objective = INFINITY;
  if (best.x.size() == 0) return result;
  result.parameters = shooting.parameters(best.x);
  result.objective = 2.0 * shooting.at(best.x, &result.states).cost;
  return result;
}

}  // namespace tellegen
