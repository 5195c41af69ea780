// Classical Runge-Kutta steps backwards: how a function of the last place of a run depends on the first, and
// on what does not change in between. The adjoint of the steps themselves, not of the differential equation:
//
//   weight of k4 = h/6 W,            a4 = J4' (weight of k4)        W: weights of the states after the step
//   weight of k3 = h/3 W + h a4,     a3 = J3' (weight of k3)        Ji: slopes by states at stage i
//   weight of k2 = h/3 W + h/2 a3,   a2 = J2' (weight of k2)
//   weight of k1 = h/6 W + h/2 a2,   a1 = J1' (weight of k1)
//   before the step: W + a1 + a2 + a3 + a4
//
// The forward run keeps where the slopes were taken (place_registers()). At each of these places the values
// are computed again and gone through backwards (reverse.h), which costs a few of them. What an iteration
// found there needs no iteration: one more turn at the solution has the implicit function's derivatives,
// because by the iterate itself it has none.
//
// Weights of what parameters alone decide (section 0) are gathered in registers and go back through that
// section once, at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tellegen/program/reverse.h"
#include "tellegen/program/rk4_loop.h"

namespace tellegen {

class Rk4Reverse {
 public:
  // `parameters`: inputs of section 0 whose derivatives are asked for. Without slow states.
  Rk4Reverse(const Rk4Program& step, const std::vector<std::int32_t>& parameters);
  void compile(double interpreting = std::numeric_limits<double>::infinity()) { code_.compile(interpreting); }
  void compile_for(double executions) { code_.compile_for(executions); }
  bool compiled() const { return code_.compiled(); }

  double* registers() { return registers_.data(); }     // inputs of section 0 are the caller's
  void prepare() { code_.call(0, registers_.data()); }  // section 0
  std::size_t width() const { return width_; }          // numbers of a place

  // All weights are zero.
  void begin();
  // The values observed at a place; adds the weight of one of them (-1: of none).
  std::span<const double> observe(const double* place, int output);
  // Steps of this length, from the last to the first; four places each, the last of them before `places`.
  void steps(std::int64_t count, double length, const double* places);
  // Of what was observed by the states where it has come to, and by the parameters.
  std::vector<double> by_states() const;
  std::vector<double> by_parameters();

 private:
  // Registers, as long as the run goes on.
  struct Gathered {
    std::vector<std::int32_t> states;      // weights of states
    std::vector<std::int32_t> observed;    // weights of the values observed
    std::vector<std::int32_t> parameters;  // weights of parameters, at the end
    ReverseWriter::Sums early;             // of what section 0 computes
    std::int32_t left = -1, length = -1;
  };
  static Procedure procedure(const Rk4Program& step, const std::vector<std::int32_t>& parameters,
                             Gathered& gathered);

  std::vector<std::int32_t> outputs_;
  std::size_t width_;
  Gathered gathered_;
  ProcedureCode code_;
  std::vector<double> registers_, values_;
};

}  // namespace tellegen
