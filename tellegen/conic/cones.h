// A product of symmetric cones: a nonnegative orthant, then second-order cones, then positive semidefinite
// ones; and the Nesterov-Todd scaling at a pair of points inside.
//
//   second order    s_0 >= |(s_1 .. s_d)|
//   semidefinite    symmetric matrices as their lower triangle by columns, entries off the diagonal times
//                   sqrt(2), so that s'z is the trace of S Z
//
// The scaling is the linear map W with  W z = W'^{-1} s = lambda;  for matrices W z = R' Z R and lambda is
// diagonal [Vandenberghe 2010]. Loops of a semidefinite cone of order three, which relaxations of products
// have by the ten thousand, are unrolled.
//
// [Vandenberghe 2010] The CVXOPT linear and quadratic cone program solvers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tellegen {

struct Cone {
  enum class Kind { nonnegative, second_order, semidefinite };
  Kind kind = Kind::nonnegative;
  int order = 0;           // rows of the matrix; otherwise as `rows`
  std::int32_t first = 0;  // row of the product
  int rows = 0;
  std::int64_t scaling = 0;  // where its numbers begin
};

class ConeProduct {
 public:
  ConeProduct(int nonnegative, std::span<const int> second_order, std::span<const int> semidefinite);

  std::int32_t rows() const { return rows_; }
  double degree() const { return degree_; }  // e'e
  // Blocks of the scaling: every row of the orthant is one.
  const std::vector<Cone>& cones() const { return cones_; }
  int most_rows() const { return most_rows_; }

  void identity(double* e) const;
  // Largest t with s - t e in the cone: positive inside.
  double margin(const double* s);
  void add_identity(double t, double* s) const;

  // False: a point is not inside as far as rounding can tell.
  bool scale(const double* s, const double* z, double* lambda);
  void apply(const double* z, double* out);                     // W z
  void apply_transposed(const double* v, double* out);          // W' v
  void apply_inverse(const double* v, double* out);             // W^{-1} v
  void apply_inverse_transposed(const double* s, double* out);  // W'^{-1} s
  // (W'W)^{-1} of a block, its lower triangle mirrored: rows x rows.
  void inverse_square(const Cone& cone, double* block);

  // Jordan product, its inverse by lambda, and the largest step up to `most` with lambda + step d in the
  // cone.
  void product(const double* u, const double* v, double* out);
  void divide(const double* lambda, const double* d, double* out) const;
  double longest_step(const double* lambda, const double* d, double most);

 private:
  void map(const double* from, bool inverse, bool transposed, double* out);

  std::int32_t rows_ = 0;
  int most_rows_ = 1;
  double degree_ = 0.0;
  std::vector<Cone> cones_;
  std::vector<double> scaling_, scratch_;
};

}  // namespace tellegen
