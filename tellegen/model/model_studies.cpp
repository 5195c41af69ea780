// What a model is judged by and what may be changed in it: [objectives], [runs] and [design].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "tellegen/model/model_reader.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/units.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

constexpr std::array<std::pair<std::string_view, ModelObjective::What>, 6> objective_keys{
    {{"integral", ModelObjective::What::integral},
     {"end", ModelObjective::What::end},
     {"time_when", ModelObjective::What::time_when},
     {"maximum", ModelObjective::What::maximum},
     {"minimum", ModelObjective::What::minimum},
     {"formula", ModelObjective::What::formula}}};

bool is_condition(Expr value) {
  if (value.op() != Op::call) return false;
  const std::string_view name = value.function().name;
  for (const std::string_view known : {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"})
    if (name == known) return true;
  return false;
}

// "a <= b" cut at its only comparison; an empty sign where there is none, or more.
struct Comparison {
  std::string_view left, sign, right;
};
Comparison cut_at_comparison(std::string_view text) {
  const auto first = text.find_first_of("<>=!");
  if (first == std::string_view::npos) return {text, "", ""};
  const std::size_t length = first + 1 < text.size() && text[first + 1] == '=' ? 2 : 1;
  const std::string_view right = text.substr(first + length);
  if (right.find_first_of("<>=!") != std::string_view::npos) return {text, "", ""};
  return {text.substr(0, first), text.substr(first, length), right};
}

std::vector<std::string> names_of(const std::vector<ModelObjective>& objectives) {
  std::vector<std::string> names;
  for (const ModelObjective& o : objectives) names.push_back(o.name);
  return names;
}

// Values that depend on each other in a circle: the chain that closes first, or nothing.
std::vector<std::string> circle_in(const std::vector<std::pair<std::string, Expr>>& values) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t k = 0; k < values.size(); ++k) index[values[k].first] = k;
  std::vector<int> state(values.size(), 0);  // 0 fresh, 1 open, 2 done
  std::vector<std::string> open, circle;
  std::function<void(std::size_t)> visit = [&](std::size_t k) {
    if (state[k] == 2 || !circle.empty()) return;
    open.push_back(values[k].first);
    if (std::exchange(state[k], 1) == 1) {
      circle.assign(std::find(open.begin(), open.end() - 1, values[k].first), open.end());
      return;
    }
    if (values[k].second)
      for (Expr s : symbols_of(std::span(&values[k].second, 1)))
        if (const auto other = index.find(s.name()); other != index.end()) visit(other->second);
    open.pop_back();
    state[k] = 2;
  };
  for (std::size_t k = 0; k < values.size() && circle.empty(); ++k) visit(k);
  return circle;
}

std::string chain_of(const std::vector<std::string>& circle) {
  std::string chain;
  for (const std::string& name : circle) chain += (chain.empty() ? "" : " -> ") + name;
  return chain;
}

}  // namespace

// A number, a quantity or an expression of parameters alone.
std::optional<ModelReader::Constant> ModelReader::read_constant(const Value& value, std::string_view what,
                                                                std::string_view unit,
                                                                std::optional<std::string_view> bare_unit) {
  const Source at = source(0);
  const auto scalar = read_scalar(at, value, what, bare_unit);
  if (!scalar) return std::nullopt;
  if (scalar->number) {
    if (!unit.empty() && !scalar->unit.empty() && !check_unit(at, value, scalar->unit, unit, what))
      return std::nullopt;
    return Constant{model_.pool->number(*scalar->number), *scalar->number};
  }
  const Resolved& resolved = expression(0, value, scalar->expression);
  if (!resolved.value) return std::nullopt;
  if (!resolved.constant) {
    at.fault(value, "T127", fmt::format("{} depends on more than parameters", what));
    return std::nullopt;
  }
  if (!unit.empty() && !check_unit_of(0, value, resolved.unit, unit, what)) return std::nullopt;
  if (!std::isfinite(resolved.number)) {
    at.fault(value, "T125", fmt::format("{} is not a finite number", what));
    return std::nullopt;
  }
  return Constant{resolved.value, resolved.number};
}

