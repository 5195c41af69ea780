#include "tellegen/conic/conic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "tellegen/conic/cones.h"
#include "tellegen/conic/kkt.h"
#include "tellegen/conic/substitution.h"

namespace tellegen {
namespace {

using Vector = std::vector<double>;

constexpr double fraction = 0.99;  // of the way to the boundary
constexpr int patience = 20;       // iterations without a better point

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// max |v_k / w_k|
double largest_ratio(const Vector& v, const Vector& w) {
  double size = 0.0;
  for (std::size_t k = 0; k < v.size(); ++k) size = std::max(size, std::abs(v[k] / w[k]));
  return size;
}

void add(double factor, const Vector& v, Vector& to) {
  for (std::size_t k = 0; k < v.size(); ++k) to[k] += factor * v[k];
}

// Rows and columns brought to entries of order one, a cone's rows all alike [Ruiz 2001]:
//   A <- E A D,  G <- F G D,  c <- D c / sigma_c,  b <- E b / sigma_b,  h <- F h / sigma_b
struct Equilibrium {
  Vector D, E, F;
  double cost = 0.0, right = 0.0;  // sigma_c, sigma_b

  Equilibrium(SparseMatrix& A, SparseMatrix& G, const ConeProduct& cones, Vector& c, Vector& b, Vector& h)
      : D(G.columns, 1.0), E(A.rows, 1.0), F(G.rows, 1.0) {
    for (int pass = 0; pass < 8; ++pass) {
      Vector column(G.columns, 0.0), row(A.rows, 0.0), cone(G.rows, 0.0);
      for (std::int32_t i = 0; i < A.rows; ++i)
        for (std::int64_t p = A.row_start[i]; p < A.row_start[i + 1]; ++p) {
          row[i] = std::max(row[i], std::abs(A.value[p]));
          column[A.column[p]] = std::max(column[A.column[p]], std::abs(A.value[p]));
        }
      for (const Cone& block : cones.cones()) {
        double most = 0.0;
        for (std::int64_t p = G.row_start[block.first]; p < G.row_start[block.first + block.rows]; ++p) {
          most = std::max(most, std::abs(G.value[p]));
          column[G.column[p]] = std::max(column[G.column[p]], std::abs(G.value[p]));
        }
        std::fill_n(cone.begin() + block.first, block.rows, most);
      }
      for (Vector* sizes : {&column, &row, &cone})
        for (double& size : *sizes) size = size > 0.0 ? 1.0 / std::sqrt(size) : 1.0;
      for (std::int32_t i = 0; i < A.rows; ++i)
        for (std::int64_t p = A.row_start[i]; p < A.row_start[i + 1]; ++p)
          A.value[p] *= row[i] * column[A.column[p]];
      for (std::int32_t i = 0; i < G.rows; ++i)
        for (std::int64_t p = G.row_start[i]; p < G.row_start[i + 1]; ++p)
          G.value[p] *= cone[i] * column[G.column[p]];
      for (std::size_t k = 0; k < D.size(); ++k) D[k] *= column[k];
      for (std::size_t k = 0; k < E.size(); ++k) E[k] *= row[k];
      for (std::size_t k = 0; k < F.size(); ++k) F[k] *= cone[k];
    }
    for (std::size_t k = 0; k < c.size(); ++k) c[k] *= D[k], cost = std::max(cost, std::abs(c[k]));
    for (std::size_t k = 0; k < b.size(); ++k) b[k] *= E[k], right = std::max(right, std::abs(b[k]));
    for (std::size_t k = 0; k < h.size(); ++k) h[k] *= F[k], right = std::max(right, std::abs(h[k]));
    if (cost == 0.0) cost = 1.0;
    if (right == 0.0) right = 1.0;
    for (double& v : c) v /= cost;
    for (double& v : b) v /= right;
    for (double& v : h) v /= right;
  }
};

struct Direction {
  Vector x, y, z, s;
  double tau = 0.0, kappa = 0.0;
};

class Solver {
 public:
  Solver(const ConicProblem& problem, const ConicOptions& options)
      : options_(options),
        cones_(problem.nonnegative, problem.second_order, problem.semidefinite),
        A_(static_cast<std::int32_t>(problem.b.size()), problem.variables, problem.A),
        G_(static_cast<std::int32_t>(problem.h.size()), problem.variables, problem.G),
        c_(problem.c),
        b_(problem.b),
        h_(problem.h),
        scale_(A_, G_, cones_, c_, b_, h_),
        kkt_(A_, G_, cones_) {
    for (const Vector* data : {&problem.b, &problem.h})
      for (const double value : *data) size_right_ = std::max(size_right_, std::abs(value));
    for (const double value : problem.c) size_cost_ = std::max(size_cost_, std::abs(value));
  }

