// Equalities solved by substitution: where a variable stands in one equality only, that equality gives it.
//
//   x_j = (b_i - sum a_ik x_k) / a_ij   is put into G and c;   y_i = -(c_j + G_j'z) / a_ij   comes back
//
// Such variables are what difference equations of lifted products are full of. Without their rows the system
// of a step is positive definite, whose factors lose nothing to the scaling of the cones; and it is smaller.
#pragma once

#include <vector>

#include "tellegen/conic/conic.h"

namespace tellegen {

class Substitution {
 public:
  explicit Substitution(const ConicProblem& problem);

  const ConicProblem& reduced() const { return reduced_; }
  // x and y of the reduced problem's solution become those of the problem. A ray is one of data b = 0 or c =
  // 0.
  void restore(ConicSolution& solution) const;

 private:
  struct Pivot {
    std::int32_t row, column;
    double value;
  };
  const ConicProblem& problem_;
  ConicProblem reduced_;
  std::vector<Pivot> pivots_;
  std::vector<std::int32_t> variable_, row_;  // of the reduced problem, in terms of the problem
};

}  // namespace tellegen
