#include "tellegen/netlist/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

constexpr std::size_t deepest_name = 200;

}  // namespace

std::string Identifiers::make(const std::string& name, const std::string& before_digit) {
  std::string identifier;
  for (const unsigned char c : name) identifier += std::isalnum(c) && c < 0x80 ? static_cast<char>(c) : '_';
  if (identifier.empty() || std::isdigit(static_cast<unsigned char>(identifier[0])))
    identifier = before_digit + identifier;
  const bool reserved = identifier == "t" || identifier == "pi" || identifier == "datum" ||
                        identifier == "der" || find_function(identifier);
  if (reserved) identifier += "_";
  const std::string stem = identifier;
  for (int k = 2; !taken_.insert(identifier).second; ++k) identifier = fmt::format("{}_{}", stem, k);
  return identifier;
}

// The names of an expression within one instance.
class InstanceMeanings : public Meanings {
 public:
  InstanceMeanings(Environment& environment, const Instance& at) : environment_(environment), at_(at) {}

  std::optional<Formula> value(const std::string& name) override {
    if (auto parameter = environment_.value(name, at_)) return parameter;
    const auto measure = environment_.measures.find(name);
    if (measure == environment_.measures.end()) return std::nullopt;
    return Formula{measure->second, Formula::atom, false};
  }

  const SpiceFunction* function(const std::string& name) override {
    for (const Netlist* c = at_.circuit; c; c = c->parent)
      if (const auto found = c->functions.find(name); found != c->functions.end()) return &found->second;
    return nullptr;
  }

  Formula voltage(const std::string& name) override {
    if (name.find(':') != std::string::npos && !environment_.nodes_.contains(at_.node(name))) {
      // PSpice's and Xyce's x1:n
      std::string dotted = name;
      std::replace(dotted.begin(), dotted.end(), ':', '.');
      return voltage(dotted);
    }
    std::string full = at_.node(name);
    if (full == "0") return number_formula(0.0);
    // A node of another subcircuit may be named in full.
    if (!environment_.nodes_.contains(full) && environment_.nodes_.contains(name)) full = name;
    const auto found = environment_.nodes_.find(full);
    if (found == environment_.nodes_.end())
      throw ExpressionError("T506", fmt::format("there is no node '{}'", name));
    return {found->second + ".v", Formula::atom, true};
  }

  Formula current(const std::string& name) override {
    std::string dotted = name;
    std::replace(dotted.begin(), dotted.end(), ':', '.');
    for (const std::string& full : {at_.prefix + name, name, at_.prefix + dotted, dotted})
      if (const auto found = environment_.currents.find(full); found != environment_.currents.end())
        return {found->second, found->second.find(' ') == std::string::npos ? Formula::atom : Formula::sum,
                true};
    throw ExpressionError("T506", fmt::format("there is no element '{}' whose current could be meant", name));
  }

  double celsius() override { return environment_.celsius; }

  Formula operation(const std::string& name, const Formula& of) override {
    for (const Operation& known : environment_.operations)
      if (known.name == name && known.of.text == of.text) return known.value();
    environment_.operations.push_back(
        {name, environment_.extra_component(name), environment_.extra_node(name + "_node"), of});
    return environment_.operations.back().value();
  }

 private:
  Environment& environment_;
  const Instance& at_;
};

Environment::Environment(const FlatCircuit& flat,
                         const std::vector<std::pair<std::string, std::string>>& overrides)
    : flat_(flat), pool_(std::make_unique<Pool>()) {
  for (const std::string& name : flat.instances[0].circuit->parameter_order) {
    const std::string identifier = parameter_names_.make(name, "p");
    parameters_[name] = identifier;
    spice_names_[identifier] = name;
  }
  // What --set replaces is also replaced where a number is needed here; what is wrong with it, the reader
  // says.
  for (const auto& [identifier, text] : overrides) {
    try {
      if (const auto quantity = units().parse(text)) numbers_[identifier] = quantity->si;
    } catch (const UnknownUnit&) {
    }
  }
}

std::string Environment::add_element(const std::string& name) {
  return elements_[name] = names_.make(name, "e");
}

void Environment::add_node(const std::string& name) {
  if (name == "0" || nodes_.contains(name)) return;
  nodes_[name] = names_.make(name, "n");
  node_order_.push_back(name);
}