// The time at which a run ends.
void ModelReader::read_stop(const Value& value, std::string_view what, std::optional<double>& number,
                            Expr& formula) {
  const auto stop = read_constant(value, what, "s");
  if (!stop) return;
  if (!(stop->number > 0.0)) {
    source(0).fault(value, "T124", fmt::format("{} must be above 0, and is {:g}", what, stop->number));
    return;
  }
  number = stop->number;
  if (!stop->value.is_number()) formula = stop->value;
}

// A condition on the model's variables: something that becomes true.
Expr ModelReader::read_condition(const Value& value, std::string_view what) {
  const Source at = source(0);
  if (!at.is(value, Value::Type::text, what)) return {};
  const Resolved& resolved = expression(0, value, value.text);
  if (!resolved.value) return {};
  if (!is_condition(resolved.value) || resolved.constant) {
    at.fault(value, "T143", fmt::format("{} is not a condition that can become true", what),
             {fmt::format("'{}' {}", value.text,
                          resolved.constant ? "does not change during a run" : "compares nothing"),
              "write a comparison with a variable of the model or with t: \"shaft.w > 20\""});
    return {};
  }
  return resolved.value;
}

// The parameter of a name, and the unit of its bare numbers. -1: reported.
int ModelReader::studied_parameter(const Value& at, const std::string& name,
                                   std::optional<std::string_view>& bare_unit) {
  const Found found = lookup(0, name);
  if (found.named && found.named->what == Named::What::parameter && found.named->entry->is_table())
    if (const Value* unit = found.named->entry->find("unit"); unit && unit->is_text()) bare_unit = unit->text;
  try {
    return study_parameter(model_, name, source(0).document.at(at));
  } catch (const ModelError& error) {
    if (!(found.named && found.named->what == Named::What::parameter)) faults_.add(error);
    return -1;  // a parameter of the file that is not in the model was wrong itself
  }
}

void ModelReader::read_runs() {
  const Source at = source(0);
  const Value* table = at.document.root().find("runs");
  if (!table || !at.is(*table, Value::Type::table, "'runs'")) return;
  for (const Value& entry : table->items) {
    if (!check_name(at, entry, entry.key, "a run")) continue;
    const std::string what = fmt::format("run '{}'", entry.key);
    if (!at.is(entry, Value::Type::table, what)) continue;
    at.known_keys(entry, {"parameters", "stop", "summary"}, what);
    ModelRun& run = model_.runs.emplace_back();
    run.name = entry.key;
    run.place = at.document.at(entry);
    if (const Value* given = entry.find("parameters"))
      if (at.is(*given, Value::Type::table, fmt::format("'parameters' of {}", what)))
        read_run_parameters(*given, "", run);
    const Value* stop = entry.find("stop");
    const std::string stop_of = fmt::format("'stop' of {}", what);
    if (stop)
      if (const auto value = read_constant(*stop, stop_of, "s")) run.stop = value->value;
    if (!check_run_circles(run, entry) || !run.stop) continue;
    const double number = evaluate(run.stop, numbers_in(run));
    if (!(number > 0.0) || !std::isfinite(number))
      at.fault(*stop, "T124", fmt::format("{} must be above 0, and is {:g}", stop_of, number));
  }
}

void ModelReader::read_run_parameters(const Value& table, const std::string& prefix, ModelRun& run) {
  for (const Value& entry : table.items) {
    const std::string name = prefix + std::string(entry.key);
    if (entry.is_table()) {  // r1.R = ... is a table within the table
      read_run_parameters(entry, name + ".", run);
      continue;
    }
    std::optional<std::string_view> bare_unit;
    const int parameter = studied_parameter(entry, name, bare_unit);
    if (parameter < 0) continue;
    const std::string what = fmt::format("parameter '{}' of run '{}'", name, run.name);
    if (const auto value = read_constant(entry, what, model_.parameters[parameter].unit, bare_unit))
      run.parameters.emplace_back(parameter, value->value);
  }
}

