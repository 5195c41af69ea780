// Subcircuits written out: every element with its full name (`x1.r1`) and where its names are looked up.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tellegen/netlist/circuit.h"

namespace tellegen {

// A circuit in use: the netlist itself, or what an X stands for.
struct Instance {
  const Netlist* circuit = nullptr;
  const Instance* parent = nullptr;            // where the X stands
  std::string prefix;                          // "x1.", "x1.xa."
  std::map<std::string, std::string> nodes;    // its ports: full names of the nodes they are joined to
  std::map<std::string, ParameterCard> given;  // on the X; in the parent's names

  std::optional<ParameterCard> many;  // m= of the X: so many in parallel; in the parent's names

  std::string node(const std::string& name) const;  // the full name; "0" is the datum
  const ModelCard* model(const std::string& name) const;
  const Netlist* subcircuit(const std::string& name) const;
  const std::unordered_set<std::string>* global = nullptr;
};

struct Element {
  const Card* card = nullptr;
  const Instance* at = nullptr;
  std::string name;  // full
  char letter() const { return card->text[0]; }
};

struct FlatCircuit {
  std::deque<Instance> instances;  // the netlist itself first
  std::unordered_set<std::string> global;
  std::vector<Element> elements;
  std::vector<Element> conditions;  // .ic and .nodeset
  std::vector<NetlistNote> notes;
};

// Throws ModelError with every fault of the X elements, or where more than `most` elements would come of it.
// The circuit must live on. `missing`: libraries that were not found, named where a subcircuit is missing.
std::unique_ptr<FlatCircuit> flatten(const Netlist& circuit, double most,
                                     const std::vector<std::string>& missing = {});

}  // namespace tellegen
