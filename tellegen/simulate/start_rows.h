// Where many runs of one model begin, side by side: what Simulation::restart() finds for one.
#pragma once

#include <vector>

#include "tellegen/equations/renumber.h"

namespace tellegen {

struct StartRows {
  SystemRows numbers;                // of the system's components
  std::vector<RowValue> x, rates{};  // as InitialState

  // The differentiated variable itself.
  RowValue differentiated(RowList& list, const EquationSystem& system, std::int32_t rate) const {
    const Rate& r = system.rates[rate];
    const Group& group = system.groups[r.group];
    const std::int32_t plus = group.plus[r.symbol][r.member], minus = group.minus[r.symbol][r.member];
    return list.subtract(plus < 0 ? RowValue() : x[plus], minus < 0 ? RowValue() : x[minus]);
  }
};

}  // namespace tellegen
