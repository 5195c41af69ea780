// The part of reading a kind that knows its names: defaults, outputs, equations, initial values and checks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tellegen/model/kind_reader.h"
#include "tellegen/model/mechanism_parts.h"
#include "tellegen/model/table_value.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

// "der(x)" -> "x"; nothing for other names.
std::string_view rated(std::string_view name) {
  if (!name.starts_with("der(") || !name.ends_with(")")) return {};
  return name.substr(4, name.size() - 5);
}

}  // namespace

void KindReader::define(const Value& at, const std::string& name, Named named) {
  if (!names_.try_emplace(name, named).second)
    source_.fault(at, "T155", fmt::format("'{}' stands for two things in this kind", name));
}

void KindReader::name_everything() {
  names_["t"] = {Meaning::time, -1, pool_.symbol("t")};
  for (std::size_t k = 0; k < kind_.parameters.size(); ++k) {
    const KindParameter& parameter = kind_.parameters[k];
    if (parameter.table) tables_[parameter.name] = formal_table(parameter.name, parameter.dimensions);
    define(*parameter_entries_[k], parameter.name,
           {parameter.table ? Meaning::table : Meaning::parameter, static_cast<int>(k),
            pool_.symbol(parameter.name)});
  }
  const bool single = kind_.edges.size() == 1;
  for (std::size_t k = 0; k < kind_.edges.size(); ++k) {
    KindEdge& edge = kind_.edges[k];
    const Domain& domain = domains_[edge.domain];
    const auto name = [&](const std::string& variable) {
      const std::string full = edge.name + "." + variable;
      // A parameter may have the bare name; the variable then needs its edge's.
      const bool bare = single && !names_.contains(variable);
      const Expr symbol = pool_.symbol(bare ? variable : full);
      define(*edge_entries_[k], full, {Meaning::variable, -1, symbol});
      if (bare) define(*edge_entries_[k], variable, {Meaning::variable, -1, symbol});
      return symbol;
    };
    edge.across = name(domain.across);
    edge.through = name(domain.through);
  }
  for (std::size_t k = 0; k < kind_.nodes.size(); ++k) {
    const KindNode& node = kind_.nodes[k];
    if (node.domain < 0) continue;
    const std::string name = node.name + "." + domains_[node.domain].node;
    define(*root_.find("edges"), name, {Meaning::node, static_cast<int>(k), pool_.symbol(name)});
  }
  for (std::size_t k = 0; k < kind_.variables.size(); ++k) {
    kind_.variables[k].symbol = pool_.symbol(kind_.variables[k].name);
    Named named{Meaning::variable, -1, kind_.variables[k].symbol};
    for (const KindDiscrete& d : kind_.discrete)
      if (d.variable == static_cast<int>(k)) named = {Meaning::discrete, static_cast<int>(k), d.held};
    define(*variable_entries_[k], kind_.variables[k].name, named);
  }
}

const KindReader::Named* KindReader::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

std::vector<std::string> KindReader::all_names(bool parameters_only) const {
  std::vector<std::string> names;
  for (const auto& [name, named] : names_)
    if (!parameters_only || named.meaning == Meaning::parameter) names.push_back(name);
  return names;
}

Expr KindReader::formula(const Value& at, std::string_view text, std::string_view what,
                         bool parameters_only) {
  try {
    return resolve(at, parse(pool_, text, tables_), what, parameters_only);
  } catch (const ParseError& error) {
    source_.fault(at, "T154", fmt::format("{} cannot be read: {}", what, error.what()), shown(text, error));
    return {};
  }
}

// The formula in canonical names, outputs written out. Empty where a name was wrong.
Expr KindReader::resolve(const Value& at, Expr raw, std::string_view what, bool parameters_only) {
  ExprMap<Expr> replacements;
  bool good = true;
  for (Expr symbol : symbols_of(std::span(&raw, 1))) {
    const Expr meaning = meaning_of(at, symbol, what, parameters_only);
    if (!meaning)
      good = false;
    else if (!(meaning == symbol))
      replacements[symbol] = meaning;
  }
  if (!good) return {};
  return replacements.empty() ? raw : substitute(raw, replacements);
}

