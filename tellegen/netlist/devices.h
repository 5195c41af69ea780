// library/spice.toml: which kind of the library a .model type stands for. Data; see the head of that file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/netlist/fields.h"

namespace tellegen {

struct DeviceKind {
  std::string type;  // "npn"
  char letter = 0;   // of the elements that use it
  std::string kind;  // "electrical.bjt"
  std::vector<std::string> ports;
  std::string current;                          // into its first terminal; % is the component
  std::map<std::string, std::string> names;     // SPICE's parameters, of model and element, and their values
  std::map<std::string, std::string> aliases;   // other names of them
  std::map<std::string, std::string> negative;  // a name: the entry that is meant where it is below zero
  std::map<std::string, std::string> levels;    // of `level=`: another entry, or the name of what is missing
  std::map<std::string, std::string> flags;     // a word without a value: the name that is 1 then
  std::vector<std::string> positional;          // of the element's line, after the model
  std::vector<KeyValue> values;                 // parameter of the kind, formula of SPICE's names
  std::vector<std::string> optional;       // terminals after the ports; the datum where they are left out
  struct Part {                            // a component beside that of the device
    std::string name, kind, when, before;  // where `when` is not zero; in series before that port
    std::string state;                     // begins with uic at what .ic gives its ports
    std::vector<KeyValue> ports, values;   // a port on one of the device, "outer " that, or "new " node
  };
  std::vector<Part> parts;
  std::map<std::string, double> neutral;         // accepted at this value only
  std::vector<std::string> without_effect;       // accepted, no part of a transient here
  std::vector<std::string> left_out;             // accepted with a note: what they stand for is not modelled
  std::vector<std::string> multiplied, divided;  // by m= of an element
  struct State {
    std::string variable, start, storage;  // no state where `storage` is zero
  };
  std::vector<State> states;
};

// An entry is read when it is first asked for: most netlists use two or three. Throws ModelError where the
// file is missing or what is asked for is wrong.
class DeviceTable {
 public:
  explicit DeviceTable(const std::filesystem::path& library);
  const DeviceKind* find(const std::string& type) const;  // null: there is none
  std::vector<std::string> types() const;

 private:
  struct Entry {
    std::string text;  // of the file from its [type] on
    int line = 0;      // of that
    std::optional<DeviceKind> device{};
  };
  DeviceKind read(const Entry& entry) const;

  std::string file_;
  mutable std::map<std::string, Entry> entries_;
};

}  // namespace tellegen
