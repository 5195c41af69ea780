// What a fit of numbers to a record found, for people and for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tellegen/calibrate/calibrate.h"

namespace tellegen {

// Numbers, correlations, residuals and starts, as tables.
std::string stage_text(const Model& model, const StageResult& stage);

nlohmann::ordered_json stage_json(const Model& model, const StageResult& stage);

}  // namespace tellegen
