// The qd0 model of a wound-rotor machine from records of its flux linkages, currents and torque.
//
//   lambda_q = (L_ls + L_mq) i_q                 d lambda_q/dt = v_q - r_s i_q - w_r lambda_d
//   lambda_d = (L_ls + L_md) i_d + l_f i_f       d lambda_d/dt = v_d - r_s i_d + w_r lambda_q
//   lambda_0 = L_ls i_0                          d lambda_0/dt = v_0 - r_s i_0
//   torque = 3 poles/4 (lambda_d i_q - lambda_q i_d),   l_f = 2/3 (N_f/N_s) L_md
//
// All of lambda, i and torque are given, so that every equation is linear in what is sought: inductances and
// l_f; 1/poles; w_r and r_s, once the derivatives are differences between samples. Forward differences of
// samples far apart are biased, mostly in r_s; those of the trapezoidal rule are not. A machine is no qd0
// model: which window of a record is taken shows in the result, most in L_ls (slot harmonics pass for zero
// sequence) and in the poles, where the torque is small.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tellegen {

// Samples of q, d and zero, motor convention.
struct MachineRecord {
  double interval = 0.0, field_current = 0.0;
  std::array<std::vector<double>, 3> lambda, i, v;
  std::vector<double> torque;
  std::size_t size() const { return torque.size(); }
};

struct QdModel {
  double w_r = 0.0, r_s = 0.0, L_ls = 0.0, L_mq = 0.0, L_md = 0.0, turns_ratio = 0.0, poles = 0.0;
};

enum class Discretisation { forward, trapezoidal };

// By least squares over the samples [first, last). Throws std::invalid_argument where they are too few.
QdModel extract_qd0(const MachineRecord& record, std::size_t first, std::size_t last, Discretisation rule);

// Mean absolute relative error of lambda_q, lambda_d and lambda_0 that the model gives for the currents,
// over the samples that are not zero.
std::array<double, 3> linkage_errors(const MachineRecord& record, std::size_t first, std::size_t last,
                                     const QdModel& model);

}  // namespace tellegen
