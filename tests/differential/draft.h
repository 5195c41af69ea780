// A model as the generator makes it and the shrinker takes it apart; its text is a model file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace differential {

using Fields = std::vector<std::pair<std::string, std::string>>;  // name and value, as TOML writes it

struct Part {
  std::string name, kind;
  Fields ports, values;
};

struct Draft {
  enum class Language {
    model,
    netlist,
    plain
  } language = Language::model;  // plain: the outputs are all there is
  std::vector<Part> parts;
  Fields parameters, inputs, objectives, initial, simulation, sensors, unknowns, estimate;
  std::vector<std::string> outputs;  // expressions that the property asks for
  std::uint64_t seed = 0;            // of the property's own choices
  std::string text() const;
};

std::string quoted(const std::string& text);
std::string number_text(double value, int digits = 3);

}  // namespace differential
