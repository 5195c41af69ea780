#include "tellegen/conic/kkt.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

constexpr double regularisation = 1e-10;  // of entries of order one: conic.cpp scales the problem
constexpr int most_refinements = 4;

double largest(const std::vector<double>& v) {
  double size = 0.0;
  for (const double x : v) size = std::max(size, std::abs(x));
  return size;
}

}  // namespace

SparseMatrix::SparseMatrix(std::int32_t row_count, std::int32_t column_count,
                           const std::vector<SparseEntry>& entries)
    : rows(row_count), columns(column_count), row_start(row_count + 1, 0) {
  for (const SparseEntry& entry : entries) ++row_start[entry.row + 1];
  for (std::int32_t k = 0; k < rows; ++k) row_start[k + 1] += row_start[k];
  column.resize(entries.size());
  value.resize(entries.size());
  std::vector<std::int64_t> next(row_start.begin(), row_start.end() - 1);
  for (const SparseEntry& entry : entries) {
    const std::int64_t at = next[entry.row]++;
    column[at] = entry.column;
    value[at] = entry.value;
  }
}

void SparseMatrix::add_product(double factor, const double* x, double* y) const {
  for (std::int32_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (std::int64_t p = row_start[i]; p < row_start[i + 1]; ++p) sum += value[p] * x[column[p]];
    y[i] += factor * sum;
  }
}

void SparseMatrix::add_transposed_product(double factor, const double* x, double* y) const {
  for (std::int32_t i = 0; i < rows; ++i) {
    const double scaled = factor * x[i];
    for (std::int64_t p = row_start[i]; p < row_start[i + 1]; ++p) y[column[p]] += value[p] * scaled;
  }
}

KktSystem::KktSystem(const SparseMatrix& A, const SparseMatrix& G, ConeProduct& cones)
    : A_(A), G_(G), cones_(cones) {
  const std::int32_t n = G.columns, m = A.rows;
  PatternBuilder builder(n + m);
  for (std::int32_t k = 0; k < n + m; ++k) diagonal_.push_back(builder.add(k, k));
  for (std::int32_t i = 0; i < m; ++i)
    for (std::int64_t p = A.row_start[i]; p < A.row_start[i + 1]; ++p)
      A_position_.push_back(builder.add(A.column[p], n + i));
  std::vector<std::int32_t> columns;
  std::size_t widest = 0;
  for (const Cone& cone : cones.cones()) {
    columns.clear();
    const std::int64_t first = G.row_start[cone.first], last = G.row_start[cone.first + cone.rows];
    columns.assign(G.column.begin() + first, G.column.begin() + last);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    blocks_.push_back({static_cast<std::int64_t>(entries_.size()),
                       static_cast<std::int64_t>(position_.size()),
                       static_cast<std::int32_t>(columns.size())});
    for (int r = 0; r < cone.rows; ++r)
      for (std::int64_t p = G.row_start[cone.first + r]; p < G.row_start[cone.first + r + 1]; ++p) {
        const auto at = std::lower_bound(columns.begin(), columns.end(), G.column[p]);
        entries_.push_back({r, static_cast<std::int32_t>(at - columns.begin()), G.value[p]});
      }
    for (std::size_t b = 0; b < columns.size(); ++b)
      for (std::size_t a = 0; a <= b; ++a) position_.push_back(builder.add(columns[a], columns[b]));
    widest = std::max(widest, columns.size());
  }
  blocks_.push_back(
      {static_cast<std::int64_t>(entries_.size()), static_cast<std::int64_t>(position_.size()), 0});
  SparsePattern pattern = builder.build();
  for (std::vector<std::int32_t>* places : {&diagonal_, &A_position_, &position_})
    for (std::int32_t& place : *places) place = builder.position(place);
  values_.resize(pattern.nonzeros());
  std::vector<signed char> signs(n + m, 1);
  std::fill(signs.begin() + n, signs.end(), -1);
  ldl_ = std::make_unique<SparseLdl>(std::move(pattern), std::move(signs));
  square_.resize(cones.most_rows() * cones.most_rows());
  scaled_.resize(cones.most_rows() * widest);
  product_.resize(widest * widest);
  condensed_.resize(n + m);
  cone_work_.resize(cones.rows());
  for (std::vector<double>* v : {&px_, &rx_, &dx_}) v->resize(n);
  for (std::vector<double>* v : {&py_, &ry_, &dy_}) v->resize(m);
  for (std::vector<double>* v : {&pz_, &rz_, &dz_, &wz_}) v->resize(cones.rows());
}

