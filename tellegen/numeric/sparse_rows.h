// Rectangular sparse matrices by rows, for products with several vectors at once.
#pragma once

#include <cstdint>
#include <vector>

#include "tellegen/numeric/lanes.h"

namespace tellegen {

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

  // One row of a product, in lanes: y += the row times x.
  template <int width>
  void add_row(std::int32_t row, const double* x, double* y) const;
  template <int width>
  void add_product(double factor, const double* x, double* y) const;     // y += factor M x, in lanes
  void add_transposed(double factor, const double* x, double* y) const;  // y += factor M' x, one vector

 private:
  std::int32_t rows_ = 0;
  std::vector<std::int32_t> entry_row_, entry_column_, place_, start_, column_;
  std::vector<double> value_;
};

}  // namespace tellegen