Expr KindReader::meaning_of(const Value& at, Expr symbol, std::string_view what, bool parameters_only) {
  const std::string& name = symbol.name();
  const std::string_view of = rated(name);
  const Named* named = find(of.empty() ? std::string_view(name) : of);
  if (!named || (parameters_only && named->meaning != Meaning::parameter)) {
    source_.fault(at, "T153",
                  fmt::format("{} uses the unknown name '{}'", what, of.empty() ? name : std::string(of)),
                  {did_you_mean(of.empty() ? std::string_view(name) : of, all_names(parameters_only)),
                   (parameters_only ? "it may use the parameters: " : "names of this kind: ") +
                       joined(all_names(parameters_only))});
    return {};
  }
  if (!of.empty()) {
    if (named->meaning == Meaning::variable) return pool_.symbol("der(" + named->symbol.name() + ")");
    source_.fault(at, "T156",
                  fmt::format("{} differentiates '{}', which is not a variable of the kind", what, of),
                  {"der() takes the across or through of an edge, or an internal variable"});
    return {};
  }
  switch (named->meaning) {
    case Meaning::table:
      source_.fault(at, "T153", fmt::format("{} uses the table '{}' like a number", what, name),
                    {fmt::format("write {}(x), with what it is looked up by", name)});
      return {};
    case Meaning::output:
      return output(named->index);
    case Meaning::node:
      return kind_.nodes[named->index].across = named->symbol;
    default:
      return named->symbol;
  }
}

void KindReader::read_defaults() {
  for (std::size_t k = 0; k < kind_.parameters.size(); ++k) {
    KindParameter& parameter = kind_.parameters[k];
    const Value* value = parameter_entries_[k]->find("default");
    if (!value) continue;
    const std::string what = fmt::format("the default of '{}'", parameter.name);
    const auto scalar = read_scalar(source_, *value, what, parameter.unit);
    if (!scalar) continue;
    parameter.fallback =
        scalar->number ? pool_.number(*scalar->number) : formula(*value, scalar->expression, what, true);
    if (scalar->number)
      if (const std::string broken = broken_bound(parameter, *scalar->number); !broken.empty())
        source_.fault(*value, "T124", fmt::format("{} {}", what, broken));
  }
  order_defaults();
}

// Each default may use other parameters, but not in a circle.
void KindReader::order_defaults() {
  std::vector<int> state(kind_.parameters.size(), 0);
  const auto visit = [&](const auto& self, std::size_t k) -> void {
    state[k] = 1;
    if (const Expr fallback = kind_.parameters[k].fallback)
      for (Expr symbol : symbols_of(std::span(&fallback, 1))) {
        const int other = find(symbol.name())->index;
        if (state[other] == 1) {
          source_.fault(*parameter_entries_[k], "T126",
                        fmt::format("the defaults of '{}' and '{}' depend on each other",
                                    kind_.parameters[k].name, symbol.name()));
        } else if (state[other] == 0) {
          self(self, other);
        }
      }
    state[k] = 2;
  };
  for (std::size_t k = 0; k < state.size(); ++k)
    if (state[k] == 0) visit(visit, k);
}

void KindReader::read_outputs() {
  const Value* table = root_.find("outputs");
  if (!table || !source_.is(*table, Value::Type::table, "'outputs'")) return;
  for (const Value& entry : table->items) {
    const std::string what = fmt::format("output '{}'", entry.key);
    if (!check_name(source_, entry, entry.key, "an output")) continue;
    KindOutput result;
    result.name = entry.key;
    if (entry.is_table()) {
      source_.known_keys(entry, {"value", "unit", "summary"}, what);
      result.unit = source_.text(entry, "unit", what);
      result.summary = source_.text(entry, "summary", what);
      check_known_unit(source_, entry, result.unit, what);
    }
    define(entry, result.name, {Meaning::output, static_cast<int>(kind_.outputs.size()), {}});
    kind_.outputs.push_back(std::move(result));
    output_entries_.push_back(&entry);
  }
  output_state_.assign(kind_.outputs.size(), 0);
  for (std::size_t k = 0; k < kind_.outputs.size(); ++k) output(static_cast<int>(k));
}

