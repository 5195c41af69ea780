// Lost directions as words: what of several quantities is known although they are not.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "tellegen/identifiability/knowledge.h"

namespace tellegen {

// The lost directions at several points, [point]: values of the quantities and a basis, in units of `scale`.
struct LostDirections {
  Eigen::VectorXd values;
  Eigen::MatrixXd basis;
};

// Sets of quantities that no lost direction joins; those that none touches are in no set.
std::vector<std::vector<int>> entangled_sets(const Eigen::MatrixXd& basis);

// Everything that is known of the quantities of one set. `covariance`: of the quantities in units of scale,
// lost directions left out.
std::vector<Combination> known_combinations(const std::vector<UnknownQuantity>& quantities,
                                            const std::vector<int>& set,
                                            const std::vector<LostDirections>& points,
                                            const Eigen::MatrixXd& covariance);

// Coefficients as small whole numbers where they are multiples of such, otherwise as they are with the first
// of them 1.
std::vector<double> simple_multiples(const std::vector<double>& coefficients, double tolerance);

}  // namespace tellegen
