#include "tellegen/numeric/sparse_ldl.h"

#include <amd.h>

#include <cassert>
#include <cmath>
#include <numeric>

namespace tellegen {

SparseLdl::SparseLdl(SparsePattern upper, std::vector<signed char> signs)
    : size_(upper.size), upper_(std::move(upper)) {
  const std::int32_t n = size_;
  assert(static_cast<std::int32_t>(signs.size()) == n);
  order_.resize(n);
  if (n > 0) amd_order(n, upper_.column_start.data(), upper_.row.data(), order_.data(), nullptr, nullptr);
  std::vector<std::int32_t> place(n);
  signs_.resize(n);
  for (std::int32_t k = 0; k < n; ++k) place[order_[k]] = k, signs_[k] = signs[order_[k]];

  PatternBuilder builder(n);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t p = upper_.column_start[j]; p < upper_.column_start[j + 1]; ++p) {
      const std::int32_t a = place[upper_.row[p]], b = place[j];
      builder.add(std::min(a, b), std::max(a, b));
    }
  permuted_ = builder.build();
  value_at_.resize(upper_.nonzeros());
  for (std::int32_t p = 0; p < upper_.nonzeros(); ++p) value_at_[builder.position(p)] = p;

  // Elimination tree and the entries of each column: every row's entries are the paths from those of the
  // matrix towards the row itself.
  parent_.assign(n, -1);
  count_.assign(n, 0);
  flag_.assign(n, -1);
  for (std::int32_t k = 0; k < n; ++k) {
    flag_[k] = k;
    for (std::int32_t p = permuted_.column_start[k]; p < permuted_.column_start[k + 1]; ++p)
      for (std::int32_t i = permuted_.row[p]; flag_[i] != k; i = parent_[i]) {
        if (parent_[i] < 0) parent_[i] = k;
        ++count_[i];
        flag_[i] = k;
      }
  }
  column_start_.assign(n + 1, 0);
  for (std::int32_t k = 0; k < n; ++k) column_start_[k + 1] = column_start_[k] + count_[k];
  row_.resize(column_start_.back());
  value_.resize(column_start_.back());
  pattern_.resize(n);
  pivot_.resize(n);
  work_.assign(n, 0.0);
}

std::int32_t SparseLdl::factor(std::span<const double> values, double smallest) {
  const std::int32_t n = size_;
  std::int32_t replaced = 0;
  std::fill(count_.begin(), count_.end(), 0);
  std::fill(flag_.begin(), flag_.end(), -1);
  std::fill(work_.begin(), work_.end(), 0.0);
  for (std::int32_t k = 0; k < n; ++k) {
    std::int32_t top = n;
    flag_[k] = k;
    for (std::int32_t p = permuted_.column_start[k]; p < permuted_.column_start[k + 1]; ++p) {
      std::int32_t i = permuted_.row[p], length = 0;
      work_[i] += values[value_at_[p]];
      for (; flag_[i] != k; i = parent_[i]) {
        pattern_[length++] = i;
        flag_[i] = k;
      }
      while (length > 0) pattern_[--top] = pattern_[--length];
    }
    double pivot = work_[k];
    work_[k] = 0.0;
    for (; top < n; ++top) {
      const std::int32_t i = pattern_[top];
      const double y = work_[i], l = y / pivot_[i];
      work_[i] = 0.0;
      const std::int64_t end = column_start_[i] + count_[i];
      for (std::int64_t p = column_start_[i]; p < end; ++p) work_[row_[p]] -= value_[p] * y;
      pivot -= l * y;
      row_[end] = k;
      value_[end] = l;
      ++count_[i];
    }
    if (!(signs_[k] * pivot > smallest)) {
      pivot = signs_[k] * smallest;
      ++replaced;
    }
    pivot_[k] = pivot;
  }
  return replaced;
}

void SparseLdl::solve(double* b) {
  const std::int32_t n = size_;
  double* const x = work_.data();
  for (std::int32_t k = 0; k < n; ++k) x[k] = b[order_[k]];
  for (std::int32_t k = 0; k < n; ++k)
    for (std::int64_t p = column_start_[k]; p < column_start_[k + 1]; ++p) x[row_[p]] -= value_[p] * x[k];
  for (std::int32_t k = n; k-- > 0;) {
    double sum = x[k] / pivot_[k];
    for (std::int64_t p = column_start_[k]; p < column_start_[k + 1]; ++p) sum -= value_[p] * x[row_[p]];
    x[k] = sum;
  }
  for (std::int32_t k = 0; k < n; ++k) b[order_[k]] = x[k];
}

}  // namespace tellegen
