// Units, by UDUNITS-2. Everything inside Tellegen is SI; units live at the edges of the program.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tellegen {

// A value given as text: "30.47 mK/W", "40 degC", "1e-3". `unit` is empty for a bare number.
struct Quantity {
  double si = 0.0;
  std::string unit;
};

struct UnknownUnit : std::invalid_argument {
  explicit UnknownUnit(std::string_view text)
      : std::invalid_argument("unknown unit '" + std::string(text) + "'"), unit(text) {}
  std::string unit;
};

// Between a unit and SI: with the bits of Units::to_si() and from_si().
struct UnitScale {
  double up = 1.0, down = 1.0, offset = 0.0;
  double to_si(double value) const { return value * up / down + offset; }
  double from_si(double value) const { return (value - offset) * down / up; }
};

class Units {
 public:
  // Units that are powers of ten of SI's are known without UDUNITS, whose database takes longer to read than
  // a small model to run; `shortcut` false: everything by UDUNITS.
  explicit Units(bool shortcut = true);
  ~Units();
  // A number, optionally followed by a unit that this system knows. Nothing where the text is not a
  // quantity at all (an expression, a name); throws UnknownUnit for a number with an unknown unit.
  std::optional<Quantity> parse(std::string_view text) const;
  bool known(std::string_view unit) const;
  bool convertible(std::string_view a, std::string_view b) const;
  double from_si(double value, std::string_view unit) const;  // for reporting
  double to_si(double value, std::string_view unit) const;
  UnitScale scale(std::string_view unit) const;  // for many values

 private:
  struct State;
  std::unique_ptr<State> state_;
};

const Units& units();  // one per process, read-only after its first use; safe to share

// A value, and a standard deviation, in a unit; SI where the unit is empty.
double in_unit(double si, const std::string& unit);
double deviation_in_unit(double si, const std::string& unit);

}  // namespace tellegen