void KktSystem::factor() {
  const std::int32_t n = G_.columns, m = A_.rows;
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::int32_t k = 0; k < n; ++k) values_[diagonal_[k]] = regularisation;
  for (std::int32_t k = n; k < n + m; ++k) values_[diagonal_[k]] = -regularisation;
  for (std::size_t p = 0; p < A_position_.size(); ++p) values_[A_position_[p]] += A_.value[p];
  const std::vector<Cone>& cones = cones_.cones();
  for (std::size_t k = 0; k < cones.size(); ++k) {
    const Block &block = blocks_[k], &next = blocks_[k + 1];
    const int rows = cones[k].rows, width = block.columns;
    cones_.inverse_square(cones[k], square_.data());
    double *scaled = scaled_.data(), *product = product_.data();
    std::fill(scaled, scaled + rows * width, 0.0);
    std::fill(product, product + width * width, 0.0);
    for (std::int64_t e = block.entries; e < next.entries; ++e) {  // (W'W)^{-1} G, by columns
      const Entry& entry = entries_[e];
      for (int r = 0; r < rows; ++r)
        scaled[entry.column * rows + r] += square_[entry.row * rows + r] * entry.value;
    }
    for (std::int64_t e = block.entries; e < next.entries; ++e) {
      const Entry& entry = entries_[e];
      for (int b = entry.column; b < width; ++b)
        product[b * width + entry.column] += entry.value * scaled[b * rows + entry.row];
    }
    const std::int32_t* place = position_.data() + block.positions;
    for (int b = 0; b < width; ++b)
      for (int a = 0; a <= b; ++a) values_[*place++] += product[b * width + a];
  }
  ldl_->factor(values_, regularisation);
}

void KktSystem::solve_condensed(const double* p, const double* q, const double* r, double* x, double* y,
                                double* z) {
  const std::int32_t n = G_.columns, m = A_.rows;
  cones_.apply_inverse_square(r, cone_work_.data());
  std::copy(p, p + n, condensed_.begin());
  std::copy(q, q + m, condensed_.begin() + n);
  G_.add_transposed_product(1.0, cone_work_.data(), condensed_.data());
  ldl_->solve(condensed_.data());
  std::copy(condensed_.begin(), condensed_.begin() + n, x);
  std::copy(condensed_.begin() + n, condensed_.end(), y);
  for (std::int32_t k = 0; k < cones_.rows(); ++k) cone_work_[k] = -r[k];
  G_.add_product(1.0, x, cone_work_.data());
  cones_.apply_inverse_square(cone_work_.data(), z);
}

void KktSystem::solve(std::vector<double>& x, std::vector<double>& y, std::vector<double>& z) {
  px_ = x, py_ = y, pz_ = z;
  solve_condensed(px_.data(), py_.data(), pz_.data(), x.data(), y.data(), z.data());
  const double size = 1.0 + std::max({largest(px_), largest(py_), largest(pz_)});
  double before = INFINITY;
  for (int refinement = 0; refinement <= most_refinements; ++refinement) {
    rx_ = px_, ry_ = py_, rz_ = pz_;
    A_.add_transposed_product(-1.0, y.data(), rx_.data());
    G_.add_transposed_product(-1.0, z.data(), rx_.data());
    A_.add_product(-1.0, x.data(), ry_.data());
    G_.add_product(-1.0, x.data(), rz_.data());
    cones_.apply(z.data(), wz_.data());
    cones_.apply_transposed(wz_.data(), cone_work_.data());
    for (std::int32_t k = 0; k < cones_.rows(); ++k) rz_[k] += cone_work_[k];
    const double residual = std::max({largest(rx_), largest(ry_), largest(rz_)});
    if (residual > before) {  // worse: back to the one before
      for (std::size_t k = 0; k < x.size(); ++k) x[k] -= dx_[k];
      for (std::size_t k = 0; k < y.size(); ++k) y[k] -= dy_[k];
      for (std::size_t k = 0; k < z.size(); ++k) z[k] -= dz_[k];
      break;
    }
    if (residual <= 1e-13 * size || residual > 0.5 * before || refinement == most_refinements) break;
    before = residual;
    solve_condensed(rx_.data(), ry_.data(), rz_.data(), dx_.data(), dy_.data(), dz_.data());
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += dx_[k];
    for (std::size_t k = 0; k < y.size(); ++k) y[k] += dy_[k];
    for (std::size_t k = 0; k < z.size(); ++k) z[k] += dz_[k];
  }
}

}  // namespace tellegen
