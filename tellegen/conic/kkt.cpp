#include "tellegen/conic/kkt.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

constexpr double regularisation = 1e-10;  // of entries of order one: conic.cpp scales the problem
constexpr int most_refinements = 6;
constexpr double relative_accuracy = 1e-10;

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
  conic_.assign(n, 0);
  for (const std::int32_t column : G.column) conic_[column] = 1;
  square_.resize(cones.most_rows() * cones.most_rows());
  scaled_.resize(cones.most_rows() * widest);
  product_.resize(widest * widest);
  residual_.resize(n + m);
  step_.resize(n + m);
  for (std::vector<double>* v : {&work_, &cone_step_}) v->resize(cones.rows());
}

void KktSystem::factor() {
  const std::int32_t n = G_.columns, m = A_.rows;
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::int32_t k = 0; k < n; ++k) values_[diagonal_[k]] = conic_[k] ? 0.0 : regularisation;
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
  for (std::int32_t k = 0; k < n; ++k)
    if (conic_[k]) values_[diagonal_[k]] += 1e-13 * values_[diagonal_[k]] + 1e-20;
  ldl_->factor(values_, 1e-20);
}

void KktSystem::solve(std::vector<double>& x, std::vector<double>& y, const std::vector<double>& r,
                      const std::vector<double>& rho, std::vector<double>& z, std::vector<double>& scaled_z) {
  const std::int32_t n = G_.columns, m = A_.rows, rows = cones_.rows();
  p_ = x, q_ = y;
  std::fill(x.begin(), x.end(), 0.0);
  std::fill(y.begin(), y.end(), 0.0);
  cones_.apply_inverse_transposed(r.data(), scaled_z.data());
  for (std::int32_t k = 0; k < rows; ++k) scaled_z[k] = -scaled_z[k] - rho[k];
  double before = INFINITY, negligible = 0.0;
  for (int refinement = 0;; ++refinement) {
    // The third row holds by the making of W z; what is left of the first two.
    cones_.apply_inverse(scaled_z.data(), z.data());
    std::copy(p_.begin(), p_.end(), residual_.begin());
    std::copy(q_.begin(), q_.end(), residual_.begin() + n);
    G_.add_transposed_product(-1.0, z.data(), residual_.data());
    if (refinement > 0) {
      A_.add_product(-1.0, x.data(), residual_.data() + n);
      A_.add_transposed_product(-1.0, y.data(), residual_.data());
    }
    const double size = largest(residual_);
    if (refinement == 0) negligible = relative_accuracy * size;
    if (size > before) {  // without the last step, then
      for (std::int32_t k = 0; k < n; ++k) x[k] -= step_[k];
      for (std::int32_t k = 0; k < m; ++k) y[k] -= step_[n + k];
      for (std::int32_t k = 0; k < rows; ++k) scaled_z[k] -= cone_step_[k];
      cones_.apply_inverse(scaled_z.data(), z.data());
      break;
    }
    if (size > 0.1 * before || size <= negligible || refinement > most_refinements) break;
    if (refinement > 0) before = size;
    step_ = residual_;
    ldl_->solve(step_.data());
    for (std::int32_t k = 0; k < n; ++k) x[k] += step_[k];
    for (std::int32_t k = 0; k < m; ++k) y[k] += step_[n + k];
    std::fill(work_.begin(), work_.end(), 0.0);
    G_.add_product(1.0, step_.data(), work_.data());
    cones_.apply_inverse_transposed(work_.data(), cone_step_.data());
    for (std::int32_t k = 0; k < rows; ++k) scaled_z[k] += cone_step_[k];
  }
}

}  // namespace tellegen
