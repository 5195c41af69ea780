#include "tellegen/numeric/decompose.h"

#include <Eigen/Dense>

namespace tellegen {

using Eigen::MatrixXd;

namespace {

// Jacobi's rotations are the more accurate; above, they take minutes.
constexpr Eigen::Index most_rotated = 64;

}  // namespace

Singular singular(const MatrixXd& a) {
  if (a.cols() > most_rotated) {
    const Eigen::BDCSVD<MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeFullV);
    return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
  }
  const Eigen::JacobiSVD<MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeFullV);
  return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
}

Eigen::VectorXd singular_values(const MatrixXd& a) {
  if (a.cols() > most_rotated) return Eigen::BDCSVD<MatrixXd>(a).singularValues();
  return Eigen::JacobiSVD<MatrixXd>(a).singularValues();
}

SymmetricEigen symmetric_eigen(const MatrixXd& a) {
  if (a.rows() == 0) return {};
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(a);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

std::vector<std::complex<double>> eigenvalues(const MatrixXd& a) {
  const Eigen::VectorXcd values = Eigen::EigenSolver<MatrixXd>(a, false).eigenvalues();
  return {values.begin(), values.end()};
}

MatrixXd solve(const MatrixXd& a, const MatrixXd& b) { return a.partialPivLu().solve(b); }
MatrixXd inverse(const MatrixXd& a) { return a.partialPivLu().inverse(); }
MatrixXd solve_symmetric(const MatrixXd& a, const MatrixXd& b) { return a.ldlt().solve(b); }

MatrixXd triangle(const MatrixXd& a) {
  return Eigen::HouseholderQR<MatrixXd>(a).matrixQR().topRows(a.cols()).triangularView<Eigen::Upper>();
}

MatrixXd orthogonal(const MatrixXd& a, Eigen::Index count) {
  return Eigen::HouseholderQR<MatrixXd>(a).householderQ() * MatrixXd::Identity(a.rows(), count);
}

}  // namespace tellegen
