// Texts as netlists, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tellegen/netlist/netlist.h"

namespace tellegen {

inline ConvertedNetlist converted(const std::string& lines) {
  return convert_netlist_text("title\n" + lines, "test.cir");
}

// The line of the model file that defines `name`.
inline std::string line_of(const std::string& toml, const std::string& name) {
  const auto at = ("\n" + toml).find("\n" + name + " = ");
  return at == std::string::npos ? "no line for " + name : toml.substr(at, toml.find('\n', at) - at);
}

// "code:line" of each fault, in their order.
inline std::string faults_of(const std::string& lines) {
  try {
    converted(lines);
  } catch (const ModelError& error) {
    std::string text;
    for (const Fault& fault : error.faults())
      text += (text.empty() ? "" : " ") + fault.code + ":" + std::to_string(fault.place.line);
    return text;
  }
  return "none";
}

}  // namespace tellegen
