// Where a singular matrix is blind: a combination of columns that vanishes, A x = 0, and one of rows, y'A =
// 0. x tells which unknowns can change together without any equation noticing, y which equations say the
// same.
//
// Sparse QR with column pivoting of the equilibrated matrix and of its transpose. Slow beside an LU
// factorisation: it is for the explanation of a failure, once.
#pragma once

#include <span>
#include <vector>

#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {

struct NullSpace {
  struct Part {
    std::int32_t index;
    double weight;
  };
  std::vector<Part> columns, rows;  // in their order; empty where the matrix is not singular
};

NullSpace null_space(const SparsePattern& pattern, std::span<const double> values);

}  // namespace tellegen
