#include "tellegen/identify/extraction_route.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tellegen/calibrate/levenberg.h"
#include "tellegen/conic/lifting.h"
#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

// Of (2.10), in terms of the interval: a = w_r dT, r = r_s dT, l1 to l3, Q = 1/poles; and l4.
enum QdParameter { qd_a, qd_r, qd_l, qd_Q = qd_l + 3, qd_lifted, qd_l4 = qd_lifted, qd_parameters };

QdModel model_of(const std::array<double, qd_parameters>& p, double interval) {
  QdModel m;
  m.w_r = p[qd_a] / interval;
  m.r_s = p[qd_r] / interval;
  m.L_ls = p[qd_l + 2];
  m.L_mq = p[qd_l] - m.L_ls;
  m.L_md = p[qd_l + 1] - m.L_ls;
  m.turns_ratio = 1.5 * p[qd_l4] / m.L_md;
  m.poles = 1.0 / p[qd_Q];
  return m;
}

std::array<double, qd_parameters> parameters_of(const QdModel& m, double interval) {
  return {m.w_r * interval,
          m.r_s * interval,
          m.L_ls + m.L_mq,
          m.L_ls + m.L_md,
          m.L_ls,
          1.0 / m.poles,
          m.turns_ratio * m.L_md / 1.5};
}

double new_share(Discretisation rule) { return rule == Discretisation::forward ? 0.0 : 0.5; }

void check_samples(const MachineRecord& record, std::size_t first, std::size_t last) {
  if (last > record.size() || last < first + 3)
    throw std::invalid_argument("an extraction needs at least three samples of the record");
  double sum = record.interval + record.field_current;
  for (std::size_t k = first; k < last; ++k) {
    sum += record.torque[k];
    for (int n = 0; n < 3; ++n) sum += record.lambda[n][k] + record.i[n][k] + record.v[n][k];
  }
  if (!std::isfinite(sum)) throw std::invalid_argument("a sample of the record is not a number");
}

// (2.11a) with all estimates zero.
double objective_of_nothing(const MachineRecord& record, std::size_t first, std::size_t last,
                            const ExtractionWeights& weights) {
  double sum = 0.0;
  for (std::size_t n = first; n < last; ++n) {
    for (int k = 0; k < 3; ++k)
      sum +=
          weights.lambda[k] * std::pow(record.lambda[k][n], 2) + weights.i[k] * std::pow(record.i[k][n], 2);
    sum += weights.torque * std::pow(record.torque[n], 2);
  }
  return sum;
}

// What stands for the quantities of one sample, per unit.
struct QdSample {
  std::array<Lifted, 3> lambda, i;
  Lifted torque;
  std::array<Affine, 2> f, w;
  std::array<Affine, 3> h, z;
  Affine theta;
};

// Per unit: the largest flux linkage and current of q and d together, and of zero; the torque of both; a and
// Q as they are, r and l accordingly.
class QdFormulation {
 public:
  QdFormulation(const MachineRecord& record, std::size_t first, std::size_t last, Discretisation rule,
                const ExtractionRelaxationOptions& options, const ExtractionRelaxation* previous)
      : record_(record), first_(first), share_(new_share(rule)), options_(options), samples_(last - first) {
    const auto largest = [&](const std::vector<double>& x) {
      double most = 0.0;
      for (std::size_t k = first; k < last; ++k) most = std::max(most, std::abs(x[k]));
      return most > 0.0 ? most : 1.0;
    };
    for (int n = 0; n < 3; ++n) {
      const int other = n < 2 ? 1 - n : 2;
      flux_[n] = std::max(largest(record.lambda[n]), largest(record.lambda[other]));
      current_[n] = std::max(largest(record.i[n]), largest(record.i[other]));
    }
    torque_ = 0.75 * flux_[0] * current_[0];
    scale_ = objective_of_nothing(record, first, last, options.weights);
    if (scale_ == 0.0) scale_ = 1.0;
    const double r = flux_[0] / current_[0];
    unit_ = {1.0, r, r, r, flux_[2] / current_[2], 1.0, r};
    for (int p = 0; p < qd_lifted; ++p) parameters_[p] = {programme_.unknown(), programme_.unknown()};
    l4_ = programme_.unknown();
    if (options.eliminated && share_ > 0.0)
      for (std::size_t n = 0; n <= samples_.size(); ++n)
        between_.push_back({programme_.unknown(), programme_.unknown(), programme_.unknown()});
    for (std::size_t n = 0; n < samples_.size(); ++n) declare(n);
    for (std::size_t n = 0; n < samples_.size(); ++n) difference(n);
    for (std::size_t n = 0; n < samples_.size(); ++n) constrain(n);
    for (const Lifted& p : parameters_) programme_.square(p.square, p.value);  // (2.16e), (2.16f)
    if (previous) penalise(*previous);
  }

