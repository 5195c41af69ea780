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

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

struct Units::State {
  ut_system* system = nullptr;
  std::vector<UnitPtr> dimensions;  // one unit of each dimension seen
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

  Conversion make(const std::string& text) {
    Conversion conversion;
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
    conversion.dimension = dimension_of(unit.get());
    conversion.known = true;
    return conversion;
  }

  int dimension_of(const ut_unit* unit) {
    for (std::size_t k = 0; k < dimensions.size(); ++k)
      if (ut_are_convertible(dimensions[k].get(), unit)) return static_cast<int>(k);
    dimensions.push_back(own(ut_clone(unit)));
    return static_cast<int>(dimensions.size()) - 1;
  }
};

Units::Units() : state_(std::make_unique<State>()) {
  ut_set_error_message_handler(ut_ignore);
  state_->system = ut_read_xml(nullptr);
  if (!state_->system)
    throw std::runtime_error("the unit database of UDUNITS-2 cannot be read (is UDUNITS2_XML_PATH right?)");
  for (const auto& [symbol, meaning] : additions)
    ut_map_symbol_to_unit(symbol, UT_ASCII, own(ut_parse(state_->system, meaning, UT_ASCII)).get());
}

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

double Units::from_si(double value, std::string_view unit) const {
  const Conversion& c = state_->find(trim(unit));
  return (value - c.offset) * c.down / c.up;
}

double Units::to_si(double value, std::string_view unit) const {
  const Conversion& c = state_->find(trim(unit));
  return value * c.up / c.down + c.offset;
}

const Units& units() {
  static const Units system;
  return system;
}

}  // namespace tellegen
