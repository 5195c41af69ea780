// What a kind's file says, in words: for `tellegen library` and docs/library.md.
//
// Formulas and defaults are shown as the file writes them, not as they were parsed, so a reader finds there
// what he sees here. The comments between the summary and the first section are the kind's notes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tellegen/model/kind.h"

namespace tellegen {

struct KindText {
  struct Port {
    std::string name, domain;
  };
  struct Edge {
    std::string name, from, to, domain;
  };
  struct Parameter {
    std::string name, unit, value, bounds,
        summary;  // value: "must be given", "may be left out", or the default
    bool has_default = false;
  };
  struct Variable {
    std::string name, unit, summary;
  };
  struct Discrete {
    std::string name, unit, start, update, every, summary;
  };
  struct Output {
    std::string name, unit, value, summary;
  };
  struct Setting {
    std::string name, value;
  };
  struct Check {
    std::vector<Setting> given, expect;
    std::string tolerance;
  };
  std::string name, summary;
  std::vector<std::string> notes;  // lines
  std::vector<Port> ports;
  std::vector<std::string> nodes;  // internal
  std::vector<Edge> edges;
  std::vector<Parameter> parameters;
  std::vector<Variable> variables;
  std::vector<Discrete> discrete;
  std::vector<std::string> equations;
  std::vector<Setting> initial;
  std::vector<Output> outputs;
  std::vector<Check> checks;
};

// library/electrical/diode.toml for electrical.diode.
std::filesystem::path kind_file(const std::filesystem::path& library, const std::string& name);

// Throws ModelError where the file is no valid kind.
KindText describe_kind(const std::vector<Domain>& domains, const std::filesystem::path& file,
                       const std::string& name);

std::string to_text(const KindText& kind);      // for a terminal
std::string to_markdown(const KindText& kind);  // a section of the page

std::string library_page(const std::filesystem::path& library);  // docs/library.md

}  // namespace tellegen