Expr KindReader::output(int index) {
  const Value& entry = *output_entries_[index];
  if (output_state_[index] == 1) {
    source_.fault(entry, "T126", fmt::format("output '{}' depends on itself", entry.key));
    return {};
  }
  if (output_state_[index] == 0) {
    output_state_[index] = 1;
    const Value* value = entry.is_table() ? entry.find("value") : &entry;
    const std::string what = fmt::format("output '{}'", entry.key);
    if (!value)
      source_.fault(entry, "T103", fmt::format("{} has no 'value'", what));
    else if (source_.is(*value, Value::Type::text, what))
      kind_.outputs[index].value = formula(*value, value->text, what, false);
    output_state_[index] = 2;
  }
  return kind_.outputs[index].value;
}

void KindReader::read_equations() {
  const Value* table = root_.find("equations");
  if (table && source_.is(*table, Value::Type::table, "'equations'")) {
    source_.known_keys(*table, {"terminal"}, "'equations'");
    const Value* terminal = table->find("terminal");
    if (terminal && source_.is(*terminal, Value::Type::list, "'terminal'"))
      for (const Value& entry : terminal->items)
        if (source_.is(entry, Value::Type::text, "an equation"))
          kind_.equations.push_back(equation(entry, "the equation"));
  }
  const std::size_t edges = kind_.edges.size(), variables = kind_.variables.size() - kind_.discrete.size();
  if (is_mechanical(kind_.name)) return;  // its equations come from the mechanism
  if (kind_.equations.size() != edges + variables)
    source_.fault(table ? *table : root_, "T152",
                  fmt::format("kind '{}' has {} equation(s) for {} edge(s) and {} internal variable(s)",
                              kind_.name, kind_.equations.size(), edges, variables),
                  {"a kind has one terminal equation for each edge and each internal variable"});
}

KindEquation KindReader::equation(const Value& entry, std::string_view what) {
  KindEquation result;
  result.text = entry.text;
  result.line = entry.line;
  try {
    const ParsedEquation parsed = parse_equation(pool_, entry.text, tables_);
    result.residual = resolve(entry, parsed.left - parsed.right, what, false);
  } catch (const ParseError& error) {
    source_.fault(entry, "T154", fmt::format("{} cannot be read: {}", what, error.what()),
                  shown(entry.text, error));
  }
  return result;
}

// As many equations as variables whose rates they contain: each takes the place of an initial value.
void KindReader::read_steady() {
  const Value* table = root_.find("steady");
  if (!table || !source_.is(*table, Value::Type::table, "'steady'")) return;
  source_.known_keys(*table, {"equations"}, "'steady'");
  const Value* list = table->find("equations");
  if (!list || !source_.is(*list, Value::Type::list, "'equations' of [steady]")) return;
  std::vector<Expr> residuals;
  for (const Value& entry : list->items) {
    if (!source_.is(entry, Value::Type::text, "an equation")) continue;
    kind_.steady.push_back(equation(entry, "the equation"));
    if (!kind_.steady.back().residual) return;
    residuals.push_back(kind_.steady.back().residual);
  }
  std::size_t rates = 0;
  for (Expr s : symbols_of(residuals)) rates += !rated(s.name()).empty();
  if (rates != residuals.size())
    source_.fault(
        *table, "T152",
        fmt::format("[steady] has {} equation(s) with the rates of {} variable(s)", residuals.size(), rates),
        {"each equation takes the place of the initial value of a variable whose der() it contains"});
}

void KindReader::read_energy() {
  const auto read = [&](std::string_view key) -> Expr {
    const Value* value = root_.find(key);
    const std::string what = fmt::format("'{}'", key);
    if (!value || !source_.is(*value, Value::Type::text, what)) return {};
    return formula(*value, value->text, what, false);
  };
  kind_.energy = read("energy");
  kind_.loss = read("loss");
}