std::string Environment::extra_node(const std::string& name) { return names_.make(name, "n"); }
std::string Environment::extra_component(const std::string& name) { return names_.make(name, "e"); }

std::string Environment::extra_parameter(const std::string& name) { return parameter_names_.make(name, "p"); }

std::string Environment::node(const std::string& full) const {
  return full == "0" ? "datum" : nodes_.at(full);
}

std::optional<Formula> Environment::value(const std::string& name, const Instance& at) {
  const Instance* owner = &at;
  const ParameterCard* card = nullptr;
  const Instance* where = nullptr;  // its text is in the names of
  for (; owner; owner = owner->parent) {
    const auto look = [&](const std::map<std::string, ParameterCard>& in, const Instance* names) {
      const auto found = in.find(name);
      if (card || found == in.end()) return;
      card = &found->second;
      where = names;
    };
    look(owner->given, owner->parent);
    look(owner->circuit->parameters, owner);
    look(owner->circuit->defaults, owner);
    if (card) break;
  }
  if (!card) return std::nullopt;
  if (!owner->parent) return Formula{parameters_.at(name), Formula::atom, false};
  const std::pair key{owner, name};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (open_.size() > deepest_name)
    throw ExpressionError("T510",
                          fmt::format("the parameter '{}' depends on too many others in a row", name));
  if (!open_.insert(key).second)
    throw ExpressionError("T507", fmt::format("the parameter '{}' depends on itself", name));
  Formula result = formula(card->text, *where, card->place);
  open_.erase(key);
  return known_[key] = result;
}

Formula Environment::formula(const std::string& text, const Instance& at, const Place& place) {
  InstanceMeanings meanings(*this, at);
  try {
    return simplified(translate(text, meanings));
  } catch (const ExpressionError& error) {
    open_.clear();
    throw netlist_fault(place, error.code, error.what());
  }
}

Formula Environment::constant(const std::string& text, const Instance& at, const Place& place) {
  Formula found = formula(text, at, place);
  if (found.varies)
    throw netlist_fault(place, "T508",
                        fmt::format("'{}' varies with time, and must be a constant here", text));
  return found;
}

Formula Environment::simplified(const Formula& formula) {
  if (formula.varies || read_number(formula.text)) return formula;
  try {
    const Expr expression = parse(*pool_, formula.text);
    if (!symbols_of(std::span(&expression, 1)).empty()) return formula;
    const double value = evaluate(expression, ExprMap<double>{});
    return std::isfinite(value) ? number_formula(value) : formula;
  } catch (const ParseError&) {
    return formula;  // whoever uses it will say what is wrong
  }
}

double Environment::parameter_number(const std::string& identifier, const Place& place) {
  counted.insert(identifier);
  if (const auto known = numbers_.find(identifier); known != numbers_.end()) return known->second;
  const Instance& top = flat_.instances[0];
  const ParameterCard& card = top.circuit->parameters.at(spice_names_.at(identifier));
  if (counting_.size() > deepest_name)
    throw netlist_fault(card.place, "T510",
                        fmt::format("the parameter '{}' depends on too many others in a row", identifier));
  if (!counting_.insert(identifier).second)
    throw netlist_fault(card.place, "T507",
                        fmt::format("the parameter '{}' depends on itself", spice_names_.at(identifier)));
  double value = 0.0;
  try {
    value = number(constant(card.text, top, card.place), place);
  } catch (const ModelError&) {
    counting_.clear();
    throw;
  }
  counting_.erase(identifier);
  return numbers_[identifier] = value;
}

double Environment::size_of(const Formula& formula, const Place& place) {
  const std::set<std::string> before = counted;
  const double value = number(formula, place);
  if (value > 0.0) counted = before;
  return value;
}

double Environment::number(const Formula& formula, const Place& place) {
  double value = 0.0;
  try {
    const Expr expression = parse(*pool_, formula.text);
    ExprMap<double> at;
    for (Expr symbol : symbols_of(std::span(&expression, 1)))
      at[symbol] = parameter_number(symbol.name(), place);
    value = evaluate(expression, at);
  } catch (const ParseError& error) {
    throw netlist_fault(place, "T505", fmt::format("'{}' cannot be read: {}", formula.text, error.what()));
  }
  if (!std::isfinite(value))
    throw netlist_fault(place, "T508", fmt::format("'{}' is not a finite number", formula.text));
  return value;
}

}  // namespace tellegen
