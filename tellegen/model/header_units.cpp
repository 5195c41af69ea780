#include "tellegen/model/header_units.h"

#include <algorithm>
#include <array>

#include "tellegen/model/units.h"

namespace tellegen {
namespace {

// What loggers write, and what UDUNITS knows.
constexpr std::pair<std::string_view, std::string_view> written_units[] = {
    {"°C", "degC"},         {"° C", "degC"},    {"deg C", "degC"}, {"degree C", "degC"}, {"grad C", "degC"},
    {"celsius", "degC"},    {"℃", "degC"},      {"grd c", "degC"}, {"°F", "degF"},       {"deg F", "degF"},
    {"fahrenheit", "degF"}, {"kelvin", "K"},    {"Ω", "ohm"},      {"Ω", "ohm"},         {"ohms", "ohm"},
    {"mΩ", "mohm"},         {"kΩ", "kohm"},     {"mohms", "mohm"}, {"volts", "V"},       {"volt", "V"},
    {"vdc", "V"},           {"vac", "V"},       {"amps", "A"},     {"amp", "A"},         {"amperes", "A"},
    {"adc", "A"},           {"watts", "W"},     {"watt", "W"},     {"sec", "s"},         {"secs", "s"},
    {"second", "s"},        {"seconds", "s"},   {"sek", "s"},      {"msec", "ms"},       {"usec", "us"},
    {"µs", "us"},           {"μs", "us"},       {"mins", "min"},   {"minutes", "min"},   {"hrs", "h"},
    {"hours", "h"},         {"std", "h"},       {"rpm", "rpm"},    {"1/min", "rpm"},     {"u/min", "rpm"},
    {"min-1", "rpm"},       {"min^-1", "rpm"},  {"°", "deg"},      {"m/s²", "m/s2"},     {"m³/s", "m3/s"},
    {"m³/h", "m3/h"},       {"l/min", "l/min"}, {"lpm", "l/min"},  {"mm²", "mm2"},       {"µV", "uV"},
    {"µA", "uA"},           {"µm", "um"},       {"barg", "bar"},   {"bara", "bar"},      {"W/m²", "W/m2"},
    {"ºC", "degC"},         {"ºF", "degF"},     {"v dc", "V"},     {"v ac", "V"},        {"a dc", "A"},
    {"a ac", "A"},          {"mvdc", "mV"},     {"mv dc", "mV"},   {"madc", "mA"},       {"ma dc", "mA"},
    {"vrms", "V"},          {"arms", "A"}};

// The same dimension as rad/s, and per revolution.
constexpr std::pair<std::string_view, std::string_view> per_revolution[] = {
    {"1/min", "rpm"}, {"/min", "rpm"},  {"min-1", "rpm"},       {"min^-1", "rpm"},
    {"min⁻¹", "rpm"}, {"u/min", "rpm"}, {"Hz", "revolution/s"}, {"kHz", "1000 revolution/s"}};

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

// rad/s and rpm, and not 1/s or Hz: a frequency is no speed.
bool is_angular_speed(std::string_view unit) {
  constexpr std::array angles{"rad", "rpm", "deg", "rev", "turn", "circle", "cycle"};
  return std::any_of(angles.begin(), angles.end(),
                     [&](const char* angle) { return unit.find(angle) != unit.npos; }) &&
         units().convertible(unit, "rad/s");
}

bool is_temperature(std::string_view unit) { return !unit.empty() && units().convertible("K", unit); }

std::string_view bare_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

constexpr std::string_view signs = "/ _:,.-|";

std::string_view name_until(std::string_view text) {
  const std::size_t last = text.find_last_not_of(std::string(signs) + "\t");
  text = text.substr(0, last == text.npos ? 0 : last + 1);
  if (text.ends_with(" in")) text.remove_suffix(3);
  return bare_text(text);
}

struct Bracket {
  std::size_t from = 0, to = 0;  // the signs themselves
};

std::vector<Bracket> brackets_of(std::string_view text) {
  std::vector<Bracket> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t kind = std::string_view("[(<{").find(text[at]);
    if (kind == std::string_view::npos) continue;
    const std::size_t end = text.find("])>}"[kind], at);
    if (end == text.npos) break;
    found.push_back({at, end});
    at = end;
  }
  return found;
}

}  // namespace

std::string with_slash(std::string_view unit) {
  const std::string_view sign = unit.find("_per_") == unit.npos ? "_" : "_per_";
  const std::size_t at = unit.find(sign);
  if (at == unit.npos) return std::string(unit);
  return std::string(unit.substr(0, at)) + "/" + std::string(unit.substr(at + sign.size()));
}