void KindReader::read_requirements() {
  const Value* list = root_.find("require");
  if (!list || !source_.is(*list, Value::Type::list, "'require'")) return;
  for (const Value& entry : list->items) {
    if (!source_.is(entry, Value::Type::table, "a requirement")) continue;
    source_.known_keys(entry, {"that", "message"}, "a requirement");
    const Value* that = entry.find("that");
    if (!that || !entry.find("message")) {
      source_.fault(entry, "T103",
                    "a requirement needs 'that', a condition, and 'message', what to say where it is broken");
      continue;
    }
    if (!source_.is(*that, Value::Type::text, "'that' of a requirement")) continue;
    const Expr condition = formula(*that, that->text, "'that' of a requirement", true);
    if (condition)
      kind_.requirements.push_back(
          {condition, std::string(that->text), std::string(source_.text(entry, "message", "a requirement"))});
  }
}

void KindReader::read_discrete() {
  for (std::size_t k = 0; k < kind_.discrete.size(); ++k) {
    KindDiscrete& d = kind_.discrete[k];
    const KindVariable& variable = kind_.variables[d.variable];
    const Value& entry = *discrete_entries_[k];
    const auto read = [&](std::string_view key, bool parameters_only) -> Expr {
      const Value* value = entry.find(key);
      if (!value) return {};
      const std::string what = fmt::format("'{}' of '{}'", key, variable.name);
      const auto scalar = read_scalar(source_, *value, what);
      if (!scalar) return {};
      return scalar->number ? pool_.number(*scalar->number)
                            : formula(*value, scalar->expression, what, parameters_only);
    };
    d.start = read("start", true);
    if (!d.start) d.start = pool_.number(0);
    d.every = read("every", true);
    d.update = read("update", false);
    if (!entry.find("update"))
      source_.fault(entry, "T103", fmt::format("discrete variable '{}' has no 'update'", variable.name),
                    {"write the value it takes, for example update = \"if(u > high, 1, 0)\""});
    if (d.update)
      for (Expr s : symbols_of(std::span(&d.update, 1)))
        if (!rated(s.name()).empty())
          source_.fault(entry, "T156",
                        fmt::format("'update' of '{}' uses the derivative {}", variable.name, s.name()),
                        {"write what the equation gives for it"});
    kind_.equations.push_back({variable.symbol - d.held,
                               fmt::format("{} = its value since the last event", variable.name),
                               entry.line});
  }
}

void KindReader::read_initial() {
  const Value* table = root_.find("initial");
  if (!table || !source_.is(*table, Value::Type::table, "'initial'")) return;
  for (const Value& entry : table->items) {
    const Named* named = find(entry.key);
    if (!named || named->meaning != Meaning::variable) {
      source_.fault(entry, "T153",
                    fmt::format("initial value of '{}', which is not a variable of the kind", entry.key),
                    {did_you_mean(entry.key, all_names(false))});
      continue;
    }
    const std::string what = fmt::format("the initial value of '{}'", entry.key);
    const auto scalar = read_scalar(source_, entry, what);
    if (!scalar) continue;
    const Expr value =
        scalar->number ? pool_.number(*scalar->number) : formula(entry, scalar->expression, what, true);
    kind_.initial.push_back({named->symbol, value});
  }
}

// An optional parameter may be missing, so only an initial value may hang on it.
void KindReader::check_optional() {
  std::vector<Expr> formulas;
  for (const KindEquation& equation : kind_.equations) formulas.push_back(equation.residual);
  for (const KindOutput& result : kind_.outputs) formulas.push_back(result.value);
  for (const KindParameter& parameter : kind_.parameters) formulas.push_back(parameter.fallback);
  for (const KindDiscrete& d : kind_.discrete) {
    formulas.push_back(d.start);
    formulas.push_back(d.update);
    formulas.push_back(d.every);
  }
  std::erase_if(formulas, [](Expr e) { return !e; });
  for (std::size_t k = 0; k < kind_.parameters.size(); ++k) {
    const KindParameter& parameter = kind_.parameters[k];
    if (!parameter.optional || parameter.fallback) continue;
    const Expr symbol = pool_.symbol(parameter.name);
    if (std::any_of(formulas.begin(), formulas.end(), [&](Expr e) { return depends_on(e, symbol); }))
      source_.fault(*parameter_entries_[k], "T157",
                    fmt::format("the optional parameter '{}' is used in a formula", parameter.name),
                    {"give it a default, or use it in [initial] only"});
  }
}