// The name of a parameter in its own expression is the model's value, so that I = "-I" is no circle.
bool ModelReader::check_run_circles(const ModelRun& run, const Value& entry) {
  std::vector<std::pair<std::string, Expr>> values;
  for (const ModelParameter& p : model_.parameters) values.emplace_back(p.symbol.name(), p.value);
  for (const auto& [parameter, value] : run.parameters) {
    const Expr own = model_.parameters[parameter].symbol;
    values[parameter].second = substitute(value, {{own, model_.pool->number(1.0)}});
  }
  const auto circle = circle_in(values);
  if (circle.empty()) return true;
  source(0).fault(entry, "T126", fmt::format("'{}' depends on itself in run '{}'", circle.front(), run.name),
                  {chain_of(circle), "break the circle: give one of them a number"});
  return false;
}

// All parameters as they are in a run without circles.
ExprMap<double> ModelReader::numbers_in(const ModelRun& run) const {
  ExprMap<double> numbers;
  ExprMap<Expr> values;
  for (const ModelParameter& p : model_.parameters) values[p.symbol] = p.value;
  for (const auto& [parameter, value] : run.parameters) {
    const ModelParameter& p = model_.parameters[parameter];
    values[p.symbol] = substitute(value, {{p.symbol, model_.pool->number(p.number)}});
  }
  const std::function<void(Expr)> find = [&](Expr symbol) {
    if (numbers.contains(symbol) || !values.contains(symbol)) return;
    const Expr value = values.at(symbol);
    for (Expr s : symbols_of(std::span(&value, 1))) find(s);
    numbers[symbol] = evaluate(value, numbers);
  };
  for (const ModelParameter& p : model_.parameters) find(p.symbol);
  return numbers;
}

void ModelReader::read_objectives() {
  const Source at = source(0);
  const Value* table = at.document.root().find("objectives");
  if (!table || !at.is(*table, Value::Type::table, "'objectives'")) return;
  // Formulas may name objectives that come later.
  std::vector<std::pair<const Value*, std::size_t>> formulas;
  for (const Value& entry : table->items) {
    if (!check_name(at, entry, entry.key, "an objective")) continue;
    // An output may have the name: `E_loss = { end = "E_loss" }`. In formulas it would stand for a parameter.
    const auto other = scopes_[0]->names.find(entry.key);
    if (other != scopes_[0]->names.end() && other->second.what == Named::What::parameter) {
      at.fault(
          entry, "T106",
          fmt::format("'{}' is an objective and a parameter (line {})", entry.key, other->second.entry->line),
          {"formulas of objectives name both"});
      continue;
    }
    if (read_objective(entry) && model_.objectives.back().what == ModelObjective::What::formula)
      formulas.emplace_back(&entry, model_.objectives.size() - 1);
  }
  for (const auto& [entry, index] : formulas) {
    const Value& text = *entry->find("formula");
    const std::string what = fmt::format("objective '{}'", entry->key);
    ModelObjective& objective = model_.objectives[index];
    if (text.is_number())
      objective.value = model_.pool->number(text.number);
    else if (at.is(text, Value::Type::text, fmt::format("'formula' of {}", what)))
      objective.value = objective_formula(text, text.text);
    if (!objective.value || !objective.value.is_symbol()) continue;
    const auto unit = unit_of_formula(objective.value);
    if (objective.unit.empty())
      objective.unit = unit;
    else if (!unit.empty())
      check_unit(at, text, objective.unit, unit, what);
  }
  std::vector<std::pair<std::string, Expr>> values;
  for (const ModelObjective& o : model_.objectives)
    values.emplace_back(o.name, o.what == ModelObjective::What::formula ? o.value : Expr());
  if (const auto circle = circle_in(values); !circle.empty())
    at.fault(*table->find(circle.front()), "T126",
             fmt::format("objective '{}' depends on itself", circle.front()), {chain_of(circle)});
}

