// Numbers, names and JSON as every report and command writes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tellegen {

// Pretty, with a line end; what is not UTF-8 is replaced, never thrown at.
std::string json_text(const nlohmann::ordered_json& json);

// JSON has neither NaN nor infinity: null.
nlohmann::ordered_json json_number(double value);

std::string with_unit(const std::string& name, const std::string& unit);  // "n1.T [K]"
std::string comma_list(const std::vector<std::string>& names);            // "a, b, c"

// A value in a unit, for people; SI where the unit is empty.
std::string text_in_unit(double si, const std::string& unit, int digits = 6);

}  // namespace tellegen
