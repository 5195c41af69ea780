// Relations between measured signals and unknown parameters: the model's own equations with the readings put
// in (sensitivity/reduction.h).
#pragma once

#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/records/record.h"
#include "tellegen/sensitivity/reduction.h"

namespace tellegen {

using Relations = Reduction;

// `unknowns`: indices into model.parameters. Readings are smoothed by their sensors'
// noise, and missing ones interpolated (smooth.h). `more`: signals beside those of the record, as they are.
// `products`: of states may stand in rates and equations. Throws ModelError: the faults of topology.
Relations derive_relations(const Model& model, const Record& record, const std::vector<int>& unknowns,
                           const std::vector<ReductionRequest::Reading>& more = {}, bool products = false);

}  // namespace tellegen
