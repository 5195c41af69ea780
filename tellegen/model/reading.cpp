#include "tellegen/model/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>
#include <unordered_set>

#include "tellegen/model/units.h"
#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/nearest.h"

namespace tellegen {
namespace {

// For suggestions only; UDUNITS knows many more.
const std::vector<std::string> usual_units{
    "V",   "mV",  "kV",   "A",   "mA",  "uA",    "ohm",   "mohm", "kohm", "Mohm",  "F",   "uF",    "nF",
    "pF",  "H",   "mH",   "uH",  "W",   "mW",    "kW",    "J",    "kJ",   "Wh",    "kWh", "Ah",    "mAh",
    "s",   "ms",  "us",   "ns",  "min", "h",     "Hz",    "kHz",  "K",    "degC",  "m",   "mm",    "cm",
    "m2",  "m3",  "kg",   "g",   "N",   "Nm",    "N m",   "Pa",   "kPa",  "bar",   "rad", "rad/s", "rpm",
    "deg", "K/W", "mK/W", "W/K", "J/K", "kg m2", "N m s", "m/s",  "m3/s", "l/min", "Wb",  "T",     "%",
};

std::optional<Scalar> finite(const Source& source, const Value& value, std::string_view what, Scalar scalar) {
  if (!scalar.number || std::isfinite(*scalar.number)) return scalar;
  source.fault(value, "T125", fmt::format("{} is not a finite number", what));
  return std::nullopt;
}

}  // namespace

void FaultList::add(Place place, std::string_view code, std::string message,
                    std::vector<std::string> details) {
  std::erase(details, "");
  faults_.push_back({std::move(place), std::string(code), std::move(message), std::move(details)});
}

void FaultList::add(const ModelError& error) {
  faults_.insert(faults_.end(), error.faults().begin(), error.faults().end());
}

void FaultList::throw_if_any() {
  if (faults_.empty()) return;
  std::unordered_set<std::string> seen;  // a faulty subsystem used twice says it once
  std::vector<Fault> distinct;
  for (Fault& fault : faults_)
    if (seen.insert(to_text(fault)).second) distinct.push_back(std::move(fault));
  // Files in the order they were met, lines in order within each.
  std::vector<std::string> files;
  for (const Fault& fault : distinct)
    if (std::find(files.begin(), files.end(), fault.place.file) == files.end())
      files.push_back(fault.place.file);
  std::stable_sort(distinct.begin(), distinct.end(), [&](const Fault& a, const Fault& b) {
    const auto file_a = std::find(files.begin(), files.end(), a.place.file);
    const auto file_b = std::find(files.begin(), files.end(), b.place.file);
    return std::tie(file_a, a.place.line) < std::tie(file_b, b.place.line);
  });
  throw ModelError(std::move(distinct));
}

bool Source::is(const Value& value, Value::Type type, std::string_view what) const {
  if (value.type == type) return true;
  if (type == Value::Type::number && value.is_number()) return true;
  fault(value, "T102", fmt::format("{} must be {}, not {}", what, type_name(type), type_name(value.type)));
  return false;
}

void Source::known_keys(const Value& table, const std::vector<std::string_view>& keys,
                        std::string_view what) const {
  for (const Value& item : table.items) {
    if (std::find(keys.begin(), keys.end(), item.key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    fault(item, "T101", fmt::format("unknown key '{}' in {}", item.key, what),
          {did_you_mean(item.key, known), "known keys: " + joined(known)});
  }
}

std::string Source::text(const Value& table, std::string_view key, std::string_view what) const {
  const Value* value = table.find(key);
  if (!value || !is(*value, Value::Type::text, fmt::format("'{}' of {}", key, what))) return "";
  return std::string(value->text);
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest(name, candidates);
  return best.empty() ? "" : fmt::format("did you mean '{}'?", best);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

std::vector<std::string> shown(std::string_view text, const ParseError& error) {
  // What stands around the place, on one line; the mark is moved by characters, not by bytes.
  constexpr std::size_t before = 60, after = 60;
  const auto inside_character = [&](std::size_t at) { return at < text.size() && (text[at] & 0xc0) == 0x80; };
  std::size_t first = error.column > before ? error.column - before : 0;
  while (inside_character(first)) ++first;
  std::size_t end = std::min(text.size(), error.column + after);
  while (inside_character(end)) ++end;
  std::string line = first > 0 ? "... " : "", mark(line.size(), ' ');
  for (std::size_t at = first; at < end; ++at) {
    if (at < error.column && !inside_character(at)) mark += ' ';
    line += std::iscntrl(static_cast<unsigned char>(text[at])) ? ' ' : text[at];
  }
  if (end < text.size()) line += " ...";
  std::vector<std::string> details{line, mark + "^"};
  if (std::string_view(error.what()).starts_with("an operator is missing"))
    details.push_back("a product needs its sign: 2*pi, not 2 pi");
  const auto rate = text.substr(0, error.column).rfind("der(");
  if (rate != std::string_view::npos &&
      text.substr(rate, error.column - rate).find(')') == std::string_view::npos)
    details.push_back("der() takes the name of a variable: C*der(v), not der(C*v)");
  return details;
}

bool check_name(const Source& source, const Value& at, std::string_view name, std::string_view what) {
  std::string why;
  const auto word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
      !std::all_of(name.begin(), name.end(), word))
    why = "a name has letters, digits and underscores, and does not begin with a digit";
  else if (name == "t" || name == "pi" || name == "datum" || name == "der" || find_function(name))
    why = "this name has a meaning of its own in expressions";
  if (why.empty()) return true;
  source.fault(at, "T105", fmt::format("'{}' cannot be the name of {}", name, what), {why});
  return false;
}

namespace {

// "4k7" as it is printed on parts is "4.7 kohm", "1R5" is "1.5 ohm". Empty: it is not written so.
std::string meant_part_code(const Value& at, std::string_view unit, std::string_view expected) {
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  unit = unit.substr(0, unit.find(' '));
  const std::size_t number = at.is_text() ? at.text.find(unit) : std::string_view::npos;
  if (number == std::string_view::npos || unit.empty() || !digits(unit.substr(1)) ||
      !digits(at.text.substr(0, number)))
    return "";
  if (expected.empty())  // a parameter's own: what parts are marked so
    expected = std::string_view("RkKMG").find(unit[0]) != std::string_view::npos ? "ohm" : "F";
  const std::string prefix = unit[0] == 'R' ? "" : unit[0] == 'K' ? "k" : std::string(1, unit[0]);
  const std::string meant = prefix + std::string(expected);
  if (!units().known(meant) || !units().convertible(meant, expected)) return "";
  return fmt::format("did you mean '{}.{} {}'?", at.text.substr(0, number), unit.substr(1), meant);
}

// "1k" beside ohms is "1 kohm", "25 C" beside kelvins "25 degC".
std::string meant_unit(const Value& at, std::string_view unit, std::string_view expected) {
  if (expected.empty() || expected == "1") return "";
  if (std::string code = meant_part_code(at, unit, expected); !code.empty()) return code;
  std::string meant;
  if (unit == "C" && units().convertible("K", expected)) meant = "degC";
  if (unit == "F" && units().convertible("K", expected)) meant = "degF";
  const std::string prefixed = std::string(unit == "K"                      ? "k"
                                           : unit == "meg" || unit == "Meg" ? "M"
                                                                            : unit) +
                               std::string(expected);
  if (meant.empty() && units().known(prefixed) && units().convertible(prefixed, expected)) meant = prefixed;
  const std::size_t number = at.is_text() ? at.text.find(unit) : std::string_view::npos;
  if (meant.empty() || number == std::string_view::npos || number == 0) return "";
  std::string_view value = at.text.substr(0, number);
  while (value.ends_with(' ')) value.remove_suffix(1);
  return fmt::format("did you mean '{} {}'?", value, meant);
}

}  // namespace

bool check_known_unit(const Source& source, const Value& at, std::string_view unit, std::string_view what) {
  if (units().known(unit)) return true;
  const std::string code = meant_part_code(at, unit, "");
  source.fault(at, "T122", fmt::format("unknown unit '{}' for {}", unit, what),
               {code.empty() ? did_you_mean(unit, usual_units) : code,
                "units are written as UDUNITS does: 'K/W', 'kg m2', 'N m s/rad'"});
  return false;
}

bool check_unit(const Source& source, const Value& at, std::string_view unit, std::string_view expected,
                std::string_view what) {
  if (units().convertible(unit, expected)) return true;
  source.fault(at, "T123", fmt::format("{} is given in '{}'", what, unit),
               {meant_unit(at, unit, expected),
                expected.empty() || expected == "1"
                    ? "it is a number without a unit"
                    : fmt::format("its unit is '{}', or one convertible to it", expected)});
  return false;
}

std::optional<Scalar> read_scalar(const Source& source, const Value& value, std::string_view what,
                                  std::optional<std::string_view> unit) {
  if (value.is_number())
    return finite(source, value, what, {unit ? units().to_si(value.number, *unit) : value.number, "", {}});
  if (!value.is_text()) {
    source.fault(
        value, "T102",
        fmt::format("{} must be a number, a quantity or an expression, not {}", what, type_name(value.type)));
    return std::nullopt;
  }
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(value.text);
  } catch (const UnknownUnit& error) {
    if (const std::string meant = unit ? meant_unit(value, error.unit, *unit) : ""; !meant.empty())
      source.fault(value, "T122", fmt::format("unknown unit '{}' for {}", error.unit, what), {meant});
    else
      check_known_unit(source, value, error.unit, what);
    return std::nullopt;
  }
  if (!quantity) return Scalar{std::nullopt, "", value.text};
  if (quantity->unit.empty())
    return finite(source, value, what, {unit ? units().to_si(quantity->si, *unit) : quantity->si, "", {}});
  if (unit && !check_unit(source, value, quantity->unit, *unit, what)) return std::nullopt;
  return finite(source, value, what, {quantity->si, quantity->unit, {}});
}

std::optional<double> read_quantity(const Source& source, const Value& value, std::string_view what,
                                    std::string_view unit) {
  const std::optional<Scalar> scalar = read_scalar(source, value, what);
  if (!scalar) return std::nullopt;
  if (!scalar->number) {
    source.fault(value, "T102", fmt::format("{} must be a number or a quantity", what),
                 {fmt::format("'{}' is neither", scalar->expression)});
    return std::nullopt;
  }
  if (!scalar->unit.empty() && !check_unit(source, value, scalar->unit, unit, what)) return std::nullopt;
  return scalar->number;
}

}  // namespace tellegen
