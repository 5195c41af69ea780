#include "tellegen/numeric/sparse_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tellegen {
namespace {

// Four numbers as one, in whatever registers the processor has.
typedef double Four __attribute__((vector_size(8 * lanes)));
inline Four load(const double* p) {
  Four v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(double* p, const Four& v) { std::memcpy(p, &v, sizeof v); }

struct Entry {
  std::int32_t index;
  double value;
};
std::vector<std::vector<Entry>> by_rows(const SparsePattern& p, const std::vector<double>& values) {
  std::vector<std::vector<Entry>> rows(p.size);
  for (std::int32_t c = 0; c < p.size; ++c)
    for (std::int32_t k = p.column_start[c]; k < p.column_start[c + 1]; ++k)
      rows[p.row[k]].push_back({c, values[k]});
  return rows;
}

}  // namespace

std::int32_t SparseRows::add(std::int32_t row, std::int32_t column) {
  entry_row_.push_back(row);
  entry_column_.push_back(column);
  return static_cast<std::int32_t>(entry_row_.size()) - 1;
}

void SparseRows::build() {
  const auto entries = entry_row_.size();
  std::vector<std::int32_t> order(entries);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return entry_row_[a] != entry_row_[b] ? entry_row_[a] < entry_row_[b]
                                          : entry_column_[a] < entry_column_[b];
  });
  place_.assign(entries, -1);
  start_.assign(rows_ + 1, 0);
  column_.clear();
  std::int32_t last_row = -1, last_column = -1;
  for (std::int32_t k : order) {
    if (entry_row_[k] < 0 || entry_column_[k] < 0) continue;
    if (entry_row_[k] != last_row || entry_column_[k] != last_column) {
      last_row = entry_row_[k], last_column = entry_column_[k];
      column_.push_back(last_column);
      ++start_[last_row + 1];
    }
    place_[k] = static_cast<std::int32_t>(column_.size()) - 1;
  }
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  value_.assign(column_.size(), 0.0);
}

void SparseRows::add_product(double factor, const double* x, double* y) const {
  for (std::int32_t r = 0; r < rows_; ++r) {
    if (start_[r] == start_[r + 1]) continue;
    Four sum = load(y + lanes * r);
    for (std::int32_t k = start_[r]; k < start_[r + 1]; ++k)
      sum += (factor * value_[k]) * load(x + static_cast<std::ptrdiff_t>(lanes) * column_[k]);
    store(y + lanes * r, sum);
  }
}

void SparseRows::add_transposed(double factor, const double* x, double* y) const {
  for (std::int32_t r = 0; r < rows_; ++r) {
    if (x[r] == 0.0) continue;
    const double scaled = factor * x[r];
    for (std::int32_t k = start_[r]; k < start_[r + 1]; ++k) y[column_[k]] += scaled * value_[k];
  }
}

// As RowSolver: y_i = b_i - sum F_ij s_i x_j - sum L_ij (s_i/s_j) y_j, x_i = y_i/(s_i U_ii) - sum (U_ij/U_ii)
// x_j.
LaneSolver::LaneSolver(const SparseLu& lu) : size_(lu.pattern().size) {
  const SparseLu::Factors f = lu.factors();
  const auto lower = by_rows(f.lower, f.lower_values);
  const auto upper = by_rows(f.upper, f.upper_values);
  const auto off = by_rows(f.off_diagonal, f.off_diagonal_values);
  for (auto block = static_cast<std::int32_t>(f.block_start.size()) - 2; block >= 0; --block) {
    const std::int32_t begin = f.block_start[block], end = f.block_start[block + 1];
    for (std::int32_t i = begin; i < end; ++i) {
      Row row{static_cast<std::int32_t>(forward_index_.size()), 0, f.row_order[i], 1.0};
      for (const Entry& e : off[i]) {
        forward_index_.push_back(e.index);
        forward_value_.push_back(-e.value * f.row_scale[i]);
      }
      for (const Entry& e : lower[i])
        if (e.index != i) {
          forward_index_.push_back(e.index);
          forward_value_.push_back(-e.value * f.row_scale[i] / f.row_scale[e.index]);
        }
      row.to = static_cast<std::int32_t>(forward_index_.size());
      forward_.push_back(row);
    }
    for (std::int32_t i = end - 1; i >= begin; --i) {
      double diagonal = 1.0;
      for (const Entry& e : upper[i])
        if (e.index == i) diagonal = e.value;
      Row row{static_cast<std::int32_t>(backward_index_.size()), 0, f.column_order[i],
              1.0 / (diagonal * f.row_scale[i])};
      for (const Entry& e : upper[i])
        if (e.index != i) {
          backward_index_.push_back(e.index);
          backward_value_.push_back(-e.value / diagonal);
        }
      row.to = static_cast<std::int32_t>(backward_index_.size());
      backward_.push_back(row);
    }
    block_end_.push_back(static_cast<std::int32_t>(forward_.size()));
  }
  block_begin_.reserve(block_end_.size());
  for (auto block = static_cast<std::int32_t>(f.block_start.size()) - 2; block >= 0; --block)
    block_begin_.push_back(f.block_start[block]);
  work_.resize(static_cast<std::size_t>(lanes) * size_);
}

void LaneSolver::solve(const double* b, double* x) {
  std::int32_t done = 0;
  for (std::size_t block = 0; block < block_end_.size(); ++block) {
    const std::int32_t begin = block_begin_[block], count = block_end_[block] - done;
    for (std::int32_t k = 0; k < count; ++k) {
      const Row& row = forward_[done + k];
      Four sum = load(b + static_cast<std::ptrdiff_t>(lanes) * row.at);
      for (std::int32_t e = row.from; e < row.to; ++e)
        sum +=
            forward_value_[e] * load(work_.data() + static_cast<std::ptrdiff_t>(lanes) * forward_index_[e]);
      store(work_.data() + static_cast<std::ptrdiff_t>(lanes) * (begin + k), sum);
    }
    for (std::int32_t k = 0; k < count; ++k) {
      const Row& row = backward_[done + k];
      double* at = work_.data() + static_cast<std::ptrdiff_t>(lanes) * (begin + count - 1 - k);
      Four sum = row.scale * load(at);
      for (std::int32_t e = row.from; e < row.to; ++e)
        sum +=
            backward_value_[e] * load(work_.data() + static_cast<std::ptrdiff_t>(lanes) * backward_index_[e]);
      store(at, sum);
      store(x + static_cast<std::ptrdiff_t>(lanes) * row.at, sum);
    }
    done += count;
  }
}

}  // namespace tellegen
