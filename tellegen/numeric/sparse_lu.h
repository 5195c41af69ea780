// Sparse LU by SuiteSparse KLU: one symbolic analysis per pattern, numeric factorisations as values change.
//
// Block triangular form first, then AMD within the blocks, partial pivoting with preference for the
// diagonal: what circuit matrices want. [Davis 2010] ACM TOMS 37, algorithm 907.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tellegen {

// Compressed columns, rows ascending within a column.
struct SparsePattern {
  std::int32_t size = 0;
  std::vector<std::int32_t> column_start{0};
  std::vector<std::int32_t> row;
  std::int32_t nonzeros() const { return static_cast<std::int32_t>(row.size()); }
};

// Collects (row, column) entries; position() tells afterwards where each one's value goes. Equal entries
// share a position. Adding -1 (the datum) as row or column is allowed and gives position -1.
class PatternBuilder {
 public:
  explicit PatternBuilder(std::int32_t size) : size_(size) {}
  std::int32_t add(std::int32_t row, std::int32_t column);  // number of the entry
  SparsePattern build();                                    // once
  std::int32_t position(std::int32_t entry) const { return position_[entry]; }

 private:
  std::int32_t size_;
  std::vector<std::int32_t> row_, column_, position_;
};

// Rows and columns left over by a largest matching of rows to columns: none where the pattern could be
// nonsingular for some values.
struct Unmatched {
  std::vector<std::int32_t> rows, columns;
};
Unmatched unmatched(const SparsePattern& pattern);

class SparseLu {
 public:
  explicit SparseLu(SparsePattern pattern);
  ~SparseLu();
  SparseLu(const SparseLu&) = delete;
  SparseLu& operator=(const SparseLu&) = delete;

  const SparsePattern& pattern() const { return pattern_; }
  bool factor(std::span<const double> values);    // chooses pivots; false: singular
  bool refactor(std::span<const double> values);  // keeps the pivots while they are good; false: singular
  // The values that the pivots were chosen for, and whether the factors are of others since: factor() of the
  // first and refactor() of these make the same factors again.
  std::span<const double> pivot_values() const { return pivot_values_; }
  bool refactored() const { return refactored_; }
  std::int64_t choices() const { return choices_; }  // of pivots, up to now
  void solve(double* b) const;                       // in place
  void solve_transposed(double* b) const;
  void solve_columns(double* b, int columns) const;  // several right-hand sides, one after the other
  bool structurally_singular() const;
  std::int32_t singular_column() const;  // after false: a column without a pivot, or -1
  double reciprocal_condition() const;   // cheap estimate from the pivots

  // P A Q = (L U, with blocks), for a solver of one's own. Rows and columns in factorised order.
  struct Factors {
    std::vector<std::int32_t> row_order, column_order;  // factorised position -> original index
    std::vector<double> row_scale;                      // per factorised row: A's rows were divided by this
    std::vector<std::int32_t> block_start;
    SparsePattern lower, upper, off_diagonal;  // by columns; lower has a unit diagonal
    std::vector<double> lower_values, upper_values, off_diagonal_values;
  };
  Factors factors() const;
  std::vector<std::int32_t> column_order() const;  // known after the analysis

 private:
  struct State;
  SparsePattern pattern_;
  std::vector<double> pivot_values_;
  bool refactored_ = false;
  std::int64_t choices_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace tellegen
