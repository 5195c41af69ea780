#include "tellegen/conic/substitution.h"

#include <algorithm>
#include <cmath>

#include "tellegen/conic/kkt.h"

namespace tellegen {

constexpr double smallest_pivot = 1e-3;  // of the largest entry of its row

Substitution::Substitution(const ConicProblem& problem) : problem_(problem) {
  const auto rows = static_cast<std::int32_t>(problem.b.size());
  const SparseMatrix A(rows, problem.variables, problem.A);
  std::vector<std::int32_t> uses(problem.variables, 0), in_cones(problem.variables, 0);
  for (const SparseEntry& entry : problem.A) ++uses[entry.column];
  for (const SparseEntry& entry : problem.G) ++in_cones[entry.column];

  // Of the candidates of a row the one that stands in the fewest places.
  std::vector<std::int32_t> pivot_of(problem.variables, -1);
  for (std::int32_t i = 0; i < rows; ++i) {
    double largest = 0.0;
    for (std::int64_t p = A.row_start[i]; p < A.row_start[i + 1]; ++p)
      largest = std::max(largest, std::abs(A.value[p]));
    std::int64_t best = -1;
    for (std::int64_t p = A.row_start[i]; p < A.row_start[i + 1]; ++p)
      if (uses[A.column[p]] == 1 && std::abs(A.value[p]) > smallest_pivot * largest &&
          (best < 0 || in_cones[A.column[p]] < in_cones[A.column[best]]))
        best = p;
    if (best < 0) {
      row_.push_back(i);
      continue;
    }
    pivot_of[A.column[best]] = static_cast<std::int32_t>(pivots_.size());
    pivots_.push_back({i, A.column[best], A.value[best]});
  }
  std::vector<std::int32_t> number(problem.variables, -1);
  for (std::int32_t k = 0; k < problem.variables; ++k)
    if (pivot_of[k] < 0) {
      number[k] = static_cast<std::int32_t>(variable_.size());
      variable_.push_back(k);
    }

  ConicProblem& to = reduced_;
  to.variables = static_cast<std::int32_t>(variable_.size());
  to.nonnegative = problem.nonnegative;
  to.second_order = problem.second_order;
  to.semidefinite = problem.semidefinite;
  for (const std::int32_t k : variable_) to.c.push_back(problem.c[k]);
  for (const Pivot& pivot : pivots_)
    for (std::int64_t p = A.row_start[pivot.row]; p < A.row_start[pivot.row + 1]; ++p)
      if (A.column[p] != pivot.column)
        to.c[number[A.column[p]]] -= problem.c[pivot.column] * A.value[p] / pivot.value;
  for (std::size_t k = 0; k < row_.size(); ++k) {
    to.b.push_back(problem.b[row_[k]]);
    for (std::int64_t p = A.row_start[row_[k]]; p < A.row_start[row_[k] + 1]; ++p)
      to.A.push_back({static_cast<std::int32_t>(k), number[A.column[p]], A.value[p]});
  }
  to.h = problem.h;
  const SparseMatrix G(static_cast<std::int32_t>(problem.h.size()), problem.variables, problem.G);
  std::vector<SparseEntry> row;
  for (std::int32_t i = 0; i < G.rows; ++i) {
    row.clear();
    for (std::int64_t q = G.row_start[i]; q < G.row_start[i + 1]; ++q) {
      if (const std::int32_t found = pivot_of[G.column[q]]; found >= 0) {
        const Pivot& pivot = pivots_[found];
        const double factor = G.value[q] / pivot.value;
        to.h[i] -= factor * problem.b[pivot.row];
        for (std::int64_t p = A.row_start[pivot.row]; p < A.row_start[pivot.row + 1]; ++p)
          if (A.column[p] != pivot.column) row.push_back({i, number[A.column[p]], -factor * A.value[p]});
      } else {
        row.push_back({i, number[G.column[q]], G.value[q]});
      }
    }
    std::sort(row.begin(), row.end(),
              [](const SparseEntry& a, const SparseEntry& b) { return a.column < b.column; });
    for (std::size_t k = 0; k < row.size();) {
      SparseEntry sum = row[k++];
      for (; k < row.size() && row[k].column == sum.column; ++k) sum.value += row[k].value;
      if (sum.value != 0.0) to.G.push_back(sum);
    }
  }
}

void Substitution::restore(ConicSolution& solution) const {
  const bool infeasible = solution.status == ConicStatus::infeasible;
  const bool unbounded = solution.status == ConicStatus::unbounded;
  std::vector<double> x(problem_.variables, 0.0), y(problem_.b.size(), 0.0);
  for (std::size_t k = 0; k < variable_.size(); ++k) x[variable_[k]] = solution.x[k];
  for (std::size_t k = 0; k < row_.size(); ++k) y[row_[k]] = solution.y[k];
  std::vector<double> left(problem_.b.size(), 0.0), slope(problem_.variables, 0.0);
  if (!unbounded) left = problem_.b;
  if (!infeasible) slope = problem_.c;
  for (const SparseEntry& entry : problem_.A)
    left[entry.row] -= entry.value * x[entry.column];  // pivots are 0
  for (const SparseEntry& entry : problem_.G) slope[entry.column] += entry.value * solution.z[entry.row];
  for (const Pivot& pivot : pivots_) {
    x[pivot.column] = left[pivot.row] / pivot.value;
    y[pivot.row] = -slope[pivot.column] / pivot.value;
  }
  solution.x = std::move(x);
  solution.y = std::move(y);
}

}  // namespace tellegen
