#include "tellegen/magnetics/extraction.h"

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>

#include "tellegen/numeric/decompose.h"

namespace tellegen {
namespace {

// Least squares of two unknowns, a row at a time.
class TwoUnknowns {
 public:
  void add(double a, double b, double y) {
    matrix_ += Eigen::Vector2d(a, b) * Eigen::RowVector2d(a, b);
    right_ += Eigen::Vector2d(a, b) * y;
  }
  Eigen::Vector2d solution() const { return solve(matrix_, right_); }

 private:
  Eigen::Matrix2d matrix_ = Eigen::Matrix2d::Zero();
  Eigen::Vector2d right_ = Eigen::Vector2d::Zero();
};

}  // namespace

QdModel extract_qd0(const MachineRecord& record, std::size_t first, std::size_t last, Discretisation rule) {
  if (last > record.size() || last < first + 3)
    throw std::invalid_argument("an extraction needs at least three samples of the record");
  const auto& [lambda_q, lambda_d, lambda_0] = record.lambda;
  const auto& [i_q, i_d, i_0] = record.i;
  double qq = 0.0, q_lambda = 0.0, zz = 0.0, z_lambda = 0.0, cross_torque = 0.0, torque_torque = 0.0;
  TwoUnknowns d_axis;
  for (std::size_t k = first; k < last; ++k) {
    qq += i_q[k] * i_q[k];
    q_lambda += i_q[k] * lambda_q[k];
    zz += i_0[k] * i_0[k];
    z_lambda += i_0[k] * lambda_0[k];
    d_axis.add(i_d[k], record.field_current, lambda_d[k]);
    cross_torque += 0.75 * (lambda_d[k] * i_q[k] - lambda_q[k] * i_d[k]) * record.torque[k];
    torque_torque += record.torque[k] * record.torque[k];
  }
  TwoUnknowns voltages;  // w_r, r_s
  for (std::size_t k = first; k + 1 < last; ++k) {
    const auto at = [&](const std::vector<double>& x) {
      return rule == Discretisation::forward ? x[k] : 0.5 * (x[k] + x[k + 1]);
    };
    const auto rate = [&](const std::vector<double>& x) { return (x[k + 1] - x[k]) / record.interval; };
    voltages.add(-at(lambda_d), -at(i_q), rate(lambda_q) - at(record.v[0]));
    voltages.add(at(lambda_q), -at(i_d), rate(lambda_d) - at(record.v[1]));
    voltages.add(0.0, -at(i_0), rate(lambda_0) - at(record.v[2]));
  }
  QdModel model;
  const Eigen::Vector2d speed = voltages.solution(), d = d_axis.solution();
  model.w_r = speed[0];
  model.r_s = speed[1];
  model.L_ls = z_lambda / zz;
  model.L_mq = q_lambda / qq - model.L_ls;
  model.L_md = d[0] - model.L_ls;
  model.turns_ratio = 1.5 * d[1] / model.L_md;
  model.poles = torque_torque / cross_torque;
  return model;
}

std::array<double, 3> linkage_errors(const MachineRecord& record, std::size_t first, std::size_t last,
                                     const QdModel& model) {
  const double field = 2.0 / 3.0 * model.turns_ratio * model.L_md * record.field_current;
  const std::array<double, 3> L{model.L_ls + model.L_mq, model.L_ls + model.L_md, model.L_ls};
  std::array<double, 3> errors{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double sum = 0.0, count = 0.0;
    for (std::size_t k = first; k < last; ++k) {
      const double is = record.lambda[axis][k];
      if (is == 0.0) continue;
      sum += std::abs((L[axis] * record.i[axis][k] + (axis == 1 ? field : 0.0)) / is - 1.0);
      count += 1.0;
    }
    errors[axis] = sum / count;
  }
  return errors;
}

}  // namespace tellegen
