// Problems with products of two unknowns, lifted: every product becomes an unknown of its own, and so does
// every square. What ties them is relaxed to
//
//   [ 1  c4 c5 ]
//   [ c4 c1 c3 ]  positive semidefinite,   c3 for c4*c5, c1 for c4^2, c2 for c5^2
//   [ c5 c3 c2 ]
//
// which is exact where it has rank one. A square that carries no cost may grow until the matrix leaves c3
// free.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tellegen/conic/conic.h"

namespace tellegen {

// constant + sum of coefficient * variable. Terms few and unsorted.
struct Affine {
  double constant = 0.0;
  std::vector<std::pair<std::int32_t, double>> terms;

  Affine() = default;
  Affine(double value) : constant(value) {}
  static Affine variable(std::int32_t index, double factor = 1.0);
  Affine& add(double factor, const Affine& other);
  double at(const std::vector<double>& x) const;
};

inline Affine operator+(Affine a, const Affine& b) { return std::move(a.add(1.0, b)); }
inline Affine operator-(Affine a, const Affine& b) { return std::move(a.add(-1.0, b)); }
inline Affine operator*(double factor, const Affine& a) { return std::move(Affine().add(factor, a)); }

// A number and what stands for its square.
struct Lifted {
  Affine value, square;
};

// (x - centre)^2, with what stands for x^2.
Affine lifted_mismatch(const Lifted& x, double centre);

// Rows as they are stated; brought into the order of the cones at the end.
class LiftedProgramme {
 public:
  Affine unknown();
  void minimise(double factor, const Affine& form);
  void equal_zero(const Affine& form);
  void at_least_zero(const Affine& form);
  // square >= x^2
  void square(const Affine& square, const Affine& x);
  // The matrix above; `centre` of c5 is subtracted by a congruence, which leaves the cone as it is.
  void product(const Affine& c1, const Affine& c2, const Affine& c3, const Affine& c4, const Affine& c5,
               double centre = 0.0);
  double constant() const { return constant_; }
  // The rows end up in the problem; what is left here is empty.
  ConicProblem build();

 private:
  struct Rows {
    std::vector<SparseEntry> entries;
    std::vector<double> h;
  };
  static void row(Rows& rows, const Affine& form);  // form = h - G x in the cone

  ConicProblem problem_;
  Rows nonnegative_, second_order_, semidefinite_;
  double constant_ = 0.0;
};

}  // namespace tellegen
