// Sparse L D L' of a symmetric quasidefinite matrix: one ordering for each pattern, factorisations as values
// change, no pivoting.
//
//   K = [ H  A' ]    H and C positive definite: then every symmetric permutation of K has such a factor, and
//       [ A -C  ]    the signs of D are known before [Vanderbei 1995]
//
// The order is AMD's, which puts unknowns that meet nearly all others (the parameters of a model beside its
// samples) last by itself. Row by row, "up-looking" [Davis 2005]: no dense kernels, so large dense matrices
// are slow here. A pivot that is too small, or has the wrong sign, is replaced; solutions are then for
// refinement.
//
// [Vanderbei 1995] SIAM Journal on Optimization 5. [Davis 2005] ACM TOMS 31, algorithm 849.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {

class SparseLdl {
 public:
  // `upper`: row <= column, every diagonal entry among them; `signs`: +1 or -1, of each pivot.
  SparseLdl(SparsePattern upper, std::vector<signed char> signs);

  // Returns the number of pivots below `smallest` that were replaced by it.
  std::int32_t factor(std::span<const double> values, double smallest);
  void solve(double* b);  // in place

  const SparsePattern& pattern() const { return upper_; }
  std::int64_t factor_nonzeros() const { return column_start_.back(); }  // of L, below its diagonal

 private:
  std::int32_t size_;
  SparsePattern upper_, permuted_;
  std::vector<signed char> signs_;                   // permuted
  std::vector<std::int32_t> order_, value_at_;       // permuted entry -> entry of upper_
  std::vector<std::int32_t> parent_, count_, flag_;  // elimination tree; entries of each column so far
  std::vector<std::int64_t> column_start_;
  std::vector<std::int32_t> row_, pattern_;
  std::vector<double> value_, pivot_, work_;
};

}  // namespace tellegen