  ExtractionRelaxation solved() {
    ExtractionRelaxation result;
    result.scale = scale_;
    const double constant = programme_.constant() / scale_;
    ConicProblem problem = programme_.build();
    for (double& c : problem.c) c /= scale_;
    result.variables = problem.variables;
    result.equalities = static_cast<std::int32_t>(problem.b.size());
    result.cones = problem.semidefinite.size();
    const ConicSolution found = solve(problem, options_.conic);
    result.status = found.status;
    result.iterations = found.iterations;
    result.primal_residual = found.primal_residual;
    result.dual_residual = found.dual_residual;
    result.objective = (found.objective + constant) * scale_;
    result.gap = (found.objective - found.dual_objective) * scale_;
    std::array<double, qd_parameters> p{};
    for (int k = 0; k < qd_lifted; ++k) {
      const double value = parameters_[k].value.at(found.x);
      p[k] = value * unit_[k];
      result.largest_square =
          std::max(result.largest_square, parameters_[k].square.at(found.x) / (value * value));
    }
    p[qd_l4] = l4_.at(found.x) * unit_[qd_l4];
    result.model = model_of(p, record_.interval);
    for (std::size_t n = 0; n < samples_.size(); ++n) {
      const QdSample& s = samples_[n];
      result.fit += fit(n).at(found.x);
      for (int k = 0; k < 3; ++k) {
        result.lambda[k].push_back(s.lambda[k].value.at(found.x) * flux_[k]);
        result.i[k].push_back(s.i[k].value.at(found.x) * current_[k]);
      }
      result.torque.push_back(s.torque.value.at(found.x) * torque_);
      for_products(n, [&](const Lifted& a, const Lifted& b, const Affine& product) {
        const double slack = product.at(found.x) - a.value.at(found.x) * b.value.at(found.x);
        result.largest_slack = std::max(result.largest_slack, std::abs(slack));
      });
    }
    return result;
  }

 private:
  void declare(std::size_t n) {
    QdSample& s = samples_[n];
    for (int k = 0; k < 3; ++k) {
      const Affine field = k == 1 ? record_.field_current * unit_[qd_l4] / flux_[1] * l4_ : Affine();
      s.lambda[k] = {between_.empty() ? programme_.unknown() : 0.5 * (between_[n][k] + between_[n + 1][k]),
                     programme_.unknown()};
      s.z[k] = options_.eliminated ? s.lambda[k].value - field : programme_.unknown();
      if (!options_.eliminated) programme_.equal_zero(s.lambda[k].value - s.z[k] - field);  // (2.16c)
      s.i[k] = {programme_.unknown(), programme_.unknown()};
      if (!by_difference(n)) s.h[k] = programme_.unknown();
    }
    for (int k = 0; k < 2; ++k) s.f[k] = programme_.unknown(), s.w[k] = programme_.unknown();
    s.torque = {programme_.unknown(), programme_.unknown()};
    s.theta = options_.eliminated ? s.w[1] - s.w[0] : programme_.unknown();
    if (!options_.eliminated) programme_.equal_zero(s.theta - s.w[1] + s.w[0]);  // (2.16d)
  }

  // Whether the difference equations give r i. Forward ones do of all samples but the last. Trapezoidal ones
  // do with y between the samples for lambda: lambda = (y+ + y-)/2 and dT d lambda/dt = y+ - y- satisfy them.
  bool by_difference(std::size_t n) const {
    return options_.eliminated && (share_ > 0.0 || n + 1 < samples_.size());
  }

