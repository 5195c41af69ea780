// Units as FMI describes them: powers of SI's base units, and what is shown instead.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

namespace tellegen {

// The units of one FMU, each defined once. All values are in SI units; the user's own unit is for display.
class FmuUnits {
 public:
  // Adds unit and displayUnit to a variable whose unit the user wrote so. A difference is not shown in a unit
  // with an offset.
  void describe(pugi::xml_node variable, const std::string& unit, bool difference = false);
  // Adds the unit of the rate of what is in this unit: V/s.
  void describe_rate(pugi::xml_node variable, const std::string& unit);
  void define(pugi::xml_node definitions) const;

 private:
  struct Defined {
    std::string name;                                        // of the SI unit
    std::optional<std::vector<int>> powers;                  // of base units, where they are known
    std::map<std::string, std::pair<double, double>> shown;  // factor and offset
  };
  Defined& of(const std::string& unit);
  Defined& define(const std::string& name, std::optional<std::vector<int>> powers);
  std::vector<Defined> defined_;
};

}  // namespace tellegen
