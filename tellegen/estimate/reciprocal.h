// Networks whose matrix is symmetric up to a scaling of the states: capacities and conductances, whatever the
// domain.
//
//   w_i a_ij = w_j a_ji      w: the capacities, up to a factor for each connected part
#pragma once

#include <optional>
#include <vector>

#include "tellegen/estimate/twin_model.h"

namespace tellegen {

// The square roots of w for the states in `own` (their rows and columns of F alone count); nothing where
// there is no such scaling.
std::optional<Vector> reciprocal_scaling(const SlopeRows& f, const std::vector<std::int32_t>& own);

}  // namespace tellegen
