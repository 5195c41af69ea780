// A cell that is a number, as people and loggers write it:
//
//   1,234.5   80.000,000   1'234     signs between thousands
//   +  19.981                        blanks behind the sign
//   19.98 °C                         with its unit
#pragma once

#include <cmath>
#include <string_view>

namespace tellegen {

struct NumberStyle {
  char decimal = '.';   // 0: a point or a comma
  bool groups = false;  // a single sign between thousands is read, too: 1,234
};

// Whether the cell is a number, without a unit.
bool read_number(std::string_view cell, const NumberStyle& style, double& value);

// Voltmeters write 9.9e37, oscilloscopes 1e38 where they have no reading.
inline bool is_overload(double value) { return std::abs(value) >= 9.9e37; }

// What a sign within a number says: both signs occur, or one twice (certain); one with three digits behind it
// (either: 1,234 may be 1.234).
enum class Grouping { none, either, certain };
Grouping grouping_of(std::string_view cell, char decimal);

// "°C" of "19.98 °C"; empty where nothing stands behind a number and a blank.
std::string_view unit_behind(std::string_view cell, const NumberStyle& style);

}  // namespace tellegen