  ConicSolution run() {
    begin();
    ConicSolution best;
    double best_error = INFINITY;
    ConicStatus end = ConicStatus::iteration_limit;
    int iteration = 0, best_iteration = 0;
    for (;; ++iteration) {
      residuals();
      const ConicSolution now = assess();
      const double error = std::max({now.primal_residual / options_.feasibility,
                                     now.dual_residual / options_.feasibility, relative_gap_ / options_.gap});
      if (now.status != ConicStatus::iteration_limit) {
        best = now, end = now.status;
        break;
      }
      if (error < best_error) best = now, best_error = error, best_iteration = iteration;
      // Rounding: far behind what there was already, or no better for long.
      if ((error > 1e3 * best_error && best_error < 1e4) || iteration > best_iteration + patience)
        end = ConicStatus::stalled;
      if (iteration == options_.most_iterations || end == ConicStatus::stalled) break;
      if (!step()) {
        end = ConicStatus::stalled;
        break;
      }
    }
    best.status = end;
    best.iterations = iteration;
    best.factor_nonzeros = kkt_.factor_nonzeros();
    return best;
  }

 private:
  // Least squares for both sides, moved inside the cones.
  void begin() {
    const std::size_t n = c_.size(), m = b_.size(), rows = h_.size();
    s_.assign(rows, 0.0), z_.assign(rows, 0.0), lambda_.assign(rows, 0.0);
    for (Direction* d : {&constant_, &predictor_, &corrector_})
      d->x.resize(n), d->y.resize(m), d->z.resize(rows), d->s.resize(rows);
    rx_.resize(n), ry_.resize(m), rz_.resize(rows);
    for (Vector* v :
         {&work_, &target_, &square_, &scaled_s_, &scaled_z_, &constant_scaled_z_, &complement_, &r_, &rho_})
      v->resize(rows);
    cones_.identity(s_.data());
    cones_.scale(s_.data(), s_.data(), lambda_.data());
    kkt_.factor();
    const Vector zero(rows, 0.0);
    x_.assign(n, 0.0), y_ = b_;
    kkt_.solve(x_, y_, h_, zero, z_, work_);
    for (std::size_t k = 0; k < rows; ++k) s_[k] = -z_[k];
    inside(s_);
    Vector ignored(n);
    for (std::size_t k = 0; k < n; ++k) ignored[k] = -c_[k];
    y_.assign(m, 0.0);
    kkt_.solve(ignored, y_, zero, zero, z_, work_);
    inside(z_);
    tau_ = kappa_ = 1.0;
  }

  void inside(Vector& point) {
    const double margin = cones_.margin(point.data());
    const double size = std::sqrt(std::max(1.0, dot(point, point) / std::max(1.0, cones_.degree())));
    if (margin < 1e-8 * size) cones_.add_identity(1.0 - margin, point.data());
  }

  void residuals() {
    for (std::size_t k = 0; k < c_.size(); ++k) rx_[k] = 0.0;
    A_.add_transposed_product(1.0, y_.data(), rx_.data());
    G_.add_transposed_product(1.0, z_.data(), rx_.data());
    ray_dual_ = largest_ratio(rx_, scale_.D) * scale_.cost;
    add(tau_, c_, rx_);
    std::fill(ry_.begin(), ry_.end(), 0.0);
    A_.add_product(1.0, x_.data(), ry_.data());
    rz_ = s_;
    G_.add_product(1.0, x_.data(), rz_.data());
    ray_primal_ = std::max(largest_ratio(ry_, scale_.E), largest_ratio(rz_, scale_.F)) * scale_.right;
    add(-tau_, b_, ry_);
    add(-tau_, h_, rz_);
    cx_ = dot(c_, x_), by_ = dot(b_, y_), hz_ = dot(h_, z_);
    rt_ = kappa_ + cx_ + by_ + hz_;
    mu_ = (dot(s_, z_) + tau_ * kappa_) / (cones_.degree() + 1.0);
  }