std::string header_unit(std::string_view text, std::string_view expected) {
  const auto fits = [&](std::string_view unit) {
    return units().known(unit) && (expected.empty() || units().convertible(unit, expected));
  };
  // C is a coulomb, F a farad, and neither a temperature.
  if (is_temperature(expected)) {
    if (text == "C") return "degC";
    if (text == "F") return "degF";
  }
  if (small_letters(text) == "min" && (expected.empty() || units().convertible("s", expected)))
    return "min";  // and no mega-inch
  if (text == "PS" && !expected.empty() && units().convertible("W", expected)) return "735.49875 W";
  if (is_angular_speed(expected))
    for (const auto& [written, unit] : per_revolution)
      if (small_letters(text) == small_letters(written)) return std::string(unit);
  const bool ascii =
      text.find_first_of("\xC2\xC3\xCE\xE2") == text.npos;  // "°C" is known, and degC what people know
  if (ascii && fits(text)) return std::string(text);
  for (const auto& [written, unit] : written_units)
    if (text == written || small_letters(text) == small_letters(written)) return std::string(unit);
  if (const std::string small = small_letters(text); !units().known(text) && fits(small)) return small;
  return std::string(text);
}

bool is_header_unit(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.+- ") == text.npos) return false;
  return units().known(header_unit(text, ""));
}

bool same_unit(std::string_view a, std::string_view b) {
  const auto si = [](double value, std::string_view unit) {
    return unit.empty() ? value : units().to_si(value, unit);
  };
  return si(0.0, a) == si(0.0, b) && si(1.0, a) == si(1.0, b);
}

std::vector<NameAndUnit> name_and_unit(std::string_view text) {
  std::vector<NameAndUnit> cuts;
  if (!bare_text(text).empty()) cuts.push_back({std::string(text), std::string(bare_text(text)), '='});
  const std::vector<Bracket> brackets = brackets_of(text);
  for (const Bracket& b : brackets) {
    std::string name(bare_text(text.substr(0, b.from)));
    if (const std::string_view rest = bare_text(text.substr(b.to + 1)); !rest.empty())
      name += (name.empty() ? "" : " ") + std::string(rest);
    if (!name.empty())
      cuts.push_back({name, std::string(bare_text(text.substr(b.from + 1, b.to - b.from - 1))), '('});
  }
  // "Temp, °C (LGR S/N: 1)": what stands in brackets at the end is not behind the unit.
  std::string_view body = bare_text(text);
  for (auto b = brackets.rbegin(); b != brackets.rend() && b->to + 1 == body.size(); ++b)
    body = bare_text(text.substr(0, b->from));
  for (std::size_t at = 1; at < body.size(); ++at) {
    if (signs.find(body[at]) == signs.npos) continue;
    const std::string_view unit = bare_text(body.substr(at + 1)), name = name_until(body.substr(0, at));
    if (unit.empty() || name.empty() || signs.find(unit[0]) != signs.npos) continue;
    if (!cuts.empty() && cuts.back().unit == unit) {  // "X, mA" and "X / mA": the blank says nothing
      if (body[at] != ' ') cuts.back().sign = body[at];
      continue;
    }
    cuts.push_back({std::string(name), body[at] == '_' ? with_slash(unit) : std::string(unit), body[at]});
  }
  return cuts;
}

LooseUnit judge(const NameAndUnit& cut, std::string_view expected) {
  const std::string& text = cut.unit;
  // Constants that UDUNITS knows, and derivatives: dT/dt.
  if (text == "c" || text == "e" || text == "pi" || text == "dt" || !is_header_unit(text))
    return LooseUnit::none;
  const bool strong = cut.sign == '/' || cut.sign == '(' || cut.sign == ',';
  const bool letter = text.size() == 1;
  if (expected.empty()) return strong && (!letter || cut.sign == '/') ? LooseUnit::unit : LooseUnit::none;
  const std::string unit = header_unit(text, expected);
  const bool converts = units().convertible(unit, expected);
  if (cut.sign == '=') return converts && !letter ? LooseUnit::unit : LooseUnit::none;
  if (!converts) return (cut.sign == '/' || cut.sign == '(') && !letter ? LooseUnit::other : LooseUnit::none;
  if (units().convertible(expected, "1")) {
    // A ratio: nearly every count is one.
    constexpr std::array known{"%", "percent", "ppm", "deg", "°", "rad"};
    return std::find(known.begin(), known.end(), text) != known.end() ? LooseUnit::unit : LooseUnit::none;
  }
  // Letters are indices, too: the temperature of F, the mass of g. Times have no others.
  const bool subscript = (letter && (!strong || is_temperature(expected))) || text == "in";
  if (subscript && !same_unit(unit, expected) && !units().convertible(expected, "s"))
    return LooseUnit::ambiguous;
  return LooseUnit::unit;
}

NameAndUnit stated_unit(std::string_view text) {
  for (const auto& [open, close] : {std::pair{'[', ']'}, {'(', ')'}}) {
    const std::size_t at = text.rfind(open);
    if (!text.ends_with(close) || at == text.npos || at == 0) continue;
    const std::string unit(bare_text(text.substr(at + 1, text.size() - at - 2)));
    if (open == '[' || is_header_unit(unit)) return {std::string(bare_text(text.substr(0, at))), unit, '('};
  }
  return {std::string(text), "", ' '};
}

}  // namespace tellegen
