#include "tellegen/model/units.h"

#include <udunits2.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace tellegen {
namespace {

using UnitPtr = std::unique_ptr<ut_unit, decltype(&ut_free)>;
using ConverterPtr = std::unique_ptr<cv_converter, decltype(&cv_free)>;

UnitPtr own(ut_unit* unit) { return {unit, &ut_free}; }

// What UDUNITS lacks and engineers write. As symbols, so that prefixes work: mAh, kWh.
constexpr std::array<std::array<const char*, 2>, 5> additions{{
    {"Ah", "A h"},
    {"Wh", "W h"},
    {"Nm", "N m"},
    {"VA", "W"},
    {"deg", "arc_degree"},
}};

// The product of SI base units with a unit's dimension: the unit without its scale and offset.
struct BaseUnit {
  UnitPtr unit{nullptr, &ut_free};
  bool linear = true;  // false: logarithms and dates, which are no physical quantities here
};

BaseUnit base_of(const ut_unit* unit);

ut_status visit_basic(const ut_unit* unit, void* out) {
  static_cast<BaseUnit*>(out)->unit = own(ut_clone(unit));
  return UT_SUCCESS;
}
ut_status visit_product(const ut_unit* unit, int count, const ut_unit* const* basics, const int* powers,
                        void* out) {
  UnitPtr product = own(ut_get_dimensionless_unit_one(ut_get_system(unit)));
  for (int k = 0; k < count; ++k)
    product = own(ut_multiply(product.get(), own(ut_raise(basics[k], powers[k])).get()));
  static_cast<BaseUnit*>(out)->unit = std::move(product);
  return UT_SUCCESS;
}
ut_status visit_galilean(const ut_unit*, double, const ut_unit* underlying, double, void* out) {
  *static_cast<BaseUnit*>(out) = base_of(underlying);
  return UT_SUCCESS;
}
ut_status visit_timestamp(const ut_unit*, const ut_unit*, double, void* out) {
  static_cast<BaseUnit*>(out)->linear = false;
  return UT_SUCCESS;
}
ut_status visit_logarithmic(const ut_unit*, double, const ut_unit*, void* out) {
  static_cast<BaseUnit*>(out)->linear = false;
  return UT_SUCCESS;
}

BaseUnit base_of(const ut_unit* unit) {
  const ut_visitor visitor{visit_basic, visit_product, visit_galilean, visit_timestamp, visit_logarithmic};
  BaseUnit base;
  ut_accept_visitor(unit, &visitor, &base);
  return base;
}

// value in SI = value*up/down + offset. Powers of ten are kept exact, so "2.5 ms" is 0.0025 to the last bit.
struct Conversion {
  bool known = false;
  int dimension = -1;  // units convertible into each other share it
  double up = 1.0, down = 1.0, offset = 0.0;
};

void set_factor(Conversion& conversion, double factor) {
  conversion.up = factor;
  const double exponent = std::round(std::log10(std::fabs(factor)));
  if (factor <= 0.0 || std::fabs(exponent) > 22.0) return;  // 10^22 is the last exact power of ten
  const double power = std::pow(10.0, std::fabs(exponent));
  const double nearby = exponent < 0.0 ? 1.0 / power : power;
  if (std::fabs(factor / nearby - 1.0) > 1e-14) return;
  conversion.up = exponent < 0.0 ? 1.0 : power;
  conversion.down = exponent < 0.0 ? power : 1.0;
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

// A unit as powers of m, kg, s, A, K, mol, cd and ten: what most models have, "mK/W", "kg m2", "N m s/rad".
using Powers = std::array<int, 8>;

struct PlainUnit {
  std::string_view symbol;
  Powers powers;
  bool prefixed = true;  // takes prefixes
};

constexpr PlainUnit plain_units[] = {
    {"m", {1}},
    {"g", {0, 1, 0, 0, 0, 0, 0, -3}},
    {"s", {0, 0, 1}},
    {"A", {0, 0, 0, 1}},
    {"K", {0, 0, 0, 0, 1}},
    {"rad", {}},
    {"Hz", {0, 0, -1}},
    {"N", {1, 1, -2}},
    {"Nm", {2, 1, -2}},
    {"Pa", {-1, 1, -2}},
    {"bar", {-1, 1, -2, 0, 0, 0, 0, 5}},
    {"J", {2, 1, -2}},
    {"W", {2, 1, -3}},
    {"VA", {2, 1, -3}},
    {"C", {0, 0, 1, 1}},
    {"V", {2, 1, -3, -1}},
    {"F", {-2, -1, 4, 2}},
    {"ohm", {2, 1, -3, -2}},
    {"S", {-2, -1, 3, 2}},
    {"Wb", {2, 1, -2, -1}},
    {"T", {0, 1, -2, -1}},
    {"H", {2, 1, -2, -2}},
    {"1", {}, false},
    {"%", {0, 0, 0, 0, 0, 0, 0, -2}, false},
};

constexpr std::pair<std::string_view, int> plain_prefixes[] = {{"k", 3},   {"m", -3}, {"u", -6}, {"n", -9},
                                                               {"p", -12}, {"M", 6},  {"G", 9},  {"c", -2}};

std::optional<Powers> plain_symbol(std::string_view symbol) {
  for (const PlainUnit& unit : plain_units)
    if (unit.symbol == symbol) return unit.powers;
  for (const auto& [prefix, power] : plain_prefixes)
    if (symbol.starts_with(prefix))
      for (const PlainUnit& unit : plain_units)
        if (unit.prefixed && unit.symbol == symbol.substr(prefix.size())) {
          Powers powers = unit.powers;
          powers.back() += power;
          return powers;
        }
  return std::nullopt;
}

// "N m s/rad", "kg m2", "m3/s"; nothing where it is written otherwise.
std::optional<Powers> plain_unit(std::string_view text) {
  Powers total{};
  int sign = 1;
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    if (text[at] ==
        '/') {  // UDUNITS divides by what follows up to the next blank or sign: one factor is clear
      if (!any || sign < 0) return std::nullopt;
      sign = -1;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && (std::isalpha(static_cast<unsigned char>(text[end])) || text[end] == '%'))
      ++end;
    if (end == at && text[at] == '1') ++end;
    const auto powers = plain_symbol(text.substr(at, end - at));
    if (end == at || !powers) return std::nullopt;
    int exponent = 1;
    if (end < text.size() && text[end] >= '2' && text[end] <= '9') exponent = text[end++] - '0';
    if (end < text.size() && !is_space(text[end]) && text[end] != '/') return std::nullopt;
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += sign * exponent * (*powers)[k];
    if (sign < 0 && end < text.size()) return std::nullopt;  // nothing behind a divisor
    any = true;
    at = end;
  }
  if (!any || std::abs(total.back()) > 22) return std::nullopt;
  return total;
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

struct Units::State {
  bool shortcut = true;
  ut_system* system = nullptr;      // read when it is first needed
  std::vector<UnitPtr> dimensions;  // one unit of each dimension seen; empty: not needed of UDUNITS yet
  std::vector<std::pair<Powers, int>> plain_dimensions;  // those of plain units
  std::unordered_map<std::string, Conversion, TextHash, std::equal_to<>> conversions;
  std::shared_mutex mutex;  // guards everything above: UDUNITS itself is not thread-safe

  const Conversion& find(std::string_view unit) {
    {
      std::shared_lock lock(mutex);
      const auto found = conversions.find(unit);
      if (found != conversions.end()) return found->second;  // nodes of the map never move
    }
    std::unique_lock lock(mutex);
    return conversions.try_emplace(std::string(unit), make(std::string(unit))).first->second;
  }

  void load() {
    if (system) return;
    ut_set_error_message_handler(ut_ignore);
    system = ut_read_xml(nullptr);
    if (!system)
      throw std::runtime_error("the unit database of UDUNITS-2 cannot be read (is UDUNITS2_XML_PATH right?)");
    for (const auto& [symbol, meaning] : additions)
      ut_map_symbol_to_unit(symbol, UT_ASCII, own(ut_parse(system, meaning, UT_ASCII)).get());
    for (const auto& [powers, dimension] : plain_dimensions) dimensions[dimension] = unit_of(powers);
  }

  UnitPtr unit_of(const Powers& powers) const {
    constexpr const char* bases[] = {"m", "kg", "s", "A", "K", "mol", "cd"};
    std::string text = "1";
    for (std::size_t k = 0; k < std::size(bases); ++k)
      if (powers[k] != 0) text += " " + std::string(bases[k]) + std::to_string(powers[k]);
    return own(ut_parse(system, text.c_str(), UT_ASCII));
  }

  int plain_dimension(Powers powers) {
    powers.back() = 0;
    for (const auto& [known, dimension] : plain_dimensions)
      if (known == powers) return dimension;
    int dimension = static_cast<int>(dimensions.size());
    if (system)
      dimension = dimension_of(unit_of(powers).get());
    else
      dimensions.push_back(own(nullptr));
    plain_dimensions.emplace_back(powers, dimension);
    return dimension;
  }

  Conversion make(const std::string& text) {
    Conversion conversion;
    if (shortcut) {
      if (text.empty() || text == "degC" || plain_unit(text)) {
        const Powers powers = text.empty()     ? Powers{}
                              : text == "degC" ? Powers{0, 0, 0, 0, 1}
                                               : *plain_unit(text);
        const int ten = powers.back();
        (ten < 0 ? conversion.down : conversion.up) = std::pow(10.0, std::abs(ten));
        conversion.offset = text == "degC" ? 273.15 : 0.0;
        conversion.dimension = plain_dimension(powers);
        conversion.known = true;
        return conversion;
      }
    }
    load();
    const UnitPtr unit = own(ut_parse(system, text.empty() ? "1" : text.c_str(), UT_UTF8));
    if (!unit) return conversion;
    const BaseUnit base = base_of(unit.get());
    if (!base.linear || !base.unit) return conversion;
    const ConverterPtr converter(ut_get_converter(unit.get(), base.unit.get()), &cv_free);
    if (!converter) return conversion;
    conversion.offset = cv_convert_double(converter.get(), 0.0);
    // A unit with an offset (degC) is its unit without one, moved: take the factor from a large value, where
    // the offset cannot spoil its digits.
    const double large = conversion.offset == 0.0 ? 1.0 : 1e9;
    set_factor(conversion, (cv_convert_double(converter.get(), large) - conversion.offset) / large);
    conversion.dimension = dimension_of(base.unit.get());
    conversion.known = true;
    return conversion;
  }

  // `base` has neither scale nor offset.
  int dimension_of(const ut_unit* base) {
    for (std::size_t k = 0; k < dimensions.size(); ++k)
      if (same_dimension(dimensions[k].get(), base)) return static_cast<int>(k);
    dimensions.push_back(own(ut_clone(base)));
    return static_cast<int>(dimensions.size()) - 1;
  }

  // To UDUNITS a unit is convertible into its reciprocal too, s into Hz and W/K into K/W.
  static bool same_dimension(const ut_unit* a, const ut_unit* b) {
    const ConverterPtr converter(ut_get_converter(const_cast<ut_unit*>(a), const_cast<ut_unit*>(b)),
                                 &cv_free);
    return converter && cv_convert_double(converter.get(), 2.0) > cv_convert_double(converter.get(), 1.0);
  }
};

Units::Units(bool shortcut) : state_(std::make_unique<State>()) { state_->shortcut = shortcut; }

Units::~Units() {
  state_->dimensions.clear();
  if (state_->system) ut_free_system(state_->system);
}

std::optional<Quantity> Units::parse(std::string_view text) const {
  text = trim(text);
  const char* first = text.data();
  const char* const last = first + text.size();
  if (first != last && *first == '+') ++first;
  // A digit must follow: from_chars would also take "inf" and "nan".
  const char* digit = first != last && *first == '-' ? first + 1 : first;
  if (digit == last || !((*digit >= '0' && *digit <= '9') || *digit == '.')) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::numeric_limits<double>::infinity();
  const std::string_view unit = trim({end, static_cast<std::size_t>(last - end)});
  if (unit.empty()) return Quantity{value, ""};
  // After a number an expression has an operator; a letter, a sign like % or a degree, or a digit
  // ("3 1/s") can only begin a unit.
  const auto c = static_cast<unsigned char>(unit.front());
  if (!(std::isalnum(c) || c == '%' || c == '_' || c >= 0x80)) return std::nullopt;
  const Conversion& conversion = state_->find(unit);
  if (!conversion.known) throw UnknownUnit(unit);
  return Quantity{value * conversion.up / conversion.down + conversion.offset, std::string(unit)};
}

bool Units::known(std::string_view unit) const { return state_->find(trim(unit)).known; }

bool Units::convertible(std::string_view a, std::string_view b) const {
  const Conversion &from = state_->find(trim(a)), &to = state_->find(trim(b));
  return from.known && to.known && from.dimension == to.dimension;
}

double Units::from_si(double value, std::string_view unit) const { return scale(unit).from_si(value); }

double Units::to_si(double value, std::string_view unit) const { return scale(unit).to_si(value); }

UnitScale Units::scale(std::string_view unit) const {
  const Conversion& c = state_->find(trim(unit));
  return {c.up, c.down, c.offset};
}

const Units& units() {
  static const Units system;
  return system;
}

double in_unit(double si, const std::string& unit) { return unit.empty() ? si : units().from_si(si, unit); }

double deviation_in_unit(double si, const std::string& unit) {
  return unit.empty() ? si : units().from_si(si, unit) - units().from_si(0.0, unit);
}

}  // namespace tellegen
