// What the names of a netlist stand for: parameters, nodes and elements under the identifiers they have in
// the model file, and the values of constant expressions.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tellegen/netlist/flatten.h"
#include "tellegen/symbolic/expression.h"

namespace tellegen {

// Names of the netlist as identifiers: letters, digits and underscores, no two the same, none reserved.
class Identifiers {
 public:
  std::string make(const std::string& name, const std::string& before_digit);

 private:
  std::unordered_set<std::string> taken_;
};

// ddt(x) and sdt(x) of an expression, as a capacitor of 1 F: its current where x is its voltage, its voltage
// where x is its current.
struct Operation {
  std::string name;       // "ddt", "sdt"
  std::string component;  // the capacitor
  std::string node;
  Formula of;
  Formula value() const { return {component + (name == "ddt" ? ".i" : ".v"), Formula::atom, true}; }
};

class Environment {
 public:
  Environment(const FlatCircuit& flat, const std::vector<std::pair<std::string, std::string>>& overrides);

  // Identifiers. Elements and nodes are made known first; looked up afterwards.
  std::string add_element(const std::string& name);
  void add_node(const std::string& name);
  std::string extra_node(const std::string& name);       // inside a device
  std::string extra_component(const std::string& name);  // made for a device
  std::string extra_parameter(const std::string& name);
  const std::vector<std::string>& nodes() const { return node_order_; }  // full names, in order of appearance
  std::string node(const std::string& full) const;                       // "datum" for the datum
  const std::string& element(const std::string& full) const { return elements_.at(full); }
  bool has_element(const std::string& full) const { return elements_.contains(full); }
  const std::string& parameter(const std::string& name) const { return parameters_.at(name); }

  // The expression in the names of the instance. Faults stand at `place`.
  Formula formula(const std::string& text, const Instance& at, const Place& place);
  // A value that must not vary with time.
  Formula constant(const std::string& text, const Instance& at, const Place& place);
  double number(const Formula& formula, const Place& place);
  // Of a value that stands in the text as it is unless it is zero or negative, which needs another component.
  double size_of(const Formula& formula, const Place& place);
  Formula simplified(const Formula& formula);  // one number where there are no names in it

  // How to name the current of an element, by its full name: "r1.i", "x1_e1.output.i".
  std::unordered_map<std::string, std::string> currents;
  // Symbols of measures so far, by their names: numbers where the run has ended.
  std::map<std::string, std::string> measures;
  std::set<std::string> counted;  // parameters, by their identifiers, whose numbers the text depends on
  double celsius = 27.0;
  std::vector<Operation> operations;  // that expressions have asked for

 private:
  friend class InstanceMeanings;
  std::optional<Formula> value(const std::string& name, const Instance& at);
  double parameter_number(const std::string& identifier, const Place& place);

  const FlatCircuit& flat_;
  Identifiers names_, parameter_names_;
  std::unordered_map<std::string, std::string> elements_, nodes_;
  std::vector<std::string> node_order_;
  std::map<std::string, std::string> parameters_;   // of the netlist itself: identifiers
  std::map<std::string, std::string> spice_names_;  // and back
  std::map<std::pair<const Instance*, std::string>, Formula> known_;
  std::set<std::pair<const Instance*, std::string>> open_;
  std::unique_ptr<Pool> pool_;
  std::map<std::string, double> numbers_;
  std::set<std::string> counting_;
};

}  // namespace tellegen
