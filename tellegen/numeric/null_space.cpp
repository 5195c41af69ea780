#include "tellegen/numeric/null_space.h"

#include <Eigen/SparseCore>
#include <Eigen/SparseQR>
#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

using Matrix = Eigen::SparseMatrix<double>;

// Largest entry of each row and column 1, so that amperes and volts weigh the same.
void equilibrate(Matrix& a, Eigen::VectorXd& row_scale, Eigen::VectorXd& column_scale) {
  row_scale = column_scale = Eigen::VectorXd::Ones(a.rows());
  for (int pass = 0; pass < 2; ++pass) {
    Eigen::VectorXd by_row = Eigen::VectorXd::Zero(a.rows()), by_column = by_row;
    for (int c = 0; c < a.outerSize(); ++c)
      for (Matrix::InnerIterator it(a, c); it; ++it)
        by_row[it.row()] = std::max(by_row[it.row()], std::abs(it.value()));
    for (auto& v : by_row) v = v > 0.0 ? 1.0 / v : 1.0;
    for (int c = 0; c < a.outerSize(); ++c)
      for (Matrix::InnerIterator it(a, c); it; ++it) {
        it.valueRef() *= by_row[it.row()];
        by_column[c] = std::max(by_column[c], std::abs(it.value()));
      }
    for (auto& v : by_column) v = v > 0.0 ? 1.0 / v : 1.0;
    for (int c = 0; c < a.outerSize(); ++c)
      for (Matrix::InnerIterator it(a, c); it; ++it) it.valueRef() *= by_column[c];
    row_scale.array() *= by_row.array();
    column_scale.array() *= by_column.array();
  }
}

// One vector that `a` takes to zero, in its scaled columns; `scale` leads back to the original ones.
std::vector<NullSpace::Part> vanishing(const Matrix& a, const Eigen::VectorXd& scale) {
  Eigen::SparseQR<Matrix, Eigen::COLAMDOrdering<int>> qr;
  qr.setPivotThreshold(1e-11);
  qr.compute(a);
  const auto rank = qr.rank(), n = a.cols();
  if (qr.info() != Eigen::Success || rank == n) return {};
  // R = [R1 r ...]: the first column without a pivot, written in those before it.
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  const Matrix r = qr.matrixR();
  x.head(rank) = -Eigen::VectorXd(r.col(rank)).head(rank);
  const Matrix square = r.topLeftCorner(rank, rank);
  if (rank > 0) x.head(rank) = square.triangularView<Eigen::Upper>().solve(Eigen::VectorXd(x.head(rank)));
  x[rank] = 1.0;
  x = qr.colsPermutation() * x;
  const double largest = x.cwiseAbs().maxCoeff();
  std::vector<NullSpace::Part> parts;
  for (int i = 0; i < n; ++i)
    if (std::abs(x[i]) > 1e-7 * largest) parts.push_back({i, x[i] * scale[i]});
  return parts;
}

}  // namespace

NullSpace null_space(const SparsePattern& pattern, std::span<const double> values) {
  Matrix a(pattern.size, pattern.size);
  std::vector<Eigen::Triplet<double>> entries;
  for (std::int32_t c = 0; c < pattern.size; ++c)
    for (std::int32_t k = pattern.column_start[c]; k < pattern.column_start[c + 1]; ++k) {
      if (!std::isfinite(values[k])) return {};
      if (values[k] != 0.0) entries.emplace_back(pattern.row[k], c, values[k]);
    }
  a.setFromTriplets(entries.begin(), entries.end());
  Eigen::VectorXd row_scale, column_scale;
  equilibrate(a, row_scale, column_scale);
  a.makeCompressed();
  Matrix transposed = a.transpose();
  transposed.makeCompressed();
  return {vanishing(a, column_scale), vanishing(transposed, row_scale)};
}

}  // namespace tellegen
