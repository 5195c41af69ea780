#include "tellegen/netlist/numbers.h"

#include <fmt/format.h>

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
                               {"f", -15},
                               {"a", -18}};

// 4.7k is the number nearest to 4700, as a reader expects, and not 4.7 times 1000.
double scaled(std::string_view digits, double value, const Suffix& suffix) {
  if (digits.find_first_of("eE") != std::string_view::npos)
    return value * std::pow(10.0, suffix.exponent) * suffix.factor;
  const std::string text = fmt::format("{}e{}", digits, suffix.exponent);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value * suffix.factor;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<SpiceNumber> leading_number(std::string_view text) {
  const bool point = !text.empty() && text[0] == '.';
  if (text.size() <= point || !is_digit(text[point])) return std::nullopt;
  SpiceNumber number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error != std::errc()) return std::nullopt;
  number.length = static_cast<std::size_t>(end - text.data());
  for (const Suffix& suffix : suffixes)
    if (text.substr(number.length).starts_with(suffix.text)) {
      number.value = scaled(text.substr(0, number.length), number.value, suffix);
      number.length += suffix.text.size();
      break;
    }
  while (number.length < text.size() && std::isalpha(static_cast<unsigned char>(text[number.length])))
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
