#include "tellegen/numeric/row_solver.h"

#include <algorithm>
#include <numeric>

namespace tellegen {
namespace {

struct Entry {
  std::int32_t index;
  double value;
  std::int32_t at;  // in the factors
};

// Columns to rows.
std::vector<std::vector<Entry>> by_rows(const SparsePattern& p, const std::vector<double>& values) {
  std::vector<std::vector<Entry>> rows(p.size);
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k)
      rows[p.row[k]].push_back({c, values[k], k});
  return rows;
}

}  // namespace

RowSolver::RowSolver(const SparseLu& lu, std::span<const RowSource> sources) : size_(lu.pattern().size) {
  const SparseLu::Factors f = lu.factors();
  const auto lower = by_rows(f.lower, f.lower_values);
  const auto upper = by_rows(f.upper, f.upper_values);
  const auto off = by_rows(f.off_diagonal, f.off_diagonal_values);
  std::vector<std::int32_t> position(size_);  // original row -> factorised row
  for (std::int32_t i = 0; i < size_; ++i) position[f.row_order[i]] = i;
  std::vector<std::vector<Entry>> rhs(size_);
  for (const RowSource& s : sources)
    if (s.row >= 0) rhs[position[s.row]].push_back({s.source, s.factor, -1});

  // y_i = b_i - sum F_ij s_i x_j - sum L_ij (s_i / s_j) y_j   with y scaled by the row's scale s_i, so that b
  // needs none x_i = y_i / (s_i U_ii) - sum (U_ij / U_ii) x_j
  std::vector<std::int32_t> level(size_);
  for (auto block = static_cast<std::int32_t>(f.block_start.size()) - 2; block >= 0; --block) {
    const std::int32_t begin = f.block_start[block], end = f.block_start[block + 1];
    std::vector<std::int32_t> order(end - begin);
    const auto find_level = [&](const std::vector<Entry>& row, std::int32_t i) {
      level[i] = 0;
      for (const Entry& e : row)
        if (e.index != i) level[i] = std::max(level[i], level[e.index] + 1);
    };
    const auto sort = [&](const auto& rows) {
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return level[a] != level[b] ? level[a] < level[b] : rows[a].size() < rows[b].size();
      });
    };
    std::iota(order.begin(), order.end(), begin);
    for (std::int32_t i = begin; i < end; ++i) find_level(lower[i], i);
    sort(lower);
    for (std::int32_t i : order) {
      const double scale = f.row_scale[i];
      for (const Entry& e : rhs[i]) forward_.add(size_ + e.index, e.value, -1);
      for (const Entry& e : off[i]) forward_.add(e.index, -e.value * scale, -2 - e.at);
      for (const Entry& e : lower[i])
        if (e.index != i) forward_.add(e.index, -e.value * scale / f.row_scale[e.index], e.at);
      forward_.finish_row(i);
    }
    forward_.finish_block();
    std::iota(order.rbegin(), order.rend(), begin);
    for (std::int32_t i = end - 1; i >= begin; --i) find_level(upper[i], i);
    sort(upper);
    for (std::int32_t i : order) {
      double diagonal = 1.0;
      for (const Entry& e : upper[i])
        if (e.index == i) diagonal = e.value;
      for (const Entry& e : upper[i])
        if (e.index != i) backward_.add(e.index, -e.value / diagonal, e.at);
      pivot_.push_back(1.0 / (diagonal * f.row_scale[i]));
      backward_.finish_row(i);
    }
    backward_.finish_block();
  }
}

void RowSolver::Pass::finish_row(std::int32_t r) {
  const auto entries = static_cast<std::int32_t>(index.size() - finished);
  finished = index.size();
  row.push_back(r);
  const bool block_begins =
      runs.size() == (block_end.empty() ? 0 : static_cast<std::size_t>(block_end.back()));
  if (block_begins || runs.back().entries != entries) runs.push_back({0, entries});
  ++runs.back().rows;
}

namespace {

// Where a pass stands.
struct PassCursor {
  const std::int32_t* row;
  const std::int32_t* index;
  const double* value;
  const double* pivot;
};

// A run of rows with equally many entries; the number is known to the compiler for the usual ones.
template <bool backward, std::int32_t fixed>
inline void solve_run(std::int32_t rows, std::int32_t entries, PassCursor& at, double* __restrict work) {
  const std::int32_t count = fixed >= 0 ? fixed : entries;
  for (std::int32_t r = 0; r < rows; ++r) {
    const std::int32_t row = *at.row++;
    double sum = backward ? work[row] * *at.pivot++ : 0.0;
#pragma GCC unroll 8
    for (std::int32_t k = 0; k < count; ++k) sum += at.value[k] * work[at.index[k]];
    work[row] = sum;
    at.value += count;
    at.index += count;
  }
}

template <bool backward>
inline void solve_any(std::int32_t rows, std::int32_t entries, PassCursor& at, double* work) {
  switch (entries) {
    case 0:
      return solve_run<backward, 0>(rows, entries, at, work);
    case 1:
      return solve_run<backward, 1>(rows, entries, at, work);
    case 2:
      return solve_run<backward, 2>(rows, entries, at, work);
    case 3:
      return solve_run<backward, 3>(rows, entries, at, work);
    case 4:
      return solve_run<backward, 4>(rows, entries, at, work);
    case 5:
      return solve_run<backward, 5>(rows, entries, at, work);
    default:
      return solve_run<backward, -1>(rows, entries, at, work);
  }
}

}  // namespace

void RowSolver::solve(double* work) const {
  PassCursor down{forward_.row.data(), forward_.index.data(), forward_.value.data(), nullptr};
  PassCursor up{backward_.row.data(), backward_.index.data(), backward_.value.data(), pivot_.data()};
  std::int32_t f = 0, b = 0;
  for (std::size_t block = 0; block < forward_.block_end.size(); ++block) {
    for (; f < forward_.block_end[block]; ++f)
      solve_any<false>(forward_.runs[f].rows, forward_.runs[f].entries, down, work);
    for (; b < backward_.block_end[block]; ++b)
      solve_any<true>(backward_.runs[b].rows, backward_.runs[b].entries, up, work);
  }
}

}  // namespace tellegen
