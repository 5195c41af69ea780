#include "tellegen/netlist/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace tellegen {
namespace {

struct Suffix {
  std::string_view text;
  int exponent;         // a power of ten
  double factor = 1.0;  // and what it is multiplied with
};

// The longer ones first.
constexpr Suffix suffixes[] = {{"meg", 6},
                               {"mil", -6, 25.4},
                               {"t", 12},
                               {"g", 9},
                               {"k", 3},
                               {"m", -3},
                               {"u", -6},
                               {"\xc2\xb5", -6} /* micro sign */,
                               {"\xce\xbc", -6} /* Greek mu */,
                               {"n", -9},
                               {"p", -12},
                               {"f", -15}};

// 4.7k is the number nearest to 4700, as a reader expects, and not 4.7 times 1000.
double scaled(std::string_view digits, double value, const Suffix& suffix) {
  if (digits.find_first_of("eE") != std::string_view::npos)
    return value * std::pow(10.0, suffix.exponent) * suffix.factor;
  const std::string text = fmt::format("{}e{}", digits, suffix.exponent);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value * suffix.factor;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Behind digits, point and exponent. 1d-3 is 1e-3, as Fortran writes it; an 'e' or 'd' without digits behind
// it is a unit.
std::size_t number_end(std::string_view text) {
  std::size_t k = 0;
  while (k < text.size() && (is_digit(text[k]) || text[k] == '.')) ++k;
  if (k == text.size() || (text[k] != 'e' && text[k] != 'd')) return k;
  std::size_t exponent = k + 1;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
  if (exponent == text.size() || !is_digit(text[exponent])) return k;
  while (exponent < text.size() && is_digit(text[exponent])) ++exponent;
  return exponent;
}

}  // namespace

std::optional<SpiceNumber> leading_number(std::string_view text) {
  const bool point = !text.empty() && text[0] == '.';
  if (text.size() <= point || !is_digit(text[point])) return std::nullopt;
  SpiceNumber number;
  std::string digits(text.substr(0, number_end(text)));
  std::replace(digits.begin(), digits.end(), 'd', 'e');
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  if (error != std::errc()) return std::nullopt;
  number.length = static_cast<std::size_t>(end - digits.data());
  for (const Suffix& suffix : suffixes)
    if (text.substr(number.length).starts_with(suffix.text)) {
      number.value = scaled(digits.substr(0, number.length), number.value, suffix);
      number.length += suffix.text.size();
      break;
    }
  // The rest is a unit, also one beyond ASCII: 27°C, 9kΩ.
  const auto of_unit = [](unsigned char c) { return std::isalpha(c) || c >= 0x80; };
  while (number.length < text.size() && of_unit(static_cast<unsigned char>(text[number.length])))
    ++number.length;
  return number;
}

std::optional<double> read_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto number = leading_number(text);
  if (!number || number->length != text.size()) return std::nullopt;
  return negative ? -number->value : number->value;
}

std::string number_text(double value) { return fmt::format("{}", value); }

}  // namespace tellegen
