// Rectangular sparse matrices by rows, for products with several vectors at once.
//
// Vectors come in lanes: four of them side by side, entry by entry, so that one entry of the matrix serves
// four.
#pragma once

#include <cstdint>
#include <vector>

#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {

inline constexpr int lanes = 4;

class SparseRows {
 public:
  SparseRows() = default;
  explicit SparseRows(std::int32_t rows) : rows_(rows) {}

  // Entries in any order, then build() once; equal ones share a place, -1 as row or column gives place -1.
  std::int32_t add(std::int32_t row, std::int32_t column);  // number of the entry
  void build();
  std::int32_t place(std::int32_t entry) const { return place_[entry]; }
  std::vector<double>& values() { return value_; }

  std::int32_t rows() const { return rows_; }
  std::int32_t begin(std::int32_t row) const { return start_[row]; }
  std::int32_t end(std::int32_t row) const { return start_[row + 1]; }
  std::int32_t column(std::int32_t k) const { return column_[k]; }
  double value(std::int32_t k) const { return value_[k]; }

  void add_product(double factor, const double* x, double* y) const;     // y += factor M x, in lanes
  void add_transposed(double factor, const double* x, double* y) const;  // y += factor M' x, one vector

 private:
  std::int32_t rows_ = 0;
  std::vector<std::int32_t> entry_row_, entry_column_, place_, start_, column_;
  std::vector<double> value_;
};

// Solves with the factors of a constant matrix, in lanes: permutation, scaling and pivots folded in.
class LaneSolver {
 public:
  explicit LaneSolver(const SparseLu& lu);  // must be factorised
  void solve(const double* b, double* x);   // original order, in lanes

 private:
  struct Row {
    std::int32_t from, to, at;  // entries; where the row's b is, or its x goes
    double scale;
  };
  std::int32_t size_;
  std::vector<Row> forward_, backward_;
  std::vector<std::int32_t> block_begin_, block_end_;  // factorised index; in forward_ and backward_
  std::vector<std::int32_t> forward_index_, backward_index_;
  std::vector<double> forward_value_, backward_value_;
  std::vector<double> work_;
};

}  // namespace tellegen
