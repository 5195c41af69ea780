// Global sensitivity from the results of a design: which parameter matters over its whole range.
//
//   Morris   an elementary effect is the change of a result over the step of one axis, scaled to the whole
//            axis; mu its mean, mu* the mean of its size, sigma its spread: mu* ranks, sigma tells of
//            curvature and interaction
//   Sobol    S_i = V(E(y | x_i)) / V(y), the part of the variance that x_i explains by itself, and ST_i, the
//            part that is left when all but x_i are known:
//
//              S_i  = mean(f(B) (f(AB_i) - f(A))) / V       [Saltelli 2010]
//              ST_i = mean((f(A) - f(AB_i))^2) / (2 V)      [Jansen 1999]
//
//            with an interval that holds 95 % of a bootstrap's values. Rows are drawn as if independent;
//            those of a Latin hypercube are better than that, so the interval is on the wide side.
//   ranks    Spearman's correlation of the ranks, for any sample: monotone dependence only
//
// A result that is NaN (a failed sample) takes along what it is part of: a Morris effect, a row of A and B.
//
// [Jansen 1999] Comput. Phys. Commun. 117, 35. [Saltelli 2010] Comput. Phys. Commun. 181, 259.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tellegen/sweep/samples.h"

namespace tellegen {

struct MorrisIndex {
  double mu = 0.0, mu_star = 0.0, sigma = 0.0;
  std::size_t effects = 0;  // that it is made of
};

struct SobolIndex {
  struct Interval {
    double value, low, high;
  } first, total;
};

// One per axis; `results` one per sample of the design. NaN where there is nothing to tell.
std::vector<MorrisIndex> morris_indices(const std::vector<Axis>& axes, const SampleSet& samples,
                                        std::span<const double> results);
std::vector<SobolIndex> sobol_indices(std::size_t axes, std::span<const double> results, std::uint64_t seed);
std::vector<double> rank_correlations(const SampleSet& samples, std::span<const double> results);
// Of several results: samples are ordered once where the same of them have values.
std::vector<std::vector<double>> rank_correlations(const SampleSet& samples,
                                                   std::span<const std::vector<double>> results);

// Of the finite results.
struct SampleSummary {
  std::size_t count = 0;
  double lowest, mean, highest, deviation;
};
SampleSummary summary_of(std::span<const double> results);

}  // namespace tellegen