bool ModelReader::read_objective(const Value& entry) {
  const Source at = source(0);
  const std::string what = fmt::format("objective '{}'", entry.key);
  if (!at.is(entry, Value::Type::table, what)) return false;
  at.known_keys(entry,
                {"integral", "end", "time_when", "maximum", "minimum", "formula", "run", "unit", "summary"},
                what);
  ModelObjective objective{ModelObjective::What::end, std::string(entry.key), "", {}, -1,
                           at.document.at(entry)};
  const Value* value = nullptr;
  int said = 0;
  for (const auto& [key, of] : objective_keys)
    if (const Value* found = entry.find(key)) value = found, objective.what = of, ++said;
  if (said != 1) {
    at.fault(entry, "T142",
             fmt::format("{} must say one thing, and says {}", what, said == 0 ? "none" : "more"),
             {"one of 'integral', 'end', 'time_when', 'maximum', 'minimum', 'formula'"});
    return false;
  }
  bool good = true;
  if (const Value* unit = entry.find("unit")) {
    objective.unit = at.text(entry, "unit", what);
    good = check_known_unit(at, *unit, objective.unit, what);
  }
  if (const Value* run = entry.find("run"); run && at.is(*run, Value::Type::text, "'run' of " + what)) {
    std::vector<std::string> known;
    for (const ModelRun& r : model_.runs) known.push_back(r.name);
    const auto found = std::find(known.begin(), known.end(), run->text);
    objective.run = static_cast<int>(found - known.begin());
    if (objective.what == ModelObjective::What::formula)
      at.fault(*run, "T142", fmt::format("{} is a formula and has no run of its own", what),
               {"the objectives it is made of have"});
    else if (found == known.end())
      at.fault(*run, "T144", fmt::format("there is no run '{}' ({})", run->text, what),
               {did_you_mean(run->text, known),
                known.empty() ? "runs are described in [runs.NAME]" : "runs: " + joined(known)});
  }
  std::optional<std::string> unit;  // that the value implies
  if (objective.what == ModelObjective::What::time_when) {
    objective.value = read_condition(*value, fmt::format("'time_when' of {}", what));
    unit = "s";
  } else if (objective.what != ModelObjective::What::formula) {
    const auto scalar = read_scalar(at, *value, what);
    if (scalar && scalar->number) {
      objective.value = model_.pool->number(*scalar->number);
      if (!scalar->unit.empty()) unit = scalar->unit;
    } else if (scalar) {
      const Resolved& resolved = expression(0, *value, scalar->expression);
      objective.value = resolved.value;
      unit = resolved.unit;
    }
    if (unit && objective.what == ModelObjective::What::integral)
      unit = fmt::format("({}) s", unit->empty() ? "1" : *unit);
  }
  if (good && unit && !objective.unit.empty()) check_unit(at, *value, objective.unit, *unit, what);
  if (objective.unit.empty() && unit && objective.what != ModelObjective::What::integral)
    objective.unit = *unit;
  model_.objectives.push_back(std::move(objective));
  return true;
}

std::string ModelReader::unit_of_formula(Expr symbol) const {
  for (const ModelObjective& o : model_.objectives)
    if (o.name == symbol.name()) return o.unit;
  return unit_of(symbol).value_or("");
}

// A formula of objectives and parameters. Empty: reported.
Expr ModelReader::objective_formula(const Value& at, std::string_view text) {
  const Source here = source(0);
  Expr value;
  try {
    value = parse(*model_.pool, text);
  } catch (const ParseError& error) {
    here.fault(at, "T120", fmt::format("the expression cannot be read: {}", error.what()),
               shown(text, error));
    return {};
  }
  ExprMap<Expr> replacements;
  const std::vector<std::string> objectives = names_of(model_.objectives);
  bool good = true;
  for (Expr symbol : symbols_of(std::span(&value, 1))) {
    const std::string& name = symbol.name();
    if (std::find(objectives.begin(), objectives.end(), name) != objectives.end()) continue;
    const Found found = lookup(0, name);
    if (found.named && found.named->what == Named::What::parameter && found.named->constant) {
      const Expr meaning = resolve(found.scope, *found.named);
      good = good && meaning;  // otherwise it has been reported
      if (meaning && !(meaning == symbol)) replacements[symbol] = meaning;
      continue;
    }
    good = false;
    std::vector<std::string> known = objectives;
    for (const ModelParameter& p : model_.parameters) known.push_back(p.name);
    if (found.variable || found.named || name == "t")
      here.fault(at, "T127", fmt::format("a formula of objectives depends on '{}'", name),
                 {"it may use objectives and parameters; an objective of its own says what of a run is "
                  "meant: { end = \"" +
                  name + "\" }"});
    else
      here.fault(at, "T141", fmt::format("there is no objective or parameter '{}'", name),
                 {did_you_mean(name, known), objectives.empty() ? "the model has no [objectives]"
                                                                : "objectives: " + joined(objectives)});
  }
  if (!good) return {};
  return replacements.empty() ? value : substitute(value, replacements);
}

