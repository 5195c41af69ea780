// What .measure and .four of a netlist gave: tables for people, JSON for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tellegen/simulate/measure.h"

namespace tellegen {

std::string measure_table(const std::vector<MeasureResult>& measures);
std::string fourier_table(const FourierResult& result);
nlohmann::ordered_json to_json(const std::vector<MeasureResult>& measures);
nlohmann::ordered_json to_json(const std::vector<FourierResult>& results);

}  // namespace tellegen
