#include "tellegen/netlist/toml.h"

#include <fmt/format.h>

#include "tellegen/netlist/numbers.h"

namespace tellegen {

void TomlText::add(std::string_view line, const Place& place) {
  text += line;
  text += '\n';
  places.push_back(place);
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return quoted + "\"";
}

std::string toml_value(const Formula& formula) {
  return read_number(formula.text) ? formula.text : toml_string(formula.text);
}

std::string ComponentText::line() const {
  std::string text = fmt::format("{} = {{ kind = {}", name, toml_string(kind));
  for (const auto& [key, value] : items) text += fmt::format(", {} = {}", key, value);
  return text + " }";
}

}  // namespace tellegen
