#include "tellegen/netlist/flatten.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tellegen/model/reading.h"
#include "tellegen/netlist/faults.h"

namespace tellegen {
namespace {

constexpr int deepest_instance = 500;

// The subcircuit that an X names: its last word that is no assignment. What is wrong with an X is told later.
const Netlist* used_by(const Card& card, const Netlist& where) {
  std::vector<Field> fields = fields_of(card);
  take_assignments(fields);
  std::erase_if(fields, [](const Field& f) {
    return f.type != Field::Type::word || f.is("params:") || f.is("param:");
  });
  if (fields.empty()) return nullptr;
  for (const Netlist* c = &where; c; c = c->parent)
    if (const auto found = c->subcircuits.find(fields.back().text); found != c->subcircuits.end())
      return found->second.get();
  return nullptr;
}

// How many elements a circuit has with its subcircuits written out, without writing them out: a few lines
// may stand for billions.
double elements_of(const Netlist& circuit, std::map<const Netlist*, double>& known, int depth = 0) {
  const auto [entry, fresh] = known.try_emplace(&circuit, 0.0);  // 0 while it is counted: it contains itself
  if (!fresh) return entry->second;
  double count = 0.0;
  for (const Card& card : circuit.elements) {
    count += 1.0;
    if (card.text[0] != 'x' || depth > deepest_instance) continue;  // too deep: told later
    try {
      if (const Netlist* inner = used_by(card, circuit)) count += elements_of(*inner, known, depth + 1);
    } catch (const ModelError&) {
    }
  }
  return known[&circuit] = count;
}

class Flattener {
 public:
  Flattener(FlatCircuit& flat, const std::vector<std::string>& missing) : flat_(flat), missing_(missing) {}

  void enter(const Instance& at) {
    for (const Card& card : at.circuit->elements) {
      if (card.text[0] == '.') {
        flat_.conditions.push_back({&card, &at, ""});
        continue;
      }
      const std::string name = card.text.substr(0, card.text.find_first_of(" \t(,="));
      Element element{&card, &at, at.prefix + name};
      try {
        const bool other = !names_.insert(element.name).second;
        if (other && element.letter() != 'y')  // Xyce's: `yadc one ...`, `yadc two ...`
          throw netlist_fault(card.place, "T509", fmt::format("there are two elements '{}'", element.name));
        if (element.letter() == 'x')
          expand(element);
        else
          flat_.elements.push_back(std::move(element));
      } catch (const ModelError& error) {
        if (error.faults()[0].code == "T510") throw;
        faults_.add(error);
      }
    }
  }

  void throw_if_any() { faults_.throw_if_any(); }

