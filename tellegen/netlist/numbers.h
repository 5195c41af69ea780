// Numbers as SPICE writes them: 10, 4.7k, 1.5MEG, 100nF, 2e-3, 2d-3. Letters after the suffix are a unit and
// are passed over; M is milli and MEG is mega. As in ngspice 39 there is no suffix for atto: 2A is two
// ampere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tellegen {

struct SpiceNumber {
  double value = 0.0;
  std::size_t length = 0;  // of the text it was read from
};

// The number at the beginning of an unsigned text, in lower case; nothing where there is none.
std::optional<SpiceNumber> leading_number(std::string_view text);

// The whole text as a number, with its sign.
std::optional<double> read_number(std::string_view text);

// As TOML and Tellegen's expressions write it, with every digit it needs.
std::string number_text(double value);

}  // namespace tellegen
