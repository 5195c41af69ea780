// Repeated solution with a constant matrix whose right-hand side is a sparse combination of sources.
//
//   A x = sum over the row's sources of +-s
//
// The factors of a SparseLu are rewritten row by row: permutation, row scaling and reciprocal pivots folded
// in, entries contiguous in the order of use, sources and unknowns in one array. Rows are taken level by
// level (a level needs only earlier ones), so that independent rows stand next to each other and hide each
// other's latency. A solve is one pass forward and one backward over 12 bytes an entry.
//
// The unknowns come out in *factorised* order: position(unknown) says where. That order is KLU's column order
// and does not change from factorisation to factorisation, so others may index by it once and for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {

struct RowSource {
  std::int32_t row = 0;     // original row; negative: ignored
  std::int32_t source = 0;  // index of the source
  double factor = 1.0;
};

class RowSolver {
 public:
  // `lu` must be factorised.
  RowSolver(const SparseLu& lu, std::span<const RowSource> sources);

  // work: [unknowns | sources], the sources filled in by the caller; the unknowns are the result.
  void solve(double* work) const;

  // One pass: rows in the order they are taken, in runs of equally many entries.
  struct Run {
    std::int32_t rows = 0, entries = 0;  // entries of each row
  };
  struct Pass {
    std::vector<std::int32_t> row, index;
    std::vector<double> value;
    // Where each value comes from: an entry of the factors' lower or upper part, beside the blocks counted
    // down from -2; -1: from a source, whatever the factors are.
    std::vector<std::int32_t> origin;
    std::vector<Run> runs;
    std::vector<std::int32_t> block_end;  // in runs
    void add(std::int32_t at, double by, std::int32_t from) {
      index.push_back(at), value.push_back(by), origin.push_back(from);
    }
    void finish_row(std::int32_t r);
    void finish_block() { block_end.push_back(static_cast<std::int32_t>(runs.size())); }
    std::size_t finished = 0;  // entries of finished rows
  };
  const Pass& forward() const { return forward_; }
  const Pass& backward() const { return backward_; }
  const std::vector<double>& pivots() const { return pivot_; }

 private:
  std::int32_t size_;
  Pass forward_, backward_;
  std::vector<double> pivot_;  // in the order of the backward pass
};

}  // namespace tellegen
