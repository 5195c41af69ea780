// The linear system of a step: for the present scaling W of the cones
//
//   [ 0  A'   G'  ] [x]   [p      ]
//   [ A  0    0   ] [y] = [q      ]      condensed by W z = W'^{-1} (G x - r) - rho
//   [ G  0  -W'W  ] [z]   [r+W'rho]
//
// to [G'(W'W)^{-1}G + d, A'; A, -d] with a small d, which sparse_ldl.h factorises; iterative refinement takes
// the effect of d away again. W z is what is kept and refined: near a solution W'W spans twenty orders of
// magnitude, and a product with it would lose what is small.
#pragma once

#include <memory>
#include <vector>

#include "tellegen/conic/cones.h"
#include "tellegen/conic/conic.h"
#include "tellegen/numeric/sparse_ldl.h"

namespace tellegen {

// Compressed rows.
struct SparseMatrix {
  std::int32_t rows = 0, columns = 0;
  std::vector<std::int64_t> row_start;
  std::vector<std::int32_t> column;
  std::vector<double> value;

  SparseMatrix() = default;
  SparseMatrix(std::int32_t rows, std::int32_t columns, const std::vector<SparseEntry>& entries);
  void add_product(double factor, const double* x, double* y) const;             // y += factor A x
  void add_transposed_product(double factor, const double* x, double* y) const;  // y += factor A'x
};

class KktSystem {
 public:
  // All three are kept by reference.
  KktSystem(const SparseMatrix& A, const SparseMatrix& G, ConeProduct& cones);

  void factor();  // with the cones' present scaling
  // In: x = p, y = q. Out: x, y, z and W z.
  void solve(std::vector<double>& x, std::vector<double>& y, const std::vector<double>& r,
             const std::vector<double>& rho, std::vector<double>& z, std::vector<double>& scaled_z);
  std::int64_t factor_nonzeros() const { return ldl_->factor_nonzeros(); }

 private:
  const SparseMatrix &A_, &G_;
  ConeProduct& cones_;
  // Per cone: the columns that it meets; its entries of G by those; where pairs of columns go.
  struct Block {
    std::int64_t entries = 0, positions = 0;
    std::int32_t columns = 0;
  };
  struct Entry {
    std::int32_t row, column;
    double value;
  };
  std::vector<Block> blocks_;
  std::vector<Entry> entries_;
  std::vector<std::int32_t> position_, A_position_, diagonal_;
  std::vector<char> conic_;  // variables that a cone meets
  std::unique_ptr<SparseLdl> ldl_;
  std::vector<double> values_, square_, scaled_, product_;
  std::vector<double> p_, q_, residual_, step_, work_, cone_step_;
};

}  // namespace tellegen