void ModelReader::read_design() {
  const Source at = source(0);
  const Value* table = at.document.root().find("design");
  if (!table || !at.is(*table, Value::Type::table, "'design'")) return;
  at.known_keys(*table, {"variables", "minimize", "maximize", "weights", "constraints", "summary"},
                "[design]");
  ModelDesign design = read_variables_and_constraints(*table, "design");
  const Value *minimize = table->find("minimize"), *maximize = table->find("maximize");
  if (!minimize == !maximize)
    at.fault(
        *table, "T147", "[design] needs 'minimize' or 'maximize'",
        {minimize
             ? "it has both: write minimize = { a = 1.0, b = -1.0 }, negative for what is to be made large"
             : "write minimize = \"E_loss\", or minimize = { a = 0.4, b = 0.6 }"});
  else
    read_goals(minimize ? *minimize : *maximize, minimize ? 1.0 : -1.0, design);
  if (const Value* weights = table->find("weights");
      weights && at.is(*weights, Value::Type::text, "'weights' of [design]")) {
    design.weights_from_ranges = weights->text == "ranges";
    if (!design.weights_from_ranges && weights->text != "given")
      at.fault(*weights, "T147", fmt::format("'weights' of [design] cannot be '{}'", weights->text),
               {did_you_mean(weights->text, {"ranges", "given"}),
                "'given', or 'ranges': each goal divided by its range over the corners of the bounds"});
  }
  model_.design = std::move(design);
}

void ModelReader::read_experiment() {
  const Source at = source(0);
  const Value* table = at.document.root().find("experiment");
  if (!table || !at.is(*table, Value::Type::table, "'experiment'")) return;
  at.known_keys(*table, {"variables", "constraints", "summary"}, "[experiment]");
  model_.experiment = read_variables_and_constraints(*table, "experiment");
}

ModelDesign ModelReader::read_variables_and_constraints(const Value& table, std::string section) {
  const Source at = source(0);
  ModelDesign design;
  design.section = std::move(section);
  design.place = at.document.at(table);
  const Value* variables = table.find("variables");
  if (variables && at.is(*variables, Value::Type::table, fmt::format("'variables' of [{}]", design.section)))
    read_design_variables(*variables, "", design);
  if (!variables || (variables->is_table() && variables->items.empty()))
    at.fault(table, "T147", fmt::format("[{}] has no 'variables'", design.section),
             {"write variables = { R = [\"1 ohm\", \"10 ohm\"] }: what may be changed, and between what"});
  if (const Value* constraints = table.find("constraints");
      constraints &&
      at.is(*constraints, Value::Type::list, fmt::format("'constraints' of [{}]", design.section)))
    for (const Value& item : constraints->items)
      if (at.is(item, Value::Type::text, fmt::format("a constraint of [{}]", design.section)))
        read_constraint(item, design);
  return design;
}

void ModelReader::read_design_variables(const Value& table, const std::string& prefix, ModelDesign& design) {
  const Source at = source(0);
  for (const Value& entry : table.items) {
    const std::string name = prefix + std::string(entry.key);
    if (entry.is_table()) {
      read_design_variables(entry, name + ".", design);
      continue;
    }
    std::optional<std::string_view> bare_unit;
    const int index = studied_parameter(entry, name, bare_unit);
    if (index < 0) continue;
    const ModelParameter& parameter = model_.parameters[index];
    const std::string what = fmt::format("'{}' of [{}]", name, design.section);
    if (!parameter.value.is_number()) {
      std::vector<std::string> of;
      for (Expr s : symbols_of(std::span(&parameter.value, 1))) of.push_back(s.name());
      at.fault(entry, "T145", fmt::format("{} follows from other parameters", what),
               {"change what it is made of: " + joined(of)});
      continue;
    }
    if (!entry.is_list() || entry.items.size() != 2) {
      at.fault(entry, "T145", fmt::format("{} needs two bounds", what),
               {fmt::format("write {} = [lowest, highest]", name)});
      continue;
    }
    double bounds[2];
    bool good = true;
    for (int k = 0; k < 2; ++k) {
      const auto bound = read_scalar(at, entry.items[k], fmt::format("a bound of {}", what), bare_unit);
      good = good && bound;
      if (!bound) continue;
      if (!bound->number) {
        at.fault(entry.items[k], "T102", fmt::format("a bound of {} must be a number or a quantity", what));
        good = false;
      } else if (!bound->unit.empty() && !parameter.unit.empty() &&
                 !check_unit(at, entry.items[k], bound->unit, parameter.unit,
                             fmt::format("a bound of {}", what))) {
        good = false;
      } else {
        bounds[k] = *bound->number;
      }
    }
    if (good && !(bounds[0] < bounds[1])) {
      at.fault(entry, "T145", fmt::format("the bounds of {} leave nothing between them", what),
               {fmt::format("the lower is {:g}, the upper {:g}", bounds[0], bounds[1])});
      good = false;
    }
    if (good) design.variables.push_back({index, bounds[0], bounds[1], at.document.at(entry)});
  }
}

