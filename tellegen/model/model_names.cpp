// What a name or an expression of a model file stands for, in full names of the flat model.
#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/model_reader.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {

ModelReader::Found ModelReader::lookup(int scope, std::string_view name) {
  Scope& s = *scopes_[scope];
  Found found;
  found.scope = scope;
  if (const auto named = s.names.find(name); named != s.names.end()) {
    found.named = &named->second;
    return found;
  }
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return found;
  if (const auto child = s.children.find(name.substr(0, dot)); child != s.children.end()) {
    const Found inside = lookup(child->second, name.substr(dot + 1));
    if (inside.named || inside.variable || inside.datum) return inside;
    // Or of a node named as the subsystem is.
  }
  // An exported port's inner node goes by the name of the node outside.
  if (const auto port = s.ports.find(name.substr(0, dot)); port != s.ports.end() && port->second != bad) {
    const std::string_view tail = name.substr(dot + 1);
    if (port->second == datum_ref)
      found.datum = std::any_of(model_.domains.begin(), model_.domains.end(),
                                [&](const Domain& d) { return d.node == tail; });
    else if (const int domain = model_.nodes[port->second].domain;
             domain >= 0 && model_.domains[domain].node == tail)
      found.variable =
          VariableRef{.what = VariableRef::What::node, .node = port->second, .component = -1, .index = -1};
    return found;
  }
  if (const auto port = s.frame_ports.find(name.substr(0, dot)); port != s.frame_ports.end()) {
    const std::string tail(name.substr(dot));
    if (port->second == "datum")  // at rest, at the origin
      found.datum = tail.find_first_of("xyz") == tail.size() - 1;
    else
      found.variable = find_variable(model_, port->second + tail);
    return found;
  }
  found.variable =
      s.prefix.empty() ? find_variable(model_, name) : find_variable(model_, s.prefix + std::string(name));
  return found;
}

// Empty where the name is wrong: said in `faults`, or already said where the name is defined.
Expr ModelReader::meaning_of(int scope, std::string_view name, std::vector<Fault>& faults) {
  Pool& pool = *model_.pool;
  if (name == "t") return pool.symbol(name);
  const bool rate = name.starts_with("der(") && name.ends_with(")");
  if (rate) name = name.substr(4, name.size() - 5);
  const Found found = lookup(scope, name);
  if (found.variable) {
    const std::string full = variable_name(model_, *found.variable);
    return pool.symbol(rate ? "der(" + full + ")" : full);
  }
  if (found.datum) return pool.number(0.0);
  if (rate) {
    faults.push_back(
        {{}, "T121", fmt::format("der() of '{}', which is not a variable of the model", name), {}});
    return {};
  }
  if (found.named) return resolve(found.scope, *found.named);
  if (const Expr value = pool.symbol(name); numbers_.contains(value)) return value;  // of a table: R0[2]
  Fault fault{{}, "T121", fmt::format("there is no parameter, input or variable '{}'", name), {}};
  if (name.find("[*]") != std::string_view::npos)
    fault.details.push_back("many values at once belong in sum(), mean(), min() or max()");
  if (suggestions_left_-- > 0) {
    std::vector<std::string> known;
    const Scope& s = *scopes_[scope];
    for (const auto& [other, named] : s.names) known.emplace_back(other);
    for (std::string& near : names_near(model_, s.prefix + std::string(name)))
      if (near.starts_with(s.prefix)) known.push_back(near.substr(s.prefix.size()));
    std::sort(known.begin(), known.end());
    const std::string suggestion = did_you_mean(name, known);
    if (!suggestion.empty()) fault.details.push_back(suggestion);
  }
  faults.push_back(std::move(fault));
  return {};
}

const ModelReader::Resolved& ModelReader::expression(int scope, const Value& at, std::string_view text) {
  Scope& s = *scopes_[scope];
  auto known = s.expressions.find(text);
  if (known == s.expressions.end()) {
    Resolved result;
    try {
      const Expr raw = parse(*model_.pool, text, s.tables, [&](std::string_view name) {
        std::vector<std::string> names = element_names(model_.arrays, s.prefix + std::string(name));
        for (std::string& full : names) full.erase(0, s.prefix.size());
        return names;
      });
      ExprMap<Expr> replacements;
      bool good = true;
      for (Expr symbol : symbols_of(std::span(&raw, 1))) {
        const Expr meaning = meaning_of(scope, symbol.name(), result.faults);
        if (!meaning)
          good = false;
        else if (!(meaning == symbol))
          replacements[symbol] = meaning;
      }
      if (good) {
        result.value = replacements.empty() ? raw : substitute(raw, replacements);
        const auto symbols = symbols_of(std::span(&result.value, 1));
        result.constant =
            std::all_of(symbols.begin(), symbols.end(), [&](Expr e) { return numbers_.contains(e); });
        if (result.constant) result.number = evaluate(result.value, numbers_);
        result.unit = unit_of(result.value);
      }
    } catch (const ParseError& error) {
      const std::string_view from = text.substr(std::min(error.column, text.size()));
      if (!s.wrong_tables.contains(from.substr(0, from.find('('))))
        result.faults.push_back(
            {{}, "T120", fmt::format("the expression cannot be read: {}", error.what()), shown(text, error)});
    }
    known = s.expressions.emplace(text, std::move(result)).first;
  }
  for (const Fault& fault : known->second.faults)
    faults_.add(s.document->at(at), fault.code, fault.message, fault.details);
  return known->second;
}

std::optional<std::string> ModelReader::unit_of(Expr value) const {
  if (!value.is_symbol()) return std::nullopt;
  if (const auto known = symbol_units_.find(value); known != symbol_units_.end()) {
    if (known->second.empty()) return std::nullopt;  // a bare number: unchecked
    return known->second;
  }
  if (const auto ref = find_variable(model_, value.name())) {
    std::string unit = variable_unit(model_, *ref);
    if (!unit.empty()) return unit;
  }
  return std::nullopt;
}

bool ModelReader::check_unit_of(int scope, const Value& at, const std::optional<std::string>& unit,
                                std::string_view expected, std::string_view what) {
  return !unit || check_unit(source(scope), at, *unit, expected, what);
}

Expr ModelReader::resolve(int scope, Named& named) {
  const std::string name = scopes_[scope]->prefix + std::string(named.entry->key);
  if (named.state == Named::State::open) {
    std::string chain;
    const auto first = std::find(resolving_.begin(), resolving_.end(), name);
    for (auto step = first; step != resolving_.end(); ++step) chain += *step + " -> ";
    source(scope).fault(*named.entry, "T126", fmt::format("'{}' depends on itself", named.entry->key),
                        {chain + name, "break the circle: give one of them a number"});
    return {};
  }
  if (named.state == Named::State::done) return named.meaning;
  named.state = Named::State::open;
  resolving_.push_back(name);
  switch (named.what) {
    case Named::What::parameter:
      resolve_parameter(scope, named);
      break;
    case Named::What::input:
      resolve_input(scope, named);
      break;
    default:
      resolve_formula(scope, named);
  }
  resolving_.pop_back();
  named.state = Named::State::done;
  return named.meaning;
}

}  // namespace tellegen
