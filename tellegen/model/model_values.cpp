// Values of a model: parameters, inputs, sensors and outputs; the components' parameters; how it starts and
// how it is simulated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/model_reader.h"
#include "tellegen/model/units.h"

namespace tellegen {

void ModelReader::resolve_parameter(int scope, Named& named) {
  const Source at = source(scope);
  const Value& entry = *named.entry;
  const std::string what = fmt::format("parameter '{}'", entry.key);
  const std::string full = scopes_[scope]->prefix + std::string(entry.key);
  const Value* value = &entry;
  std::optional<std::string_view> bare_unit;
  if (entry.is_table()) {
    at.known_keys(entry, {"value", "unit", "summary"}, what);
    named.summary = at.text(entry, "summary", what);
    named.unit = at.text(entry, "unit", what);
    if (entry.find("unit")) {
      if (!check_known_unit(at, entry, named.unit, what)) return;
      bare_unit = named.unit;
    }
    value = entry.find("value");
  }
  const auto override_value = overrides_.find(full);
  const bool replaced = override_value != overrides_.end();
  if (!value && !named.given && !replaced) {
    at.fault(entry, "T113", fmt::format("{} has no value", what));
    return;
  }
  std::optional<Scalar> scalar;
  if (value) {
    scalar = read_scalar(at, *value, what, bare_unit);
    if (!scalar) return;
    if (named.unit.empty()) named.unit = scalar->unit;
  }
  // A value from the command line comes before the one a subsystem's user gives, and that before the file's
  // own.
  int value_scope = scope;
  const Value* place = value;
  if (replaced) {
    Value& text = *override_value->second;
    text.line = entry.line;
    place = &text;
    scalar = read_scalar(at, text, fmt::format("{}, replaced by '{}',", what, text.text), bare_unit);
  } else if (named.given) {
    value_scope = scopes_[scope]->parent;
    place = named.given;
    scalar = read_scalar(source(value_scope), *named.given, what);
  }
  if (!scalar) return;
  const Source place_source = source(value_scope);
  if (!scalar->unit.empty() && !named.unit.empty() &&
      !check_unit(place_source, *place, scalar->unit, named.unit, what))
    return;
  if (scalar->number) {
    named.value = model_.pool->number(*scalar->number);
    named.number = *scalar->number;
  } else {
    const Resolved& resolved = expression(value_scope, *place, scalar->expression);
    if (!resolved.value) return;
    if (!named.unit.empty() && !check_unit_of(value_scope, *place, resolved.unit, named.unit, what)) return;
    named.value = resolved.value;
    named.number = resolved.number;
    named.constant = resolved.constant;
    if (!named.constant && value_scope == scope) {
      place_source.fault(*place, "T127", fmt::format("{} depends on more than parameters", what),
                         {"what changes with time or with the model's variables belongs in [inputs], or in "
                          "the component itself"});
      return;
    }
    if (named.unit.empty() && resolved.unit) named.unit = *resolved.unit;
    if (!named.constant) {  // a subsystem's parameter that its user lets vary: the expression stands for it
      named.meaning = named.value;
      return;
    }
  }
  if (!std::isfinite(named.number)) {
    place_source.fault(*place, "T125", fmt::format("{} is not a finite number", what));
    return;
  }
  const Expr symbol = model_.pool->symbol(full);
  numbers_[symbol] = named.number;
  symbol_units_[symbol] = named.unit;
  named.meaning = symbol;
}

void ModelReader::resolve_input(int scope, Named& named) {
  const Source at = source(scope);
  const Value& entry = *named.entry;
  Pool& pool = *model_.pool;
  const std::string what = fmt::format("input '{}'", entry.key);
  const Value* value = &entry;
  std::optional<std::string_view> bare_unit;
  if (entry.is_table()) {
    named.unit = at.text(entry, "unit", what);
    if (entry.find("unit") && !check_known_unit(at, entry, named.unit, what)) return;
    if (entry.find("unit")) bare_unit = named.unit;
    value = entry.find("value");
    if (value) at.known_keys(entry, {"value", "unit", "summary", "interpolation", "noise", "bias"}, what);
    if (const Value* said = entry.find("interpolation"))
      if (const auto read = read_interpolation(at, *said, what)) named.interpolation = *read;
  }
  if (!value || entry.is_list()) {
    const auto table =
        tables_.read(at, entry, scopes_[scope]->folder, what, {.x_unit = "s", .also = {"noise", "bias"}});
    if (!table) return;
    named.value = pool.lookup(table, 0, pool.symbol("t"));
  } else {
    const auto scalar = read_scalar(at, *value, what, bare_unit);
    if (!scalar) return;
    if (named.unit.empty()) named.unit = scalar->unit;
    named.value =
        scalar->number ? pool.number(*scalar->number) : expression(scope, *value, scalar->expression).value;
    if (!named.value) return;
    // Other inputs are written out, so that an input is a formula of t and parameters.
    ExprMap<Expr> replacements;
    for (Expr symbol : symbols_of(std::span(&named.value, 1))) {
      if (const auto other = input_values_.find(symbol); other != input_values_.end()) {
        replacements[symbol] = other->second;
      } else if (!numbers_.contains(symbol) && symbol.name() != "t") {
        at.fault(*value, "T127", fmt::format("{} depends on '{}'", what, symbol.name()),
                 {"an input depends on t and parameters; what depends on the model's variables belongs in "
                  "the component itself"});
        return;
      }
    }
    if (!replacements.empty()) named.value = substitute(named.value, replacements);
  }
  read_noise(scope, named, what, named.unit);
  named.meaning = pool.symbol(scopes_[scope]->prefix + std::string(entry.key));
  input_values_[named.meaning] = named.value;
  symbol_units_[named.meaning] = named.unit;
}

void ModelReader::resolve_formula(int scope, Named& named) {
  const Source at = source(scope);
  const Value& entry = *named.entry;
  const bool sensor = named.what == Named::What::sensor;
  const std::string what = fmt::format("{} '{}'", sensor ? "sensor" : "output", entry.key);
  const Value* value = &entry;
  if (entry.is_table()) {
    if (sensor)
      at.known_keys(entry, {"measures", "noise", "between", "stuck", "bias", "unit", "summary"}, what);
    else
      at.known_keys(entry, {"value", "unit", "summary"}, what);
    value = entry.find(sensor ? "measures" : "value");
    if (!value) {
      at.fault(entry, "T103", fmt::format("{} has no '{}'", what, sensor ? "measures" : "value"));
      return;
    }
  }
  const auto scalar = read_scalar(at, *value, what);
  if (!scalar) return;
  std::optional<std::string> unit;
  if (scalar->number) {
    named.value = model_.pool->number(*scalar->number);
    if (!scalar->unit.empty()) unit = scalar->unit;
  } else {
    const Resolved& resolved = expression(scope, *value, scalar->expression);
    if (!resolved.value) return;
    named.value = resolved.value;
    unit = resolved.unit;
  }
  if (const Value* said = entry.is_table() ? entry.find("unit") : nullptr) {
    named.unit = at.text(entry, "unit", what);
    if (check_known_unit(at, *said, named.unit, what) && unit) check_unit(at, *said, named.unit, *unit, what);
  }
  if (sensor) read_noise(scope, named, what, !named.unit.empty() ? named.unit : unit.value_or(""));
  if (sensor && entry.is_table())
    read_reading_limits(scope, named, what, !named.unit.empty() ? named.unit : unit.value_or(""));
  named.meaning = named.value;
}

void ModelReader::resolve_everything() {
  std::vector<ModelOutput> outputs;
  for (std::size_t index = 0; index < scopes_.size(); ++index) {
    Scope& s = *scopes_[index];
    for (std::string_view key : s.order) {
      Named& named = s.names.at(key);
      if (!resolve(static_cast<int>(index), named)) continue;
      std::string name = s.prefix + std::string(key);
      const Place place = s.document->at(*named.entry);
      if (named.what == Named::What::parameter) {
        if (named.constant)
          model_.parameters.push_back(
              {std::move(name), named.unit, named.summary, named.meaning, named.value, named.number, place});
      } else if (named.what == Named::What::input) {
        model_.inputs.push_back({std::move(name), named.unit, named.meaning, named.value, place,
                                 named.interpolation, named.noise.value_or(0.0)});
      } else {
        model_.formulas[name] = named.value;
        if (index > 0) continue;  // a subsystem's are there to be named, not to be reported
        const bool sensor = named.what == Named::What::sensor;
        (sensor ? model_.outputs : outputs)
            .push_back({std::move(name), named.unit, named.value, named.noise, sensor, place, named.lowest,
                        named.highest, named.stuck});
      }
    }
  }
  model_.outputs.insert(model_.outputs.end(), outputs.begin(), outputs.end());
}

void ModelReader::resolve_components() {
  for (const Pending& pending : pending_) {
    const Component& component = model_.components[pending.component];
    const KindParameter& parameter = model_.kinds[component.kind].parameters[pending.parameter];
    const Resolved& resolved = expression(pending.scope, *pending.value, pending.value->text);
    if (!resolved.value) continue;
    if (resolved.unit && !parameter.any_unit && !units().convertible(*resolved.unit, parameter.unit))
      check_unit(source(pending.scope), *pending.value, *resolved.unit, parameter.unit,
                 fmt::format("parameter '{}' of '{}'", parameter.name, component.name));
    set_value(pending.component, pending.parameter, resolved.value, resolved.constant, resolved.number,
              scopes_[pending.scope]->document->at(*pending.value));
  }
  if (!faults_.empty()) return;  // a default may hang on a value that was wrong
  fill_defaults();
  if (!faults_.empty()) return;
  for (std::size_t c = 0; c < model_.components.size(); ++c)
    check_requirements(model_, static_cast<int>(c), faults_);
}

void ModelReader::fill_defaults() {
  std::vector<char> has_formulas;
  for (const Kind& kind : model_.kinds)
    has_formulas.push_back(
        std::any_of(kind.parameters.begin(), kind.parameters.end(),
                    [](const KindParameter& p) { return p.fallback && !p.fallback.is_number(); }));
  for (std::size_t c = 0; c < model_.components.size(); ++c) {
    if (!has_formulas[model_.components[c].kind]) continue;
    for (std::size_t k = 0; k < model_.components[c].values.size(); ++k)
      fill_default(static_cast<int>(c), static_cast<int>(k));
  }
}

// A default in terms of other parameters, which may be defaults themselves (never in a circle: the kind was
// checked).
void ModelReader::fill_default(int index, int k) {
  Component& component = model_.components[index];
  const Kind& kind = model_.kinds[component.kind];
  const Expr fallback = kind.parameters[k].fallback;
  if (component.values[k].value || !fallback) return;
  ExprMap<Expr> replacements;
  bool constant = true;
  for (Expr symbol : symbols_of(std::span(&fallback, 1)))
    for (std::size_t other = 0; other < kind.parameters.size(); ++other) {
      if (kind.parameters[other].name != symbol.name()) continue;
      fill_default(index, static_cast<int>(other));
      replacements[symbol] = component.values[other].value;
      constant = constant && component.values[other].constant;
    }
  const Expr value = substitute(fallback, replacements);
  set_value(index, k, value, constant, constant ? evaluate(value, numbers_) : 0.0, component.place);
}

void ModelReader::set_value(int index, int k, Expr value, bool constant, double number, const Place& place) {
  Component& component = model_.components[index];
  component.values[k] = {value, number, constant, nullptr};
  if (!constant) return;
  const KindParameter& parameter = model_.kinds[component.kind].parameters[k];
  const std::string broken =
      std::isfinite(number) ? broken_bound(parameter, number) : "is not a finite number";
  if (!broken.empty())
    faults_.add(place, std::isfinite(number) ? "T124" : "T125",
                fmt::format("parameter '{}' of '{}' {}", parameter.name, component.name, broken));
}

// Keys are full names, in quotes or dotted: a dotted key is a table within the table.
void ModelReader::read_initial(int scope, const Value& table, const std::string& prefix) {
  const Source at = source(scope);
  for (const Value& entry : table.items) {
    const std::string name = prefix + std::string(entry.key);
    if (name == "steady" && (entry.is_list() || entry.is_text())) {
      read_steady(scope, entry);
      continue;
    }
    if (entry.is_table() && !entry.find("such_that")) {
      read_initial(scope, entry, name + ".");
      continue;
    }
    const Found found = lookup(scope, name);
    if (!found.variable || found.variable->what == VariableRef::What::output) {
      at.fault(entry, "T121",
               fmt::format("initial value of '{}', which is not a variable of the model", name),
               {did_you_mean(name, names_near(model_, scopes_[scope]->prefix + name))});
      continue;
    }
    const std::string full = variable_name(model_, *found.variable);
    ModelInitial initial{full, {}, at.document.at(entry)};
    if (entry.is_table()) {
      if (!read_such_that(scope, entry, name, initial)) continue;
    } else if (!(entry.is_text() && entry.text == "steady")) {
      const std::string what = fmt::format("the initial value of '{}'", name);
      const std::string unit = variable_unit(model_, *found.variable);
      const auto scalar = read_scalar(at, entry, what);
      if (!scalar) continue;
      if (!scalar->unit.empty() && !check_unit(at, entry, scalar->unit, unit, what)) continue;
      if (scalar->number) {
        initial.value = model_.pool->number(*scalar->number);
      } else {
        const Resolved& resolved = expression(scope, entry, scalar->expression);
        if (!resolved.value) continue;
        if (!resolved.constant) {
          at.fault(entry, "T127", fmt::format("{} depends on more than parameters", what));
          continue;
        }
        if (!check_unit_of(scope, entry, resolved.unit, unit, what)) continue;
        initial.value = resolved.value;
      }
    }
    // Scopes come from the outermost in: what the user of a subsystem says goes before what it says itself.
    if (initial_of_.try_emplace(full, model_.initial.size()).second)
      model_.initial.push_back(std::move(initial));
  }
}

// `steady = "gen"`: components whose kind says what a steady state is, or plain variables.
void ModelReader::read_steady(int scope, const Value& entry) {
  const Source at = source(scope);
  const auto one = [&](const Value& item) {
    if (!at.is(item, Value::Type::text, "an entry of 'steady'")) return;
    const std::string name = scopes_[scope]->prefix + std::string(item.text);
    if (const auto found = model_.component_by_name.find(name); found != model_.component_by_name.end()) {
      const Component& component = model_.components[found->second];
      const Kind& kind = model_.kinds[component.kind];
      if (kind.name == "multibody.mechanism") return read_equilibrium(at.document.at(item));
      if (kind.steady.empty())
        at.fault(
            item, "T132",
            fmt::format("'{}' is to begin steady, but its kind '{}' has no [steady]", name, kind.name),
            {is_mechanical(kind.name)
                 ? "it is no joint with a coordinate of its own; steady = \"mechanism\" is the equilibrium "
                   "of all joints"
                 : "name its variables instead: \"" + name + ".x\" = \"steady\""});
      else
        model_.steady.push_back({found->second, at.document.at(item)});
      return;
    }
    const Found found = lookup(scope, item.text);
    if (!found.variable || found.variable->what == VariableRef::What::output) {
      std::vector<std::string> known = names_near(model_, name);
      for (const Component& c : model_.components) known.push_back(c.name);
      at.fault(item, "T121",
               fmt::format("'{}' is neither a component nor a variable of the model", item.text),
               {did_you_mean(item.text, known)});
      return;
    }
    const std::string full = variable_name(model_, *found.variable);
    if (initial_of_.try_emplace(full, model_.initial.size()).second)
      model_.initial.push_back({full, {}, at.document.at(item)});
  };
  if (entry.is_text()) return one(entry);
  for (const Value& item : entry.items) one(item);
}

// Every joint that has a state begins where nothing accelerates it.
void ModelReader::read_equilibrium(const Place& place) {
  bool any = false;
  for (const MechanismPart& part : parts_) {
    if (model_.kinds[model_.components[part.component].kind].steady.empty()) continue;
    model_.steady.push_back({part.component, place});
    any = true;
  }
  if (!any)
    faults_.add(place, "T132", "the mechanism is to begin in equilibrium, but has no coordinate of its own",
                {"drivers decide everything, or what is free turns as a quaternion"});
}

// `"gen.theta" = { such_that = "der(rotor.w) = 0", near = 0.3 }`
bool ModelReader::read_such_that(int scope, const Value& entry, const std::string& name,
                                 ModelInitial& initial) {
  const Source at = source(scope);
  const std::string what = fmt::format("the initial value of '{}'", name);
  at.known_keys(entry, {"such_that", "near"}, what);
  const Value& condition = *entry.find("such_that");
  if (!at.is(condition, Value::Type::text, "'such_that' of " + what)) return false;
  initial.text = condition.text;
  const auto equals = condition.text.find('=');
  if (equals == std::string_view::npos || condition.text.find('=', equals + 1) != std::string_view::npos) {
    at.fault(condition, "T120", fmt::format("'such_that' of {} must be an equation, left = right", what));
    return false;
  }
  const Resolved left = expression(scope, condition, condition.text.substr(0, equals));
  const Resolved right = expression(scope, condition, condition.text.substr(equals + 1));
  if (!left.value || !right.value) return false;
  initial.condition = left.value - right.value;
  if (const Value* near = entry.find("near")) {
    const auto scalar = read_scalar(at, *near, "'near' of " + what);
    if (!scalar) return false;
    const Resolved& value = scalar->number
                                ? Resolved{model_.pool->number(*scalar->number), true, *scalar->number}
                                : expression(scope, *near, scalar->expression);
    if (!value.value) return false;
    if (!value.constant) {
      at.fault(*near, "T127", fmt::format("'near' of {} depends on more than parameters", what));
      return false;
    }
    initial.value = value.value;
  } else {
    initial.value = model_.pool->number(0.0);
  }
  return true;
}

void ModelReader::read_simulation() {
  const Source at = source(0);
  const Value* table = at.document.root().find("simulation");
  if (!table || !at.is(*table, Value::Type::table, "'simulation'")) return;
  at.known_keys(*table,
                {"stop", "stop_when", "step", "sample", "method", "form", "iterations", "tolerance", "start",
                 "event_bisections", "slow", "slow_steps"},
                "[simulation]");
  SimulationDefaults& simulation = model_.simulation;
  simulation.place = at.document.at(*table);
  const auto positive = [&](std::string_view key, std::string_view unit, std::optional<double>& into) {
    const Value* value = table->find(key);
    if (!value) return;
    const std::string what = fmt::format("'{}' of [simulation]", key);
    into = read_quantity(at, *value, what, unit);
    if (into && !(*into > 0.0))
      at.fault(*value, "T124", fmt::format("{} must be above 0, and is {:g}", what, *into));
  };
  if (const Value* stop = table->find("stop"))
    read_stop(*stop, "'stop' of [simulation]", simulation.stop, simulation.stop_formula);
  if (const Value* when = table->find("stop_when"))
    simulation.stop_when = read_condition(*when, "'stop_when' of [simulation]");
  positive("step", "s", simulation.step);
  positive("sample", "s", simulation.sample);
  positive("tolerance", "1", simulation.tolerance);
  const auto whole = [&](std::string_view key, std::optional<int>& into) {
    const Value* value = table->find(key);
    const std::string what = fmt::format("'{}' of [simulation]", key);
    if (!value || !at.is(*value, Value::Type::integer, what)) return;
    if (!(value->number >= 1.0))
      at.fault(*value, "T124", what + " must be at least 1");
    else if (value->number > 1e9)
      at.fault(*value, "T124", what + " must be at most 1e9");
    else
      into = static_cast<int>(value->number);
  };
  whole("iterations", simulation.iterations);
  whole("event_bisections", simulation.event_bisections);
  whole("slow_steps", simulation.slow_steps);
  if (const Value* slow = table->find("slow");
      slow && at.is(*slow, Value::Type::list, "'slow' of [simulation]"))
    for (const Value& item : slow->items)
      if (at.is(item, Value::Type::text, "an entry of 'slow'")) simulation.slow.emplace_back(item.text);
  const auto text = [&](std::string_view key, std::optional<std::string>& into) {
    if (table->find(key)) into = at.text(*table, key, "[simulation]");
  };
  text("method", simulation.method);
  text("form", simulation.form);
  text("start", simulation.start);
}

void ModelReader::check_overrides() {
  for (const auto& [name, value] : options_.overrides) {
    const Found found = lookup(0, name);
    if (found.named && found.named->what == Named::What::parameter) continue;
    if (made_.contains(name)) continue;
    std::vector<std::string> known;
    for (const ModelParameter& parameter : model_.parameters) known.push_back(parameter.name);
    faults_.add({model_.file.string(), 0}, "T130",
                fmt::format("the model has no parameter '{}' to be replaced by '{}'", name, value),
                {did_you_mean(name, known), known.empty()        ? "it has no parameters"
                                            : known.size() <= 30 ? "its parameters: " + joined(known)
                                                                 : ""});
  }
}

}  // namespace tellegen
