// A plain text table with aligned columns, for terminals and benchmark reports.
//
//   method        step [ms]   RMS [V]
//   trapezoidal         0.5    2.1e-4
//   bdf2               0.25   1.93e-4
//
// A column is set to the right where each of its cells reads as a number, or is "-" or empty; else to the
// left. Width is counted in characters, so that "µ" and "Ω" do not shift a line.
#pragma once

#include <string>
#include <vector>

namespace tellegen {

struct TextTable {
  std::vector<std::string> header;             // may be empty
  std::vector<std::vector<std::string>> rows;  // missing cells are empty
};

std::string to_text(const TextTable& table);
std::string to_markdown(const TextTable& table);

// A number for people: so many significant digits, no trailing zeros.
std::string brief_number(double value, int digits = 4);

}  // namespace tellegen
