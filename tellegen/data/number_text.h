// Decimal numbers at the speed of the memory they stand in.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tellegen {

inline constexpr double exact_powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A number with this decimal sign (0: point or comma) at the beginning of [p, end); where it ends, or null
// where there is none. Digits that fit 53 bits and a power of ten up to 22 are exact with one operation
// [Clinger 1990]; the rest is std::from_chars. 1e999 is infinite, 1e-999 zero.
inline const char* parse_number(const char* p, const char* end, char decimal, double& value) {
  const char* const begin = p;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* const digits = p;
  std::uint64_t mantissa = 0;
  while (p < end && static_cast<unsigned char>(*p - '0') < 10) mantissa = 10 * mantissa + (*p++ - '0');
  std::ptrdiff_t count = p - digits;
  int power = 0;
  if (p < end && (*p == decimal || (decimal == 0 && (*p == '.' || *p == ',')))) {
    const char* const fraction = ++p;
    while (p < end && static_cast<unsigned char>(*p - '0') < 10) mantissa = 10 * mantissa + (*p++ - '0');
    power = static_cast<int>(fraction - p);
    count += p - fraction;
  }
  if (count == 0) {  // inf, nan
    const auto [stop, error] = std::from_chars(digits, end, value);
    if (error != std::errc() || stop == digits || digits == end || *digits == '-') return nullptr;
    if (negative) value = -value;
    return stop;
  }
  if (p < end && (*p == 'e' || *p == 'E' || *p == 'd' || *p == 'D')) {
    const char* q = p + 1;
    const bool down = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) ++q;
    if (q < end && static_cast<unsigned char>(*q - '0') < 10) {
      int exponent = 0;
      for (; q < end && static_cast<unsigned char>(*q - '0') < 10; ++q)
        if (exponent < 100000) exponent = 10 * exponent + (*q - '0');
      power += down ? -exponent : exponent;
      p = q;
    }
  }
  if (count <= 19 && mantissa <= (std::uint64_t{1} << 53) && power >= -22 && power <= 22) {
    const auto whole = static_cast<double>(mantissa);
    value = power < 0 ? whole / exact_powers_of_ten[-power] : whole * exact_powers_of_ten[power];
    if (negative) value = -value;
    return p;
  }
  std::string text(begin + (*begin == '+'), p);
  for (char& c : text) {
    if (c == ',') c = '.';
    if (c == 'd' || c == 'D') c = 'e';
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) value = std::strtod(text.c_str(), nullptr);
  return p;
}

}  // namespace tellegen
