// What `check` says of an FMU: how it can be run, and its variables by both names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tellegen/model/model.h"

namespace tellegen {

std::string fmu_text(const Model& model);
nlohmann::ordered_json fmu_json(const Model& model);

}  // namespace tellegen
