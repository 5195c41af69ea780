// The published route to an induction machine's parameters from its start-up: a conic relaxation of the
// discretised problem [Yadav 2021, chapter 3; equations by its numbers], from which a local search begins.
//
//   minimise  sum  a (i_qs - read)^2 + a (i_ds - read)^2 + g (w_r - read)^2                            (3.8a)
//   subject to the machine's equations by forward Euler, in the frame of the supply, L_r = L_s  (3.8b)-(3.8e)
//
// Every product of two unknowns becomes an unknown of its own, c3, and so does every square, c1 and c2; the
// equality of matrices that ties them is relaxed to
//
//   [ 1  c4 c5 ]
//   [ c4 c1 c3 ]  positive semidefinite (3.12), c4 and c5 the factors: 18 such cones for each sample,
//   [ c5 c3 c2 ]
//
// and a penalty draws the rotor's currents, which nobody reads, to a guess (3.14).
//
// What it determines. The squares of the parameters and of the flux linkages carry no cost, so they grow
// until every cone is slack, and a perfect fit is approached for any parameters: the infimum of the published
// problem is zero, is not attained, and says nothing about the parameters. What the solver returns is the
// point of the central path where its tolerance is met. The relaxation bounds (3.8a) from below only without
// the penalty, and the bound is better than zero only where every square is bounded too (`limits`).
//
// [Yadav 2021] Macromodeling and accelerated simulations of electric machines, UT Arlington.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/conic/conic.h"

namespace tellegen {

struct InductionParameters {
  double L_s = 0, L_m = 0, r_s = 0, r_r = 0, J = 0, B = 0;  // L_r = L_s
  std::array<double, 6> values() const { return {L_s, L_m, r_s, r_r, J, B}; }
  static std::array<const char*, 6> names() { return {"L_s", "L_m", "r_s", "r_r", "J", "B"}; }
};

// One sample of a machine, in the frame of the supply: q and d of the stator, then of the rotor.
struct InductionState {
  std::array<double, 4> current{};
  double speed = 0.0;  // electrical
};

// Readings at equal steps; NaN where one is lost.
struct StartUp {
  double step = 1e-4, frequency = 0.0;  // of the supply, rad/s
  int poles = 4;
  std::vector<double> v_qs, v_ds, i_qs, i_ds, w_r;
  std::vector<std::size_t> windows{0};  // first sample of each; the model does not reach across
  std::size_t samples() const { return v_qs.size(); }
};

// Published guess of the rotor's currents: minus the stator's while the machine accelerates, then zero. The
// machine is taken to accelerate until it first reads 95 % of the synchronous speed. Lost samples between
// their neighbours.
std::vector<std::array<double, 2>> guess_of_rotor_currents(const StartUp& data);

// The machine by forward Euler from standstill without flux, as the relaxation takes it. Readings without
// noise.
StartUp euler_start_up(const InductionParameters& machine, double step, std::size_t samples, double voltage,
                       double frequency, int poles);

struct RelaxationLimits {
  InductionParameters low, high;
  double flux = 0.0, current = 0.0, speed = 0.0;  // of every sample, in absolute value
};

struct RelaxationOptions {
  double current_weight = 0.1, speed_weight = 0.1;  // a, g
  double penalty = 1.0;                             // (3.14); 0: none
  // Second formulation: all equalities solved by substitution, readings and guesses subtracted from what they
  // are compared with. The same feasible set in other coordinates.
  bool eliminated = false;
  std::optional<RelaxationLimits> limits;
  ConicOptions conic;
};

struct Relaxation {
  ConicStatus status = ConicStatus::iteration_limit;
  int iterations = 0;
  std::int32_t variables = 0, equalities = 0;
  std::size_t cones = 0;  // of order three
  std::int64_t factor_nonzeros = 0;
  double scale = 0.0;                 // objective with all estimates zero
  double objective = 0.0, fit = 0.0;  // (3.13a) + (3.14), and (3.13a) alone
  double gap = 0.0;                   // objective less dual objective
  double primal_residual = 0.0, dual_residual = 0.0;
  InductionParameters parameters;      // the variables of these names
  std::vector<InductionState> states;  // likewise
  double largest_square = 0.0;         // of a parameter or a flux linkage, per unit
  double largest_slack = 0.0;          // |c3 - c4 c5|, per unit: zero where the relaxation is exact
  // Of (3.8a) in the limits: the dual objective, less what its residual can amount to in them.
  std::optional<double> lower_bound;
};

Relaxation relax(const StartUp& data, const RelaxationOptions& options = {});

}  // namespace tellegen
