#include "tellegen/numeric/sparse_lu.h"

#include <btf.h>
#include <klu.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "tellegen/numeric/ordering.h"

namespace tellegen {
namespace {

// KLU asks for the order of each of its blocks.
int order_block(int n, int* column_start, int* row, int* order, klu_common*) {
  const auto permutation = elimination_order(n, column_start, row);
  std::copy(permutation.begin(), permutation.end(), order);
  return 1;  // more than zero: done; KLU counts the fill itself
}

}  // namespace

std::int32_t PatternBuilder::add(std::int32_t row, std::int32_t column) {
  row_.push_back(row);
  column_.push_back(column);
  return static_cast<std::int32_t>(row_.size()) - 1;
}

SparsePattern PatternBuilder::build() {
  // Two counting sorts (by row, then stably by column), then merge equal neighbours.
  const auto entries = row_.size();
  std::vector<std::int32_t> order, sorted(entries);
  order.reserve(entries);
  for (std::size_t k = 0; k < entries; ++k)
    if (row_[k] >= 0 && column_[k] >= 0) order.push_back(static_cast<std::int32_t>(k));
  sorted.resize(order.size());
  const auto sort_by = [&](const std::vector<std::int32_t>& key) {
    std::vector<std::int32_t> start(size_ + 1, 0);
    for (std::int32_t k : order) ++start[key[k] + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    for (std::int32_t k : order) sorted[start[key[k]]++] = k;
    order.swap(sorted);
  };
  sort_by(row_);
  sort_by(column_);
  SparsePattern pattern;
  pattern.size = size_;
  pattern.column_start.assign(size_ + 1, 0);
  position_.assign(entries, -1);
  std::int32_t last_row = -1, last_column = -1;
  for (std::int32_t k : order) {
    if (row_[k] != last_row || column_[k] != last_column) {
      last_row = row_[k], last_column = column_[k];
      pattern.row.push_back(last_row);
      ++pattern.column_start[last_column + 1];
    }
    position_[k] = pattern.nonzeros() - 1;
  }
  std::partial_sum(pattern.column_start.begin(), pattern.column_start.end(), pattern.column_start.begin());
  return pattern;
}

Unmatched unmatched(const SparsePattern& pattern) {
  const std::int32_t n = pattern.size;
  std::vector<int> match(n), work(5 * static_cast<std::size_t>(n));
  double spent = 0.0;
  btf_maxtrans(n, n, const_cast<int*>(pattern.column_start.data()), const_cast<int*>(pattern.row.data()), 0.0,
               &spent, match.data(), work.data());
  Unmatched result;  // match[row] is its column
  std::vector<char> has_row(n, 0);
  for (std::int32_t r = 0; r < n; ++r) {
    if (match[r] >= 0)
      has_row[match[r]] = 1;
    else
      result.rows.push_back(r);
  }
  for (std::int32_t c = 0; c < n; ++c)
    if (!has_row[c]) result.columns.push_back(c);
  return result;
}

struct SparseLu::State {
  klu_common common{};
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;
};

SparseLu::SparseLu(SparsePattern pattern) : pattern_(std::move(pattern)), state_(std::make_unique<State>()) {
  klu_defaults(&state_->common);
  state_->common.scale = 2;  // by the largest entry of the row: balances are amperes, sources are volts
  state_->common.ordering = 3;
  state_->common.user_order = order_block;
  state_->symbolic =
      klu_analyze(pattern_.size, pattern_.column_start.data(), pattern_.row.data(), &state_->common);
}

SparseLu::~SparseLu() {
  klu_free_numeric(&state_->numeric, &state_->common);
  klu_free_symbolic(&state_->symbolic, &state_->common);
}

bool SparseLu::structurally_singular() const {
  return pattern_.size > 0 && (!state_->symbolic || state_->symbolic->structural_rank < pattern_.size);
}

bool SparseLu::factor(std::span<const double> values) {
  assert(static_cast<std::int32_t>(values.size()) == pattern_.nonzeros());
  if (pattern_.size == 0) return true;
  klu_free_numeric(&state_->numeric, &state_->common);
  if (!state_->symbolic) return false;
  pivot_values_.assign(values.begin(), values.end());
  refactored_ = false;
  ++choices_;
  state_->numeric = klu_factor(pattern_.column_start.data(), pattern_.row.data(),
                               const_cast<double*>(values.data()), state_->symbolic, &state_->common);
  return state_->numeric && state_->common.status == KLU_OK;
}

bool SparseLu::refactor(std::span<const double> values) {
  if (!state_->numeric) return factor(values);
  auto* start = pattern_.column_start.data();
  auto* row = pattern_.row.data();
  auto* value = const_cast<double*>(values.data());
  klu_common& common = state_->common;
  // klu_refactor does not look at the pivots of blocks of one row; klu_rcond does.
  const bool good = klu_refactor(start, row, value, state_->symbolic, state_->numeric, &common) &&
                    common.status == KLU_OK && klu_rcond(state_->symbolic, state_->numeric, &common) &&
                    common.rcond > 0.0;
  // Entries of a junction change by twenty orders of magnitude: pivots that have become small are chosen
  // anew.
  if (good && klu_rgrowth(start, row, value, state_->symbolic, state_->numeric, &common) &&
      common.rgrowth > 1e-8) {
    refactored_ = true;
    return true;
  }
  return factor(values);
}

void SparseLu::solve(double* b) const {
  klu_solve(state_->symbolic, state_->numeric, pattern_.size, 1, b, &state_->common);
}

void SparseLu::solve_transposed(double* b) const {
  klu_tsolve(state_->symbolic, state_->numeric, pattern_.size, 1, b, &state_->common);
}

void SparseLu::solve_columns(double* b, int columns) const {
  klu_solve(state_->symbolic, state_->numeric, pattern_.size, columns, b, &state_->common);
}

std::int32_t SparseLu::singular_column() const {
  const auto column = state_->common.singular_col;
  return column >= 0 && column < pattern_.size ? column : -1;
}

double SparseLu::reciprocal_condition() const {
  klu_rcond(state_->symbolic, state_->numeric, &state_->common);
  return state_->common.rcond;
}

std::vector<std::int32_t> SparseLu::column_order() const {
  if (pattern_.size == 0) return {};
  return {state_->symbolic->Q, state_->symbolic->Q + pattern_.size};
}

SparseLu::Factors SparseLu::factors() const {
  if (pattern_.size == 0) return {};  // KLU has nothing for it
  const std::int32_t n = pattern_.size;
  const klu_numeric& numeric = *state_->numeric;
  Factors f;
  const auto reserve = [&](SparsePattern& p, std::vector<double>& values, std::int32_t entries) {
    p.size = n;
    p.column_start.assign(n + 1, 0);
    p.row.resize(entries);
    values.resize(entries);
  };
  reserve(f.lower, f.lower_values, numeric.lnz);
  reserve(f.upper, f.upper_values, numeric.unz);
  reserve(f.off_diagonal, f.off_diagonal_values, numeric.nzoff);
  f.row_order.resize(n);
  f.column_order.resize(n);
  f.row_scale.assign(n, 1.0);
  f.block_start.resize(state_->symbolic->nblocks + 1);
  klu_extract(state_->numeric, state_->symbolic, f.lower.column_start.data(), f.lower.row.data(),
              f.lower_values.data(), f.upper.column_start.data(), f.upper.row.data(), f.upper_values.data(),
              f.off_diagonal.column_start.data(), f.off_diagonal.row.data(), f.off_diagonal_values.data(),
              f.row_order.data(), f.column_order.data(), f.row_scale.data(), f.block_start.data(),
              &state_->common);
  return f;
}

}  // namespace tellegen
