// The published route to the qd0 model of a wound-rotor machine: a conic relaxation of the discretised
// problem, where wanted with rounds of a penalty, then a local search [Yadav 2021, chapter 2; equations by
// its numbers].
//
//   minimise  sum  |lambda - read|^2 + |i - read|^2 + (torque - read)^2, weighed               (2.11a)
//   subject to the equations of magnetics/extraction.h by differences between samples    (2.11b)-(2.11d)
//
// with all samples' flux linkages, currents and torque unknown beside w_r, r_s, the inductances and 1/poles.
// The relaxation (2.16) has a cone of order three for every product (conic/lifting.h): 11 for each sample.
//
// What it determines. Squares of flux linkages, currents and torque carry the cost of the fit, those of the
// parameters carry none: they grow until every product with a parameter is free, and a perfect fit is
// approached for any parameters. The infimum of (2.16) is zero and is not attained. On the way there the
// mismatch of each product counts divided by its parameter's square, so that the point of the central path
// where the tolerance is met lies near some least squares fit of the products; how near depends on the
// tolerance. The penalty (2.18) gives every square a cost, as a distance from the last round's result. There
// is a minimiser then; a heavy penalty makes it exact within a few rounds, and slow to leave that result.
//
// extract_qd0() needs none of it: flux linkages, currents and torque are all given, and the equations are
// linear in the parameters.
//
// [Yadav 2021] Macromodeling and accelerated simulations of electric machines, UT Arlington.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tellegen/conic/conic.h"
#include "tellegen/magnetics/extraction.h"

namespace tellegen {

struct ExtractionWeights {
  std::array<double, 3> lambda{1.0, 1.0, 0.001}, i{1.0, 1.0, 0.001};
  double torque = 1.0;
  // As published for the search after the relaxation.
  static ExtractionWeights local() { return {{1e4, 1e4, 1e4}, {1e-3, 1e-3, 1e-3}, 0.1}; }
};

struct ExtractionRelaxationOptions {
  ExtractionWeights weights;
  // (2.18), for a result to stay near, over the objective with all estimates zero: of every parameter
  // relative to that result, of every quantity per unit as a mean of the samples. The publication does not
  // give its own.
  double penalty = 1.0;
  // Second formulation: no equalities, by substitution. The same feasible set in fewer unknowns, and better
  // for the trapezoidal rule, whose equalities run through all samples and stall the solver.
  bool eliminated = false;
  ConicOptions conic;
};

struct ExtractionRelaxation {
  ConicStatus status = ConicStatus::iteration_limit;
  int iterations = 0;
  std::int32_t variables = 0, equalities = 0;
  std::size_t cones = 0;
  double scale = 0.0;                 // objective with all estimates zero
  double objective = 0.0, fit = 0.0;  // (2.16a) + (2.18), and (2.16a) alone
  double gap = 0.0, primal_residual = 0.0, dual_residual = 0.0;
  QdModel model;                                 // of the variables of these names
  std::array<std::vector<double>, 3> lambda, i;  // likewise
  std::vector<double> torque;
  double largest_square = 0.0;  // of a parameter, over the square of its value
  double largest_slack = 0.0;   // |c3 - c4 c5|, per unit: zero where the relaxation is exact
};

// Samples [first, last). `previous`: the penalty (2.18) keeps all near that result, of the same samples.
// Throws std::invalid_argument where samples are too few or not numbers.
ExtractionRelaxation relax_extraction(const MachineRecord& record, std::size_t first, std::size_t last,
                                      Discretisation rule, const ExtractionRelaxationOptions& options = {},
                                      const ExtractionRelaxation* previous = nullptr);

struct ExtractionSearch {
  QdModel model;
  std::array<double, 3> lambda{};  // at the first sample
  double objective = 0.0;          // (2.11a); infinite: the differences cannot be run from the start
  int iterations = 0;
  bool converged = false;
};

// (2.11) with the differences kept exactly: the parameters and the first sample's flux linkages are searched
// by Levenberg-Marquardt's method, positive as they are in a machine.
ExtractionSearch search_extraction(const MachineRecord& record, std::size_t first, std::size_t last,
                                   Discretisation rule, const QdModel& start,
                                   const std::array<double, 3>& lambda,
                                   const ExtractionWeights& weights = ExtractionWeights::local());

}  // namespace tellegen
