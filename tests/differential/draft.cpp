#include "tests/differential/draft.h"

#include <cstdio>

namespace differential {

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string number_text(double value, int digits) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

std::string Draft::text() const {
  std::string out;
  if (language == Language::plain) {
    for (const std::string& line : outputs) out += line + "\n";
    return out;
  }
  if (language == Language::netlist) {
    out = "* random\n";
    for (const Part& part : parts) out += part.name + " " + part.kind + "\n";
    for (const auto& [key, value] : simulation) out += key + " " + value + "\n";
    return out + ".end\n";
  }
  const auto section = [&](const char* name, const Fields& fields) {
    if (fields.empty()) return;
    out += std::string("[") + name + "]\n";
    for (const auto& [key, value] : fields) {
      const bool plain = key.find('.') == std::string::npos;
      out += (plain ? key : quoted(key)) + " = " + value + "\n";
    }
  };
  section("parameters", parameters);
  section("inputs", inputs);
  out += "[components]\n";
  for (const Part& part : parts) {
    out += part.name + " = { kind = " + quoted(part.kind);
    for (const auto& [port, node] : part.ports) out += ", " + port + " = " + quoted(node);
    for (const auto& [key, value] : part.values) out += ", " + key + " = " + value;
    out += " }\n";
  }
  section("sensors", sensors);
  section("initial", initial);
  section("objectives", objectives);
  section("unknowns", unknowns);
  section("estimate.states", estimate);
  section("simulation", simulation);
  return out;
}

}  // namespace differential