  // The point in the units of the problem, and what it proves.
  ConicSolution assess() {
    ConicSolution now;
    const double units = scale_.cost * scale_.right;
    const double primal = std::max(largest_ratio(ry_, scale_.E), largest_ratio(rz_, scale_.F)) * scale_.right;
    const double dual = largest_ratio(rx_, scale_.D) * scale_.cost;
    now.primal_residual = primal / tau_ / std::max(1.0, size_right_);
    now.dual_residual = dual / tau_ / std::max(1.0, size_cost_);
    now.objective = cx_ / tau_ * units;
    now.dual_objective = -(by_ + hz_) / tau_ * units;
    now.gap = dot(s_, z_) / (tau_ * tau_) * units;
    relative_gap_ = std::max(now.gap, std::abs(now.objective - now.dual_objective)) /
                    std::max(1.0, std::min(std::abs(now.objective), std::abs(now.dual_objective)));
    double divisor = tau_;
    if (now.primal_residual <= options_.feasibility && now.dual_residual <= options_.feasibility &&
        relative_gap_ <= options_.gap) {
      now.status = ConicStatus::solved;
    } else if (const double value = -(by_ + hz_) * units;
               value > 0.0 && ray_dual_ <= options_.feasibility * value / unit_right() && kappa_ > tau_) {
      now.status = ConicStatus::infeasible;
      divisor = value;
    } else if (const double slope = -cx_ * units;
               slope > 0.0 && ray_primal_ <= options_.feasibility * slope / unit_cost() && kappa_ > tau_) {
      now.status = ConicStatus::unbounded;
      divisor = slope;
    }
    const bool ray = now.status == ConicStatus::infeasible || now.status == ConicStatus::unbounded;
    now.x = x_, now.y = y_, now.s = s_, now.z = z_;
    for (std::size_t k = 0; k < x_.size(); ++k) now.x[k] *= scale_.D[k] * scale_.right / divisor;
    for (std::size_t k = 0; k < y_.size(); ++k) now.y[k] *= scale_.E[k] * scale_.cost / divisor;
    for (std::size_t k = 0; k < s_.size(); ++k) {
      now.s[k] *= scale_.right / scale_.F[k] / divisor;
      now.z[k] *= scale_.F[k] * scale_.cost / divisor;
    }
    if (ray) now.objective = now.dual_objective = now.gap = NAN;
    return now;
  }
  double unit_right() const { return std::max(1.0, size_right_); }
  double unit_cost() const { return std::max(1.0, size_cost_); }

  // The direction for residuals times (1 - sigma) and complementarity to `target`.
  void direction(double sigma, double target_tau, Direction& d) {
    const double keep = 1.0 - sigma;
    cones_.divide(lambda_.data(), target_.data(), complement_.data());
    for (std::size_t k = 0; k < rx_.size(); ++k) d.x[k] = -keep * rx_[k];
    for (std::size_t k = 0; k < ry_.size(); ++k) d.y[k] = -keep * ry_[k];
    for (std::size_t k = 0; k < rz_.size(); ++k) r_[k] = -keep * rz_[k], rho_[k] = -complement_[k];
    kkt_.solve(d.x, d.y, r_, rho_, d.z, scaled_z_);
    // c'x + b'y + h'z by the residuals, which are small where the products are not.
    double product = dot(lambda_, complement_);
    for (std::size_t k = 0; k < rx_.size(); ++k) product += rx_[k] * (d.x[k] - keep * x_[k]);
    for (std::size_t k = 0; k < ry_.size(); ++k) product += ry_[k] * (keep * y_[k] - d.y[k]);
    for (std::size_t k = 0; k < rz_.size(); ++k) product += rz_[k] * (keep * z_[k] - d.z[k]);
    d.tau = (-keep * rt_ - target_tau / tau_ - product / tau_) / curvature_;
    d.kappa = (target_tau - kappa_ * d.tau) / tau_;
    add(d.tau, constant_.x, d.x);
    add(d.tau, constant_.y, d.y);
    add(d.tau, constant_.z, d.z);
    // In the scale of the cones W'^{-1} s = lambda \ target - W z; s itself from the equality, which then
    // holds to rounding.
    add(d.tau, constant_scaled_z_, scaled_z_);
    for (std::size_t k = 0; k < rz_.size(); ++k) {
      scaled_s_[k] = complement_[k] - scaled_z_[k];
      d.s[k] = d.tau * h_[k] - keep * rz_[k];
    }
    G_.add_product(-1.0, d.x.data(), d.s.data());
  }

  // The direction of (-c, b, h): nearly the iterate itself, so only what it lacks is solved for.
  void constant_direction() {
    for (std::size_t k = 0; k < rx_.size(); ++k) constant_.x[k] = -rx_[k] / tau_;
    for (std::size_t k = 0; k < ry_.size(); ++k) constant_.y[k] = -ry_[k] / tau_;
    for (std::size_t k = 0; k < rz_.size(); ++k) r_[k] = -rz_[k] / tau_, rho_[k] = 2.0 * lambda_[k] / tau_;
    kkt_.solve(constant_.x, constant_.y, r_, rho_, constant_.z, constant_scaled_z_);
    add(1.0 / tau_, x_, constant_.x);
    add(1.0 / tau_, y_, constant_.y);
    add(1.0 / tau_, z_, constant_.z);
    add(1.0 / tau_, lambda_, constant_scaled_z_);
    curvature_ =
        -kappa_ / tau_ - dot(constant_scaled_z_, constant_scaled_z_);  // -kappa/tau + c'x + b'y + h'z
  }