  void difference(std::size_t n) {  // (2.16b)
    QdSample& s = samples_[n];
    const bool last = n + 1 == samples_.size();
    if (last && between_.empty()) return;
    for (int k = 0; k < 3; ++k) {
      const double drop = unit_[qd_r] * current_[k] / flux_[k], voltage = record_.interval / flux_[k];
      const double v = record_.v[k][first_ + n], v_next = last ? v : record_.v[k][first_ + n + 1];
      if (by_difference(n)) {
        const Affine change = between_.empty() ? samples_[n + 1].lambda[k].value - s.lambda[k].value
                                               : between_[n + 1][k] - between_[n][k];
        s.h[k] = (1.0 / drop) * (Affine(voltage * v) - change - (k < 2 ? s.f[k] : Affine()));
        continue;
      }
      const QdSample& next = samples_[n + 1];
      Affine rest =
          s.lambda[k].value - next.lambda[k].value + Affine(voltage * ((1.0 - share_) * v + share_ * v_next));
      if (k < 2) rest = rest - (1.0 - share_) * s.f[k] - share_ * next.f[k];
      programme_.equal_zero(rest - (1.0 - share_) * drop * s.h[k] - share_ * drop * next.h[k]);
    }
  }

  // Factors and what stands for their product.
  template <typename Visit>
  void for_products(std::size_t n, Visit visit) const {
    const QdSample& s = samples_[n];
    for (int k = 0; k < 2; ++k) {
      visit(parameters_[qd_a], s.lambda[1 - k], (k == 0 ? 1.0 : -1.0) * s.f[k]);  // (2.16j)
      visit(s.lambda[k], s.i[1 - k], s.w[k]);                                     // (2.16k)
    }
    for (int k = 0; k < 3; ++k) {
      visit(parameters_[qd_l + k], s.i[k], s.z[k]);  // (2.16l)
      visit(parameters_[qd_r], s.i[k], s.h[k]);      // (2.16m)
    }
    visit(parameters_[qd_Q], s.torque, s.theta);  // (2.16n)
  }

  void constrain(std::size_t n) {
    const QdSample& s = samples_[n];
    for_products(n, [&](const Lifted& a, const Lifted& b, const Affine& product) {
      programme_.product(a.square, b.square, product, a.value, b.value);
    });
    programme_.square(s.lambda[2].square, s.lambda[2].value);  // which is in no product
    if (!options_.eliminated) {                                // (2.16g) to (2.16i), which the cones imply
      for (const Lifted& x : {s.lambda[0], s.lambda[1], s.i[0], s.i[1], s.i[2], s.torque})
        programme_.square(x.square, x.value);
    }
    programme_.minimise(1.0, fit(n));
  }

  Affine fit(std::size_t n) const {
    const QdSample& s = samples_[n];
    Affine sum;
    const auto read = [&](double weight, double unit, const Lifted& x, double reading) {
      sum.add(weight * unit * unit, lifted_mismatch(x, reading / unit));
    };
    for (int k = 0; k < 3; ++k) {
      read(options_.weights.lambda[k], flux_[k], s.lambda[k], record_.lambda[k][first_ + n]);
      read(options_.weights.i[k], current_[k], s.i[k], record_.i[k][first_ + n]);
    }
    read(options_.weights.torque, torque_, s.torque, record_.torque[first_ + n]);
    return sum;
  }

  void penalise(const ExtractionRelaxation& last) {  // (2.18)
    const auto guess = parameters_of(last.model, record_.interval);
    for (int p = 0; p < qd_lifted; ++p) {
      const double g = guess[p] / unit_[p];
      programme_.minimise(options_.penalty * scale_ / (g * g), lifted_mismatch(parameters_[p], g));
    }
    const double weight = options_.penalty * scale_ / static_cast<double>(samples_.size());
    for (std::size_t n = 0; n < samples_.size(); ++n) {
      const QdSample& s = samples_[n];
      for (int k = 0; k < 3; ++k) {
        programme_.minimise(weight, lifted_mismatch(s.lambda[k], last.lambda[k][n] / flux_[k]));
        programme_.minimise(weight, lifted_mismatch(s.i[k], last.i[k][n] / current_[k]));
      }
      programme_.minimise(weight, lifted_mismatch(s.torque, last.torque[n] / torque_));
    }
  }

  const MachineRecord& record_;
  std::size_t first_;
  double share_;
  const ExtractionRelaxationOptions& options_;
  LiftedProgramme programme_;
  std::array<Lifted, qd_lifted> parameters_;
  Affine l4_;
  std::vector<QdSample> samples_;
  std::vector<std::array<Affine, 3>> between_;  // samples; empty: not used
  std::array<double, 3> flux_{}, current_{};
  std::array<double, qd_parameters> unit_{};
  double torque_ = 0.0, scale_ = 0.0;
};

// Half of (2.11a) with its normal equations, the samples from their differences. Unknowns: w_r, r_s, l1 to
// l3, l4, poles, and the flux linkages at the first sample.
class QdShooting {
 public:
  static constexpr int unknowns = 10, l1 = 2, l4 = 5, poles = 6, state = 7;

