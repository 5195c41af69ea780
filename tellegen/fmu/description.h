// What an FMU says of itself: modelDescription.xml of FMI 2.0 or 3.0, as far as somebody needs it who
// runs the FMU.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// What is wrong with an FMU, or went wrong in one.
struct FmuError : std::runtime_error {
  using runtime_error::runtime_error;
};

// How values cross the interface. FMI 2 has float64 (Real), int32 (Integer, Enumeration), boolean and text.
enum class FmuType {
  float64,
  float32,
  int64,
  int32,
  int16,
  int8,
  uint64,
  uint32,
  uint16,
  uint8,
  boolean,
  text,
  binary,
  clock
};
std::string_view name_of(FmuType type);
bool is_whole(FmuType type);   // integers and booleans
bool is_number(FmuType type);  // these and floating-point numbers

struct FmuVariable {
  std::string name, description, unit;
  std::string causality, variability, initial;  // as written, with the standard's defaults
  std::uint32_t reference = 0;
  FmuType type = FmuType::float64;
  bool enumeration = false;
  std::vector<std::size_t> extents;          // of an array, with the start values of structural parameters
  std::vector<double> start;                 // one each; empty: none
  std::optional<std::string> text;           // start of a text
  std::size_t size() const;                  // elements
  std::string element(std::size_t k) const;  // "x", or "x[2,1]" of an array: as in C, the last index first
};

// A unit in terms of SI: SI value = factor*value + offset.
struct FmuUnit {
  std::string name, base;  // base: "kg.m2.s-2"; empty: not said
  double factor = 1.0, offset = 0.0;
};

struct FmuDescription {
  int version = 0;  // 2 or 3
  std::string version_text, model_name, description, generation_tool, token;
  std::string co_simulation, model_exchange;  // model identifiers; empty: cannot be run so
  // Of co-simulation, and of model exchange where there is nothing else.
  bool needs_tool = false, once_per_process = false, keeps_states = false, has_events = false;
  // Of model exchange: states and their rates by value reference, in the order of FMI; whether derivatives of
  // the rates can be asked for; indicators of FMI 2, which of FMI 3 are asked for.
  struct Rate {
    std::uint32_t state = 0, rate = 0;
  };
  std::vector<Rate> rates;
  bool directional = false, completes_steps = true;
  std::size_t event_indicators = 0;
  std::optional<double> start_time, stop_time, step_size, tolerance;
  std::vector<FmuVariable> variables;
  std::vector<FmuUnit> units;
  const FmuUnit* unit(std::string_view name) const;  // nullptr: not defined
};

// Throws FmuError.
FmuDescription read_description(std::string_view xml);

}  // namespace tellegen
