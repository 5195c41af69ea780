// Unknowns that may jump at a row: their variance is added to there, as if noise had driven them.
#pragma once

#include <cstdint>
#include <vector>

#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/filter.h"

namespace tellegen {

inline void widen(const TwinModel& plant, Filter& filter, std::int64_t row,
                  const std::vector<EstimateOptions::Widening>& widenings) {
  for (const EstimateOptions::Widening& w : widenings) {
    if (w.row != row) continue;
    for (std::size_t k = 0; k < plant.size(); ++k)
      if (plant.states()[k].unknown >= 0 && plant.states()[k].name == w.unknown)
        filter.widen(static_cast<long>(k), w.deviation * w.deviation);
  }
}

}  // namespace tellegen
