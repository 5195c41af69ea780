#include "tellegen/report/text.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/model/units.h"
#include "tellegen/results/table.h"

namespace tellegen {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
}

std::string comma_list(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string text_in_unit(double si, const std::string& unit, int digits) {
  return brief_number(in_unit(si, unit) + 0.0, digits);
}

}  // namespace tellegen
