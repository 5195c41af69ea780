#include "tellegen/numeric/row_solver.h"

namespace tellegen {
namespace {

struct Entry {
  std::int32_t index;
  double value;
};

// Columns to rows.
std::vector<std::vector<Entry>> by_rows(const SparsePattern& p, const std::vector<double>& values) {
  std::vector<std::vector<Entry>> rows(p.size);
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k) rows[p.row[k]].push_back({c, values[k]});
  return rows;
}

}  // namespace

RowSolver::RowSolver(const SparseLu& lu, std::span<const RowSource> sources) : size_(lu.pattern().size) {
  const SparseLu::Factors f = lu.factors();
  block_start_ = f.block_start;
  const auto lower = by_rows(f.lower, f.lower_values);
  const auto upper = by_rows(f.upper, f.upper_values);
  const auto off = by_rows(f.off_diagonal, f.off_diagonal_values);
  std::vector<std::int32_t> position(size_);  // original row -> factorised row
  for (std::int32_t i = 0; i < size_; ++i) position[f.row_order[i]] = i;
  std::vector<std::vector<Entry>> rhs(size_);
  for (const RowSource& s : sources)
    if (s.row >= 0) rhs[position[s.row]].push_back({s.source, s.factor});

  // y_i = b_i - sum F_ij s_i x_j - sum L_ij (s_i / s_j) y_j   with y scaled by the row's scale s_i, so that b needs none
  // x_i = y_i / (s_i U_ii) - sum (U_ij / U_ii) x_j
  forward_start_.push_back(0);
  backward_start_.push_back(0);
  for (std::int32_t i = 0; i < size_; ++i) {
    const double scale = f.row_scale[i];
    for (const Entry& e : rhs[i]) {
      forward_index_.push_back(size_ + e.index);
      forward_value_.push_back(e.value);
    }
    for (const Entry& e : off[i]) {
      forward_index_.push_back(e.index);
      forward_value_.push_back(-e.value * scale);
    }
    for (const Entry& e : lower[i])
      if (e.index != i) {
        forward_index_.push_back(e.index);
        forward_value_.push_back(-e.value * scale / f.row_scale[e.index]);
      }
    forward_start_.push_back(static_cast<std::int32_t>(forward_index_.size()));
  }
  for (std::int32_t i = 0; i < size_; ++i) {
    double diagonal = 1.0;
    for (const Entry& e : upper[i])
      if (e.index == i) diagonal = e.value;
    for (const Entry& e : upper[i])
      if (e.index != i) {
        backward_index_.push_back(e.index);
        backward_value_.push_back(-e.value / diagonal);
      }
    pivot_.push_back(1.0 / (diagonal * f.row_scale[i]));
    backward_start_.push_back(static_cast<std::int32_t>(backward_index_.size()));
  }
}

void RowSolver::solve(double* __restrict work) const {
  const std::int32_t* __restrict fi = forward_index_.data();
  const double* __restrict fv = forward_value_.data();
  const std::int32_t* __restrict bi = backward_index_.data();
  const double* __restrict bv = backward_value_.data();
  for (auto block = static_cast<std::int32_t>(block_start_.size()) - 2; block >= 0; --block) {
    const std::int32_t begin = block_start_[block], end = block_start_[block + 1];
    std::int32_t k = forward_start_[begin];
    for (std::int32_t i = begin; i < end; ++i) {
      double y = 0.0;
      for (const std::int32_t stop = forward_start_[i + 1]; k < stop; ++k) y += fv[k] * work[fi[k]];
      work[i] = y;
    }
    k = backward_start_[end];
    for (std::int32_t i = end - 1; i >= begin; --i) {
      double x = work[i] * pivot_[i];
      for (const std::int32_t stop = backward_start_[i]; k > stop;) {
        --k;
        x += bv[k] * work[bi[k]];
      }
      work[i] = x;
    }
  }
}

}  // namespace tellegen
