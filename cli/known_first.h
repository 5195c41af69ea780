// Before an estimation or a calibration: what it is asked for must be something that the readings tell.
#pragma once

#include <string>

#include "tellegen/identifiability/estimability.h"

namespace tellegen {

// Where it is not: the report on standard error, and StudyError (exit 1) with the reasons.
void require_known(const std::string& file, const Model& model, const Record& record,
                   const EstimabilityQuestion& question);

}  // namespace tellegen
