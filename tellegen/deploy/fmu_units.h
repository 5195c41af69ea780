// Units as FMI describes them: powers of SI's base units, and what is shown instead.
#pragma once

#include <map>
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
  void define(pugi::xml_node definitions) const;

 private:
  struct Defined {
    std::string name;                                        // of the SI unit
    const std::vector<int>* powers;                          // of base units; none: not known
    std::map<std::string, std::pair<double, double>> shown;  // factor and offset
  };
  Defined& of(const std::string& unit);
  std::vector<Defined> defined_;
};

}  // namespace tellegen
