#include "tellegen/numeric/sparse_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tellegen {
namespace {

// Several numbers as one, in whatever registers the processor has. Without such registers GCC passes them
// through memory; nothing outside this file sees them, so that is no question of the binary interface.
#pragma GCC diagnostic ignored "-Wpsabi"
template <int width>
struct LaneVector {
  typedef double Numbers __attribute__((vector_size(8 * width)));
  static Numbers load(const double* p) {
    Numbers v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(double* p, const Numbers& v) { std::memcpy(p, &v, sizeof v); }
};

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

template <int width>
void SparseRows::add_row(std::int32_t row, const double* x, double* y) const {
  auto sum = LaneVector<width>::load(y);
  for (std::int32_t k = start_[row]; k < start_[row + 1]; ++k)
    sum += value_[k] * LaneVector<width>::load(x + std::ptrdiff_t{width} * column_[k]);
  LaneVector<width>::store(y, sum);
}
template void SparseRows::add_row<few_lanes>(std::int32_t, const double*, double*) const;
template void SparseRows::add_row<lanes>(std::int32_t, const double*, double*) const;

template <int width>
void SparseRows::add_product(double factor, const double* x, double* y) const {
  for (std::int32_t r = 0; r < rows_; ++r) {
    if (start_[r] == start_[r + 1]) continue;
    double* to = y + std::ptrdiff_t{width} * r;
    auto sum = LaneVector<width>::load(to);
    for (std::int32_t k = start_[r]; k < start_[r + 1]; ++k)
      sum += (factor * value_[k]) * LaneVector<width>::load(x + std::ptrdiff_t{width} * column_[k]);
    LaneVector<width>::store(to, sum);
  }
}
template void SparseRows::add_product<few_lanes>(double, const double*, double*) const;
template void SparseRows::add_product<lanes>(double, const double*, double*) const;

void SparseRows::add_transposed(double factor, const double* x, double* y) const {
  for (std::int32_t r = 0; r < rows_; ++r) {
    if (x[r] == 0.0) continue;
    const double scaled = factor * x[r];
    for (std::int32_t k = start_[r]; k < start_[r + 1]; ++k) y[column_[k]] += scaled * value_[k];
  }
}

}  // namespace tellegen