  QdShooting(const MachineRecord& record, std::size_t first, std::size_t last, Discretisation rule,
             const ExtractionWeights& weights)
      : record_(record), first_(first), last_(last), share_(new_share(rule)), weights_(weights) {
    // The search stops at fractions of a standard deviation, which these weights do not know: the readings'
    // own sum of squares is taken for many.
    const double deviations = 1e8, all = objective_of_nothing(record, first, last, weights);
    if (all > 0.0) factor_ = deviations * deviations / all;
    for (double& w : weights_.lambda) w *= factor_;
    for (double& w : weights_.i) w *= factor_;
    weights_.torque *= factor_;
  }

  double objective(const SquaresPoint& point) const { return 2.0 * point.cost / factor_; }

  SquaresPoint at(const Eigen::VectorXd& x) const {
    SquaresPoint point;
    point.gradient = Eigen::VectorXd::Zero(unknowns);
    point.normal = Eigen::MatrixXd::Zero(unknowns, unknowns);
    Eigen::Vector3d lambda = x.tail<3>();
    Slopes slope = Slopes::Zero();
    slope.rightCols<3>().setIdentity();
    for (std::size_t n = first_; n < last_; ++n) {
      const Eigen::Vector3d i = currents(x, lambda);
      const Slopes di = current_slopes(x, i, slope);
      for (int k = 0; k < 3; ++k) {
        count(weights_.lambda[k], lambda[k] - record_.lambda[k][n], slope.row(k), point);
        count(weights_.i[k], i[k] - record_.i[k][n], di.row(k), point);
      }
      const double cross = 0.75 * (lambda[1] * i[0] - lambda[0] * i[1]);
      Eigen::RowVectorXd dT =
          0.75 * x[poles] *
          (i[0] * slope.row(1) + lambda[1] * di.row(0) - i[1] * slope.row(0) - lambda[0] * di.row(1));
      dT[poles] += cross;
      count(weights_.torque, x[poles] * cross - record_.torque[n], dT, point);
      if (n + 1 == last_) break;
      advance(x, n, i, di, lambda, slope);
      if (!(lambda.norm() < 1e6)) {
        point.failure = "the difference equations diverge";
        return point;
      }
    }
    return point;
  }

 private:
  using Slopes = Eigen::Matrix<double, 3, unknowns>;

  Eigen::Vector3d currents(const Eigen::VectorXd& x, const Eigen::Vector3d& lambda) const {
    return {lambda[0] / x[l1], (lambda[1] - x[l4] * record_.field_current) / x[l1 + 1],
            lambda[2] / x[l1 + 2]};
  }
  Slopes current_slopes(const Eigen::VectorXd& x, const Eigen::Vector3d& i, const Slopes& slope) const {
    Slopes result = slope;
    result(1, l4) -= record_.field_current;
    for (int k = 0; k < 3; ++k) {
      result(k, l1 + k) -= i[k];
      result.row(k) /= x[l1 + k];
    }
    return result;
  }
  // d lambda/dt = rate(lambda) is linear in lambda: (I - s h M) next = lambda + (1 - s) h rate + s h (v + c).
  void advance(const Eigen::VectorXd& x, std::size_t n, const Eigen::Vector3d& i, const Slopes& di,
               Eigen::Vector3d& lambda, Slopes& slope) const {
    const double h = record_.interval, w = x[0], r = x[1];
    const auto turned = [](const auto& rows, auto result) {
      result.row(0) = -rows.row(1);
      result.row(1) = rows.row(0);
      result.row(2).setZero();
      return result;
    };
    Eigen::Vector3d v, v_next;
    for (int k = 0; k < 3; ++k) v[k] = record_.v[k][n], v_next[k] = record_.v[k][n + 1];
    const double old = (1.0 - share_) * h, now = share_ * h;
    Eigen::Vector3d right = lambda + old * (v - r * i + w * turned(lambda, lambda)) + now * v_next;
    Slopes right_slope = slope + old * (w * turned(slope, slope) - r * di);
    right_slope.col(0) += old * turned(lambda, lambda);
    right_slope.col(1) -= old * i;
    if (share_ > 0.0) {
      right[1] += now * r * x[l4] * record_.field_current / x[l1 + 1];
      Eigen::Matrix3d matrix = Eigen::Matrix3d::Identity();
      matrix(0, 1) += now * w;
      matrix(1, 0) -= now * w;
      for (int k = 0; k < 3; ++k) matrix(k, k) += now * r / x[l1 + k];
      right = solve(matrix, right);
      const Eigen::Vector3d i_next = currents(x, right);
      right_slope.col(0) += now * turned(right, right);
      right_slope.col(1) -= now * i_next;
      for (int k = 0; k < 3; ++k) right_slope(k, l1 + k) += now * r * i_next[k] / x[l1 + k];
      right_slope(1, l4) += now * r * record_.field_current / x[l1 + 1];
      right_slope = solve(matrix, right_slope);
    }
    lambda = right;
    slope = right_slope;
  }

