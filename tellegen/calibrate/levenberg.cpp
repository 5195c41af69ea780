#include "tellegen/calibrate/levenberg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double largest_factor = 10.0;
constexpr double least_effect = 1e-6;  // of a variable that changes by its own size, on |r|
constexpr double most_damping = 1e12;
// Of the cost: within 1e-4 standard deviations of the minimum; no closer than rounding of the cost allows.
constexpr double small_gain = 0.5e-8, rounding = 1e-13;
constexpr double settled = 1e-3;  // a step of less than a twentieth of a standard deviation

// The step of Gauss-Newton among free variables, directions that change nothing left out.
Vector undamped_step(const Matrix& normal, const Vector& gradient, const std::vector<int>& free) {
  const auto n = static_cast<Eigen::Index>(free.size());
  Vector scale(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double d = normal(free[i], free[i]);
    scale[i] = d > 0.0 ? 1.0 / std::sqrt(d) : 0.0;
  }
  Matrix a(n, n);
  Vector g(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    g[i] = scale[i] * gradient[free[i]];
    for (Eigen::Index j = 0; j < n; ++j) a(i, j) = scale[i] * normal(free[i], free[j]) * scale[j];
  }
  const SymmetricEigen eigen = symmetric_eigen(a);
  Vector step = Vector::Zero(n);
  for (Eigen::Index k = 0; k < n; ++k)
    if (const double value = eigen.values[k]; value > 1e-10)
      step -= eigen.vectors.col(k) * (eigen.vectors.col(k).dot(g) / value);
  return scale.cwiseProduct(step);
}

}  // namespace

SquaresSearch levenberg_marquardt(const SquaresProblem& problem, Vector start, int most_iterations) {
  const Eigen::Index n = start.size();
  SquaresSearch search;
  search.x = start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  search.at_bound.assign(static_cast<std::size_t>(n), 0);
  search.point = problem.at(search.x);
  search.evaluations = 1;
  if (!search.point.failure.empty()) {
    search.stopped = "the start cannot be run: " + search.point.failure;
    return search;
  }
  search.path.push_back({search.x, search.point.cost, 0.0});
  Vector diagonal = search.point.normal.diagonal();
  double damping = 1e-3, raise = 2.0;
  std::string last_failure;
  while (search.evaluations <= 4 * most_iterations) {
    const SquaresPoint& here = search.point;
    diagonal = diagonal.cwiseMax(here.normal.diagonal());
    std::vector<int> free;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double g = here.gradient[i];
      const bool held =
          (search.x[i] <= problem.lower[i] && g > 0.0) || (search.x[i] >= problem.upper[i] && g < 0.0);
      search.at_bound[static_cast<std::size_t>(i)] = held;
      const double effect = std::sqrt(here.normal(i, i)) * std::max(std::abs(search.x[i]), problem.size[i]);
      if (!held && effect > least_effect) free.push_back(static_cast<int>(i));
    }
    const Vector newton = undamped_step(here.normal, here.gradient, free);
    double promised = 0.0;
    for (std::size_t k = 0; k < free.size(); ++k)
      promised -= 0.5 * here.gradient[free[k]] * newton[static_cast<Eigen::Index>(k)];
    if (promised <= std::max(small_gain, rounding * here.cost)) {
      search.converged = true;
      search.stopped = "converged";
      return search;
    }
    if (static_cast<int>(search.path.size()) > most_iterations) break;

    const auto m = static_cast<Eigen::Index>(free.size());
    Matrix a(m, m);
    Vector g(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      g[i] = here.gradient[free[i]];
      for (Eigen::Index j = 0; j < m; ++j) a(i, j) = here.normal(free[i], free[j]);
      const double d = diagonal[free[i]];
      a(i, i) += damping * (d > 0.0 ? d : 1.0);
    }
    const Vector step = solve_symmetric(a, -g);
    Vector next = search.x;
    for (Eigen::Index i = 0; i < m; ++i) {
      const int k = free[i];
      double to = search.x[k] + step[i];
      if (problem.positive[k])
        to = std::clamp(to, search.x[k] / largest_factor, search.x[k] * largest_factor);
      else
        to = std::clamp(to, search.x[k] - problem.longest[k], search.x[k] + problem.longest[k]);
      next[k] = std::clamp(to, problem.lower[k], problem.upper[k]);
    }
    const Vector moved = next - search.x;
    const double expected = -(here.gradient.dot(moved) + 0.5 * moved.dot(here.normal * moved));
    SquaresPoint there = problem.at(next);
    ++search.evaluations;
    const double ratio = (here.cost - there.cost) / expected;
    // A cut step may promise nothing by the model of Gauss-Newton, and still lead down.
    if (there.failure.empty() && there.cost < here.cost && (expected <= 0.0 || ratio > 1e-4)) {
      search.x = next;
      const double length = std::sqrt(std::max(0.0, moved.dot(here.normal * moved)));
      search.point = std::move(there);
      search.path.push_back({search.x, search.point.cost, length});
      const double good = expected > 0.0 ? std::min(ratio, 2.0) : 0.5;
      damping = std::max(1e-15, damping * std::max(1.0 / 3.0, 1.0 - std::pow(2.0 * good - 1.0, 3)));
      if (good > 0.9) damping *= 0.1;
      raise = 2.0;
      continue;
    }
    last_failure = there.failure;
    damping *= raise;
    raise *= 2.0;
    if (damping > most_damping) {
      // Rounding keeps the cost from falling by what is next to nothing in standard deviations.
      search.converged = last_failure.empty() && promised < settled;
      search.stopped = search.converged ? "converged"
                       : last_failure.empty()
                           ? fmt::format("no step leads further down; {:.2g} was promised", promised)
                           : "the runs around the best point fail: " + last_failure;
      return search;
    }
  }
  search.stopped = fmt::format("not converged after {} iterations", search.path.size() - 1);
  return search;
}

}  // namespace tellegen