void KindReader::read_checks() {
  const Value* check = root_.find("check");
  if (!check) return;
  if (check->is_table()) return read_check(*check);
  if (!source_.is(*check, Value::Type::list, "'check'")) return;
  for (const Value& one : check->items)
    if (source_.is(one, Value::Type::table, "a check")) read_check(one);
}

void KindReader::read_check(const Value& table) {
  source_.known_keys(table, {"given", "joined", "expect", "tolerance"}, "a check");
  KindCheck check;
  check.line = source_.document.at(table).line;
  if (const Value* tolerance = table.find("tolerance"))
    if (source_.is(*tolerance, Value::Type::number, "'tolerance'")) check.tolerance = tolerance->number;
  TableReader reader;
  const auto entries = [&](std::string_view key, std::map<std::string, double>& into, bool given) {
    const Value* values = table.find(key);
    if (!values || !source_.is(*values, Value::Type::table, fmt::format("'{}' of a check", key))) return;
    for (const Value& entry : values->items) {
      const bool start = given && entry.key.ends_with("(0)");
      const std::string_view name = start ? entry.key.substr(0, entry.key.size() - 3) : entry.key;
      const Named* named = find(name);
      const bool fits =
          named && (start   ? named->meaning == Meaning::variable
                    : given ? named->meaning != Meaning::output && named->meaning != Meaning::time &&
                                  named->meaning != Meaning::discrete
                            : named->meaning != Meaning::table && named->meaning != Meaning::parameter);
      if (!fits) {
        source_.fault(
            entry, "T158", fmt::format("a check cannot have '{}' in its '{}'", entry.key, key),
            {did_you_mean(name, all_names(false)), "names of this kind: " + joined(all_names(false))});
        continue;
      }
      const std::string what = fmt::format("'{}' of a check", entry.key);
      if (named->meaning == Meaning::table) {
        const auto folder = std::filesystem::path(document_.name()).parent_path();
        const KindParameter& parameter = kind_.parameters[named->index];
        if (auto read = reader.read(source_, entry, folder, what,
                                    {parameter.unit, "", parameter.interpolation, parameter.dimensions}))
          check.tables[parameter.name] = std::move(read);
        continue;
      }
      const bool own_name = named->meaning == Meaning::discrete || !named->symbol;
      const std::string canonical = own_name ? std::string(name) : named->symbol.name();
      const auto scalar = read_scalar(source_, entry, what);
      if (scalar && scalar->number)
        into[start ? canonical + "(0)" : canonical] = *scalar->number;
      else if (scalar && named->meaning == Meaning::parameter)
        check.formulas[canonical] = scalar->expression;
      else if (scalar)
        source_.fault(entry, "T102", fmt::format("{} must be a number", what));
    }
  };
  if (const Value* joined = table.find("joined"))
    if (source_.is(*joined, Value::Type::list, "'joined' of a check"))
      for (const Value& port : joined->items) {
        const auto is_it = [&](const KindNode& node) { return port.is_text() && node.name == port.text; };
        const auto ports = kind_.nodes.begin() + kind_.port_count;
        if (std::any_of(kind_.nodes.begin(), ports, is_it))
          check.joined.push_back(std::string(port.text));
        else
          source_.fault(port, "T158", "'joined' of a check names something that is not a port of the kind");
      }
  entries("given", check.given, true);
  entries("expect", check.expect, false);
  kind_.checks.push_back(std::move(check));
}

}  // namespace tellegen