  double longest(const Direction& d) {
    double alpha = cones_.longest_step(lambda_.data(), scaled_s_.data(), 1.0 / fraction);
    alpha = cones_.longest_step(lambda_.data(), scaled_z_.data(), alpha);
    if (d.tau < 0.0) alpha = std::min(alpha, -tau_ / d.tau);
    if (d.kappa < 0.0) alpha = std::min(alpha, -kappa_ / d.kappa);
    return alpha;
  }

  bool step() {
    if (!cones_.scale(s_.data(), z_.data(), lambda_.data())) return false;
    kkt_.factor();
    constant_direction();
    cones_.product(lambda_.data(), lambda_.data(), square_.data());
    for (std::size_t k = 0; k < target_.size(); ++k) target_[k] = -square_[k];
    direction(0.0, -tau_ * kappa_, predictor_);
    const double reach = std::min(1.0, longest(predictor_));
    const double sigma = std::pow(1.0 - reach, 3);

    cones_.product(scaled_s_.data(), scaled_z_.data(), work_.data());
    for (std::size_t k = 0; k < target_.size(); ++k) target_[k] = -square_[k] - work_[k];
    cones_.add_identity(sigma * mu_, target_.data());
    direction(sigma, -tau_ * kappa_ - predictor_.tau * predictor_.kappa + sigma * mu_, corrector_);
    const double alpha = std::min(1.0, fraction * longest(corrector_));
    if (!(alpha > 1e-7)) return false;  // NaN too
    add(alpha, corrector_.x, x_);
    add(alpha, corrector_.y, y_);
    add(alpha, corrector_.z, z_);
    add(alpha, corrector_.s, s_);
    tau_ += alpha * corrector_.tau;
    kappa_ += alpha * corrector_.kappa;
    return true;
  }

  ConicOptions options_;
  ConeProduct cones_;
  SparseMatrix A_, G_;
  Vector c_, b_, h_;
  Equilibrium scale_;
  KktSystem kkt_;
  double size_right_ = 0.0, size_cost_ = 0.0;

  Vector x_, y_, z_, s_, lambda_, square_, target_, work_, scaled_s_, scaled_z_, constant_scaled_z_,
      complement_, r_, rho_;
  double tau_ = 1.0, kappa_ = 1.0, mu_ = 1.0, curvature_ = -1.0;
  Vector rx_, ry_, rz_;
  double rt_ = 0.0, cx_ = 0.0, by_ = 0.0, hz_ = 0.0, ray_primal_ = 0.0, ray_dual_ = 0.0, relative_gap_ = 0.0;
  Direction constant_, predictor_, corrector_;
};

}  // namespace

std::string to_string(ConicStatus status) {
  switch (status) {
    case ConicStatus::solved:
      return "solved";
    case ConicStatus::infeasible:
      return "infeasible";
    case ConicStatus::unbounded:
      return "unbounded";
    case ConicStatus::stalled:
      return "stalled";
    case ConicStatus::iteration_limit:
      return "iteration limit";
  }
  return "";
}

std::string ConicSolution::brief() const {
  return fmt::format("{}: objective {:.9g}, gap {:.2g}, residuals {:.2g} and {:.2g}, {} iterations",
                     to_string(status), objective, gap, primal_residual, dual_residual, iterations);
}

ConicSolution solve(const ConicProblem& problem, const ConicOptions& options) {
  assert(static_cast<std::int32_t>(problem.c.size()) == problem.variables);
  assert(static_cast<std::int32_t>(problem.h.size()) ==
         ConeProduct(problem.nonnegative, problem.second_order, problem.semidefinite).rows());
  const Substitution substitution(problem);
  ConicSolution found = Solver(substitution.reduced(), options).run();
  const bool ray = found.status == ConicStatus::infeasible || found.status == ConicStatus::unbounded;
  const double reduced = found.objective;
  substitution.restore(found);
  if (!ray) {  // what was put into c
    const double shift = dot(problem.c, found.x) - reduced;
    found.objective += shift;
    found.dual_objective += shift;
  }
  return found;
}

}  // namespace tellegen
