// Random valid models.
#pragma once

#include "tests/differential/draft.h"
#include "tests/differential/random.h"

namespace differential {

Draft linear_draft(Random& random);  // networks in one to three domains, linear, with sources of time
Draft event_draft(
    Random& random);  // circuits with diodes, switches, comparators, samplers, and formulas of them
Draft derivative_draft(Random& random);  // either, small, with parameters and objectives
Draft filter_draft(Random& random);      // thermal and electrical networks with sensors and unknowns
Draft mechanism_draft(Random& random);   // trees and circuits of bodies in three dimensions

}  // namespace differential
