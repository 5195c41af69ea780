// Decompositions of dense matrices. They stand here and not where they are used because their templates are
// most of what compiling the users would cost.
#pragma once

#include <Eigen/Core>
#include <complex>
#include <vector>

namespace tellegen {

// A = U diag(values) V', values falling; U has as many columns as there are values, V is square.
struct Singular {
  Eigen::VectorXd values;
  Eigen::MatrixXd u, v;
};
Singular singular(const Eigen::MatrixXd& a);
Eigen::VectorXd singular_values(const Eigen::MatrixXd& a);

// Of a symmetric matrix, of which the lower triangle is read; values rising, vectors in columns.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& a);

std::vector<std::complex<double>> eigenvalues(const Eigen::MatrixXd& a);

Eigen::MatrixXd solve(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
Eigen::MatrixXd inverse(const Eigen::MatrixXd& a);
// Where `a` is symmetric, and need not be definite.
Eigen::MatrixXd solve_symmetric(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

// R of A = QR, as many rows as A has columns; A has at least as many.
Eigen::MatrixXd triangle(const Eigen::MatrixXd& a);
// The first `count` columns of Q.
Eigen::MatrixXd orthogonal(const Eigen::MatrixXd& a, Eigen::Index count);

}  // namespace tellegen