  template <typename Row>
  static void count(double weight, double residual, const Row& row, SquaresPoint& point) {
    point.cost += 0.5 * weight * residual * residual;
    point.gradient += weight * residual * row.transpose();
    point.normal += weight * row.transpose() * row;
  }

  const MachineRecord& record_;
  std::size_t first_, last_;
  double share_, factor_ = 1.0;
  ExtractionWeights weights_;
};

}  // namespace

ExtractionRelaxation relax_extraction(const MachineRecord& record, std::size_t first, std::size_t last,
                                      Discretisation rule, const ExtractionRelaxationOptions& options,
                                      const ExtractionRelaxation* previous) {
  check_samples(record, first, last);
  return QdFormulation(record, first, last, rule, options, previous).solved();
}

ExtractionSearch search_extraction(const MachineRecord& record, std::size_t first, std::size_t last,
                                   Discretisation rule, const QdModel& start,
                                   const std::array<double, 3>& lambda, const ExtractionWeights& weights) {
  check_samples(record, first, last);
  const QdShooting shooting(record, first, last, rule, weights);
  constexpr int unknowns = QdShooting::unknowns, positive = QdShooting::state;
  // Sizes that a machine of these readings has; a start below zero only says "small".
  const auto largest = [&](const std::vector<double>& x) {
    double most = 0.0;
    for (std::size_t k = first; k < last; ++k) most = std::max(most, std::abs(x[k]));
    return most > 0.0 ? most : 1.0;
  };
  const double flux = std::max(largest(record.lambda[0]), largest(record.lambda[1])),
               current = std::max(largest(record.i[0]), largest(record.i[1]));
  const double inductance = flux / current, rate = 1.0 / record.interval;
  SquaresProblem problem;
  problem.at = [&](const Eigen::VectorXd& x) { return shooting.at(x); };
  problem.size = Eigen::VectorXd::Constant(unknowns, flux);
  problem.size.head<positive>() << 0.1 * rate, 0.1 * inductance * rate, inductance, inductance, inductance,
      inductance, 4.0;
  problem.lower = Eigen::VectorXd::Constant(unknowns, -INFINITY);
  problem.upper = Eigen::VectorXd::Constant(unknowns, INFINITY);
  problem.lower.head<positive>() = 1e-6 * problem.size.head<positive>();
  problem.upper.head<positive>() = 1e6 * problem.size.head<positive>();
  problem.positive.assign(unknowns, 0);
  std::fill_n(problem.positive.begin(), positive, 1);
  problem.longest = Eigen::VectorXd::Constant(unknowns, INFINITY);
  const auto p = parameters_of(start, record.interval);
  Eigen::VectorXd x(unknowns);
  x << start.w_r, start.r_s, p[qd_l], p[qd_l + 1], p[qd_l + 2], p[qd_l4], start.poles, lambda[0], lambda[1],
      lambda[2];
  for (int k = 0; k < positive; ++k)
    if (!(x[k] > 1e-3 * problem.size[k])) x[k] = 1e-3 * problem.size[k];
  // Forward differences of what decays faster than they are taken would grow without bound.
  for (int k = 0; k < 3; ++k)
    x[QdShooting::l1 + k] = std::max(x[QdShooting::l1 + k], 2.0 * x[1] * record.interval);
  const SquaresSearch found = levenberg_marquardt(problem, x, 200);
  ExtractionSearch result;
  result.iterations = found.evaluations;
  result.converged = found.converged;
  result.objective = found.point.failure.empty() ? shooting.objective(found.point) : INFINITY;
  result.model = model_of({found.x[0] * record.interval, found.x[1] * record.interval, found.x[2], found.x[3],
                           found.x[4], 1.0 / found.x[6], found.x[5]},
                          record.interval);
  for (int k = 0; k < 3; ++k) result.lambda[k] = found.x[QdShooting::state + k];
  return result;
}

}  // namespace tellegen