 private:
  void expand(const Element& element) {
    const Place& place = element.card->place;
    std::vector<Field> fields = fields_of(*element.card);
    std::erase_if(fields, [](const Field& f) {
      return f.is("params:") || f.is("param:") || f.type == Field::Type::open || f.type == Field::Type::close;
    });
    const auto given = take_assignments(fields);
    for (const Field& field : fields)
      if (field.type != Field::Type::word)
        throw netlist_fault(place, "T502", fmt::format("'{}' makes no sense here", field.text),
                            {"a subcircuit is used as: x1 node ... name parameter=value ..."});
    if (fields.size() < 2) throw netlist_fault(place, "T502", "the name of the subcircuit is missing");
    const std::string name = fields.back().text;
    const Netlist* circuit = element.at->subcircuit(name);
    if (!circuit) {
      std::vector<std::string> known;
      for (const Netlist* c = element.at->circuit; c; c = c->parent)
        for (const auto& [other, inner] : c->subcircuits) known.push_back(other);
      std::vector<std::string> hints{did_you_mean(name, known)};
      for (const std::string& file : missing_)
        hints.push_back(fmt::format("the library '{}' was not found", file));
      throw netlist_fault(place, "T504",
                          fmt::format("there is no subcircuit '{}' for '{}'", name, element.name), hints);
    }
    int depth = 0;
    for (const Instance* i = element.at; i; i = i->parent) {
      if (++depth > deepest_instance)
        throw netlist_fault(place, "T510", "subcircuits are used too deep within each other");
      if (i->circuit == circuit)
        throw netlist_fault(place, "T507", fmt::format("the subcircuit '{}' contains itself", name));
    }
    // PSpice's optional nodes: those left out are joined to what the .subckt names.
    while (fields.size() - 2 < circuit->ports.size() &&
           circuit->ports.size() - circuit->optional.size() <= fields.size() - 2)
      fields.insert(
          fields.end() - 1,
          {Field::Type::word,
           circuit->optional[fields.size() - 2 - circuit->ports.size() + circuit->optional.size()]});
    if (fields.size() - 2 != circuit->ports.size())
      throw netlist_fault(place, "T504",
                          fmt::format("'{}' has {} nodes, and '{}' joins {}", name, circuit->ports.size(),
                                      element.name, fields.size() - 2),
                          {fmt::format("the subcircuit begins in line {} of '{}'", circuit->place.line,
                                       circuit->place.file)});
    Instance& inner = flat_.instances.emplace_back();
    inner.circuit = circuit;
    inner.parent = element.at;
    inner.prefix = element.name + ".";
    inner.global = &flat_.global;
    for (std::size_t k = 0; k < circuit->ports.size(); ++k)
      inner.nodes.emplace(circuit->ports[k],
                          element.at->node(fields[k + 1].text));  // of two the first counts
    for (const KeyValue& a : given) {
      const bool known = circuit->defaults.contains(a.name) || circuit->parameters.contains(a.name);
      if (!known && a.name == "m") {
        inner.many = {a.text, place};
        continue;
      }
      if (!known)  // it may still be used within, as in Xyce; ngspice passes over it
        flat_.notes.push_back({place, fmt::format("'{}' does not declare the parameter '{}' that '{}' gives",
                                                  name, a.name, element.name)});
      inner.given[a.name] = {a.text, place};
    }
    enter(inner);
  }

  FlatCircuit& flat_;
  const std::vector<std::string>& missing_;
  FaultList faults_;
  std::unordered_set<std::string> names_;
};

}  // namespace

std::string Instance::node(const std::string& name) const {
  if (name == "0" || name == "gnd") return "0";
  if (const auto port = nodes.find(name); port != nodes.end()) return port->second;
  return global->contains(name) ? name : prefix + name;
}

const ModelCard* Instance::model(const std::string& name) const {
  for (const Netlist* c = circuit; c; c = c->parent)
    if (const auto found = c->models.find(name); found != c->models.end()) return &found->second;
  return nullptr;
}

const Netlist* Instance::subcircuit(const std::string& name) const {
  for (const Netlist* c = circuit; c; c = c->parent)
    if (const auto found = c->subcircuits.find(name); found != c->subcircuits.end())
      return found->second.get();
  return nullptr;
}

std::unique_ptr<FlatCircuit> flatten(const Netlist& circuit, double most,
                                     const std::vector<std::string>& missing) {
  std::map<const Netlist*, double> known;
  if (const double count = elements_of(circuit, known); count > most)
    throw netlist_fault(
        {circuit.elements.front().place.file, 0}, "T510",
        fmt::format("with its subcircuits written out the netlist has {:.2g} elements", count),
        {fmt::format("at most {:.0e} are read; use fewer levels of subcircuits", most)});
  auto flat = std::make_unique<FlatCircuit>();
  for (const Card& card : circuit.directives)
    if (card.text.starts_with(".global")) {
      const auto fields = fields_of(card);
      for (std::size_t k = 1; k < fields.size(); ++k) flat->global.insert(fields[k].text);
    }
  Instance& top = flat->instances.emplace_back();
  top.circuit = &circuit;
  top.global = &flat->global;
  Flattener flattener(*flat, missing);
  flattener.enter(top);
  flattener.throw_if_any();
  return flat;
}

}  // namespace tellegen
