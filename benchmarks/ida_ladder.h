// The ladder in SUNDIALS IDA (variable-order, variable-step BDF) with the KLU sparse solver.
//
// Written as a careful user of IDA would for this one circuit: three unknowns per loop (branch current,
// capacitor voltage, rail potential) instead of the five of the tableau, the analytic sparse Jacobian, exact
// consistent initial values, the algebraic potentials left out of the error test, samples from IDA's own
// interpolant. Timed is the integration; memory and symbolic analysis are not.
#pragma once

#include "benchmarks/external_run.h"

namespace tellegen {

struct IdaTolerances {
  double relative = 0, absolute = 0;
};

// The loosest found that meet the precision; ida_ladder.cpp lists the measured errors.
IdaTolerances ida_tolerances(int loops, Precision precision);

// Monitored: V4 and I_L1, or the last branch for 2 loops. Not available in a build without IDA.
ExternalRun run_ida_ladder(int loops, const IdaTolerances& tolerances, double budget = 0.5);

}  // namespace tellegen
