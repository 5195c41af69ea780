// Units as headers of logs have them.
//
//   t [ms], S1 (degC), I/mA, Q0_W, T <K>, X, mA       in brackets, or behind the name
//
// Brackets are plain. What stands behind a sign may as well be part of a name: v/c, dT/dt, T-s. It is a unit
// where it converts to what the column is to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// The unit that a text of a header stands for: "°C", "Deg C" and "C" beside temperatures are degC; 1/min and
// Hz beside angular speeds are revolutions. Unchanged where it is none that loggers write.
std::string header_unit(std::string_view text, std::string_view expected);

// "rad/s" of "rad_s", "m/s2" of "m_per_s2": columns whose names are names in a program have no other sign.
std::string with_slash(std::string_view unit);

// Whether a text is a unit as headers have them.
bool is_header_unit(std::string_view text);

// Whether both are the same to a number.
bool same_unit(std::string_view a, std::string_view b);

// A header cut in two: what may be its name and its unit, and the sign between them; '(': any bracket, '=':
// the whole is both, as in "rpm".
struct NameAndUnit {
  std::string name, unit;
  char sign = ' ';
};
// Every such cut, the longest unit first; whether it is one is not looked at.
std::vector<NameAndUnit> name_and_unit(std::string_view text);

enum class LooseUnit {
  none,       // part of the name
  unit,       // it converts to what is expected
  ambiguous,  // it may be either: T_C, m_g
  other       // clearly a unit, and of something else: I/mA where volts are expected
};
LooseUnit judge(const NameAndUnit& cut, std::string_view expected);

// "Loss [kW]" and "Loss (kW)" without the brackets, and what stands in them where it is a unit.
NameAndUnit stated_unit(std::string_view text);

}  // namespace tellegen
