#include "tellegen/deploy/fmu_units.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/units.h"

namespace tellegen {
namespace {

constexpr const char* base_units[] = {"kg", "m", "s", "A", "K", "mol", "rad"};
constexpr std::size_t second = 2;  // among these

// SI units that engineers write, in powers of the base units above.
struct SiUnit {
  const char* name;
  std::vector<int> powers;
};
const std::vector<SiUnit>& si_units() {
  static const std::vector<SiUnit> known = {{"V", {1, 2, -3, -1}},
                                            {"A", {0, 0, 0, 1}},
                                            {"ohm", {1, 2, -3, -2}},
                                            {"S", {-1, -2, 3, 2}},
                                            {"F", {-1, -2, 4, 2}},
                                            {"H", {1, 2, -2, -2}},
                                            {"C", {0, 0, 1, 1}},
                                            {"Wb", {1, 2, -2, -1}},
                                            {"T", {1, 0, -2, -1}},
                                            {"W", {1, 2, -3}},
                                            {"J", {1, 2, -2}},
                                            {"N m", {1, 2, -2}},
                                            {"K", {0, 0, 0, 0, 1}},
                                            {"K/W", {-1, -2, 3, 0, 1}},
                                            {"W/K", {1, 2, -3, 0, -1}},
                                            {"J/K", {1, 2, -2, 0, -1}},
                                            {"J/(kg K)", {0, 2, -2, 0, -1}},
                                            {"Pa", {1, -1, -2}},
                                            {"m3/s", {0, 3, -1}},
                                            {"m3", {0, 3}},
                                            {"m2", {0, 2}},
                                            {"m", {0, 1}},
                                            {"m/s", {0, 1, -1}},
                                            {"m/s2", {0, 1, -2}},
                                            {"N", {1, 1, -2}},
                                            {"N/m", {1, 0, -2}},
                                            {"N s/m", {1, 0, -1}},
                                            {"N m s", {1, 2, -1}},
                                            {"kg", {1}},
                                            {"kg/s", {1, 0, -1}},
                                            {"kg/m3", {1, -3}},
                                            {"kg m2", {1, 2}},
                                            {"rad/s", {0, 0, -1, 0, 0, 0, 1}},
                                            {"rad/s2", {0, 0, -2, 0, 0, 0, 1}},
                                            {"rad", {0, 0, 0, 0, 0, 0, 1}},
                                            {"s", {0, 0, 1}},
                                            {"Hz", {0, 0, -1}},
                                            {"mol", {0, 0, 0, 0, 0, 1}},
                                            {"1", {}}};
  return known;
}

const SiUnit* si_unit(const std::string& unit) {
  const auto& known = si_units();
  const auto find = [&](auto fits) {
    const auto found = std::find_if(known.begin(), known.end(), fits);
    return found == known.end() ? nullptr : &*found;
  };
  if (const SiUnit* same = find([&](const SiUnit& s) { return unit == s.name; })) return same;
  return find([&](const SiUnit& s) { return units().known(unit) && units().convertible(unit, s.name); });
}

// K: K/s; m/s: m/s2; W/K: W/(K s); N m: N m/s.
std::string per_second(const std::string& unit) {
  const auto slash = unit.find('/');
  if (unit == "1") return "1/s";
  if (slash == std::string::npos) return unit + "/s";
  const std::string below = unit.substr(slash + 1), above = unit.substr(0, slash);
  if (below == "s") return above + "/s2";
  if (below == "s2") return above + "/s3";
  return below.front() == '(' ? fmt::format("{}/{} s)", above, below.substr(0, below.size() - 1))
                              : fmt::format("{}/({} s)", above, below);
}

}  // namespace

FmuUnits::Defined& FmuUnits::of(const std::string& unit) {
  const SiUnit* si = si_unit(unit);
  return define(si ? si->name : "SI unit of " + unit, si ? std::optional(si->powers) : std::nullopt);
}

FmuUnits::Defined& FmuUnits::define(const std::string& name, std::optional<std::vector<int>> powers) {
  const auto found =
      std::find_if(defined_.begin(), defined_.end(), [&](const Defined& d) { return d.name == name; });
  if (found != defined_.end()) return *found;
  return defined_.emplace_back(Defined{name, std::move(powers), {}});
}

void FmuUnits::describe(pugi::xml_node variable, const std::string& unit, bool difference) {
  if (unit.empty() || unit == "any") return;
  Defined& defined = of(unit);
  variable.append_attribute("unit") = defined.name.c_str();
  if (unit == defined.name || !units().known(unit)) return;
  const double offset = units().from_si(0.0, unit);
  if (difference && offset != 0.0) return;
  defined.shown[unit] = {units().from_si(1.0, unit) - offset, offset};
  variable.append_attribute("displayUnit") = unit.c_str();
}

void FmuUnits::describe_rate(pugi::xml_node variable, const std::string& unit) {
  const SiUnit* si = unit.empty() || unit == "any" ? nullptr : si_unit(unit);
  if (!si) return;
  std::vector<int> powers = si->powers;
  powers.resize(std::size(base_units));
  --powers[second];
  variable.append_attribute("unit") = define(per_second(si->name), powers).name.c_str();
}

void FmuUnits::define(pugi::xml_node definitions) const {
  for (const Defined& d : defined_) {
    pugi::xml_node unit = definitions.append_child("Unit");
    unit.append_attribute("name") = d.name.c_str();
    if (d.powers) {
      pugi::xml_node base = unit.append_child("BaseUnit");
      for (std::size_t k = 0; k < d.powers->size(); ++k)
        if ((*d.powers)[k] != 0) base.append_attribute(base_units[k]) = (*d.powers)[k];
    }
    for (const auto& [name, conversion] : d.shown) {
      pugi::xml_node shown = unit.append_child("DisplayUnit");
      shown.append_attribute("name") = name.c_str();
      shown.append_attribute("factor") = fmt::format("{}", conversion.first).c_str();
      shown.append_attribute("offset") = fmt::format("{}", conversion.second).c_str();
    }
  }
}

}  // namespace tellegen