void ModelReader::read_goals(const Value& value, double sign, ModelDesign& design) {
  const Source at = source(0);
  const std::vector<std::string> known = names_of(model_.objectives);
  const auto add = [&](const Value& where, std::string_view name, double weight) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      at.fault(where, "T141", fmt::format("there is no objective '{}'", name),
               {did_you_mean(name, known),
                known.empty() ? "the model has no [objectives]" : "objectives: " + joined(known)});
    else if (weight == 0.0 || !std::isfinite(weight))
      at.fault(where, "T147", fmt::format("the weight of '{}' must be a number other than 0", name));
    else
      design.goals.push_back({static_cast<int>(found - known.begin()), weight});
  };
  if (value.is_text()) return add(value, value.text, sign);
  if (!at.is(value, Value::Type::table, fmt::format("'{}' of [design]", value.key))) return;
  for (const Value& entry : value.items)
    if (at.is(entry, Value::Type::number, fmt::format("the weight of '{}'", entry.key)))
      add(entry, entry.key, sign * entry.number);
  if (value.items.empty()) at.fault(value, "T147", "[design] has no goal");
}

// "E_loss <= 300 kJ": each side a quantity or a formula of objectives and parameters.
void ModelReader::read_constraint(const Value& item, ModelDesign& design) {
  const Source at = source(0);
  const Comparison parts = cut_at_comparison(item.text);
  if (parts.sign.empty() || parts.sign == "==" || parts.sign == "!=" || parts.sign == "=") {
    at.fault(item, "T146", fmt::format("'{}' is no constraint", item.text),
             {"a constraint compares two things by <= or >=: \"T_lockup <= 12 s\""});
    return;
  }
  struct Side {
    Expr value;
    std::string unit;
  };
  const auto side = [&](std::string_view text) -> Side {
    Value part = item;
    part.text = text.substr(std::min(text.size(), text.find_first_not_of(" \t")));
    part.text = part.text.substr(0, part.text.find_last_not_of(" \t") + 1);
    const auto scalar = read_scalar(at, part, fmt::format("the constraint '{}'", item.text));
    if (!scalar) return {};
    if (scalar->number) return {model_.pool->number(*scalar->number), scalar->unit};
    const Expr value = objective_formula(item, scalar->expression);
    return {value, value && value.is_symbol() ? unit_of_formula(value) : ""};
  };
  const Side left = side(parts.left), right = side(parts.right);
  if (!left.value || !right.value) return;
  if (!left.unit.empty() && !right.unit.empty() && !units().convertible(left.unit, right.unit)) {
    at.fault(item, "T123",
             fmt::format("the constraint '{}' compares '{}' with '{}'", item.text, left.unit, right.unit));
    return;
  }
  const bool at_most = parts.sign.front() == '<';
  const Expr value = at_most ? left.value - right.value : right.value - left.value;
  if (symbols_of(std::span(&value, 1)).empty()) {
    at.fault(item, "T146", fmt::format("the constraint '{}' does not depend on anything", item.text));
    return;
  }
  design.constraints.push_back({value, std::string(item.text), at.document.at(item)});
}

}  // namespace tellegen
