// The model file being written, and where in the netlist each of its lines comes from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tellegen/model/fault.h"
#include "tellegen/netlist/expressions.h"

namespace tellegen {

struct TomlText {
  std::string text;
  std::vector<Place> places;  // one per line

  void add(std::string_view line, const Place& place = {});
};

std::string toml_string(std::string_view text);  // quoted; what is not plain text is replaced
std::string toml_value(const Formula& formula);  // a number, or a quoted expression

// A component on its way to a line `name = { kind = ..., ... }`.
struct ComponentText {
  std::string name, kind;
  std::vector<std::pair<std::string, std::string>> items;  // key, value as TOML writes it

  void port(std::string_view port, std::string_view node) { items.emplace_back(port, toml_string(node)); }
  void value(std::string_view key, const Formula& formula) { items.emplace_back(key, toml_value(formula)); }
  std::string line() const;
};

}  // namespace tellegen
