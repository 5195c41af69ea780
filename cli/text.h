// What all commands write alike.
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

}  // namespace tellegen
