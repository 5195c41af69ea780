// What is to be found from measurements, and how: limits of sensors, [unknowns], [estimate], [calibrate].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tellegen/model/model_reader.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/sensor_error.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

using Varies = ModelUnknown::Varies;
using Coordinate = ModelUnknown::Coordinate;
constexpr std::array<std::pair<std::string_view, Varies>, 4> varies_words{
    {{"constant", Varies::constant},
     {"walk", Varies::walk},
     {"integrated_walk", Varies::integrated_walk},
     {"oscillator", Varies::oscillator}}};
constexpr std::array<std::pair<std::string_view, Coordinate>, 4> coordinate_words{
    {{"auto", Coordinate::automatic},
     {"value", Coordinate::value},
     {"inverse", Coordinate::inverse},
     {"log", Coordinate::logarithm}}};

const std::vector<std::string_view> unknown_keys{"varies", "coordinate", "start",     "deviation", "between",
                                                 "walk",   "over",       "frequency", "keep",      "summary"};

// One word out of a list; T161 with the nearest where it is none of them.
template <class Words, class Meaning>
void read_word(const Source& at, const Value& table, std::string_view key, const std::string& of,
               const Words& words, Meaning& into) {
  const Value* value = table.find(key);
  const std::string what = fmt::format("'{}' of {}", key, of);
  if (!value || !at.is(*value, Value::Type::text, what)) return;
  std::vector<std::string> known;
  for (const auto& [word, meaning] : words) {
    if (word == value->text) {
      into = meaning;
      return;
    }
    known.emplace_back(word);
  }
  at.fault(*value, "T161", fmt::format("{} cannot be '{}'", what, value->text),
           {did_you_mean(value->text, known), "it is one of " + joined(known)});
}

// "0.5 K" in SI; as a difference "0.5 degC" is half a kelvin.
double in_si(const Scalar& scalar, bool difference) {
  return *scalar.number - (difference && !scalar.unit.empty() ? units().to_si(0.0, scalar.unit) : 0.0);
}

bool is_table(const Model& model, const std::string& name) {
  if (model.tables.contains(name)) return true;
  const auto dot = name.rfind('.');
  const auto component = model.component_by_name.find(name.substr(0, dot));
  if (dot == std::string::npos || component == model.component_by_name.end()) return false;
  const auto& parameters = model.kinds[model.components[component->second].kind].parameters;
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const KindParameter& p) { return p.table && p.name == name.substr(dot + 1); });
}

// [columns] names sensors, inputs and the time; which columns they are, is read with the data
// (column_names.h).
void check_columns(const Source& at, const Model& model) {
  const Value* table = at.document.root().find("columns");
  if (!table || !at.is(*table, Value::Type::table, "'columns'")) return;
  std::vector<std::string> known{"time", "arrival"};
  for (const ModelOutput& output : model.outputs)
    if (output.sensor) known.push_back(output.name);
  for (const ModelInput& input : model.inputs) known.push_back(input.name);
  for (const ModelParameter& parameter : model.parameters) known.push_back(parameter.name);
  for (const Value& entry : table->items) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      at.fault(entry, "T163", fmt::format("there is no sensor, input or parameter '{}'", entry.key),
               {did_you_mean(entry.key, known)});
    at.is(entry, Value::Type::text, fmt::format("the column of '{}'", entry.key));
  }
}

}  // namespace

// A number or a quantity of a table, SI, at least `lowest`; nothing where it is absent or wrong.
std::optional<double> ModelReader::read_number(const Value& table, std::string_view key,
                                               const std::string& of, std::string_view unit, bool difference,
                                               double lowest) {
  const Source at = source(0);
  const Value* value = table.find(key);
  if (!value) return std::nullopt;
  const std::string what = fmt::format("'{}' of {}", key, of);
  const auto scalar = read_scalar(at, *value, what);
  if (!scalar) return std::nullopt;
  if (!scalar->number) {
    at.fault(*value, "T102", fmt::format("{} must be a number or a quantity", what));
    return std::nullopt;
  }
  if (!unit.empty() && !scalar->unit.empty() && !check_unit(at, *value, scalar->unit, unit, what))
    return std::nullopt;
  const double number = in_si(*scalar, difference);
  if (!(number >= lowest)) {
    at.fault(*value, "T124", fmt::format("{} must be at least {:g}, and is {:g}", what, lowest, number));
    return std::nullopt;
  }
  return number;
}

// The standard deviation of a sensor's readings, or of an input's.
void ModelReader::read_noise(int scope, Named& named, std::string_view what, const std::string& unit) {
  const Source at = source(scope);
  const Value* noise = named.entry->is_table() ? named.entry->find("noise") : nullptr;
  if (!noise) return;
  const std::string of = fmt::format("the noise of {}", what);
  const auto amount = read_scalar(at, *noise, of);
  if (amount && amount->number) {
    if (!amount->unit.empty() && !unit.empty()) check_unit(at, *noise, amount->unit, unit, of);
    named.noise = in_si(*amount, true);  // a difference: "0.5 degC" is half a kelvin
    if (*named.noise < 0.0) at.fault(*noise, "T124", fmt::format("{} must be at least 0", of));
  } else if (amount) {
    at.fault(*noise, "T102", fmt::format("{} must be a number or a quantity", of));
  }
}

// What a reading can be: between two bounds, and never the same for long.
void ModelReader::read_reading_limits(int scope, Named& named, std::string_view what,
                                      const std::string& unit) {
  const Source at = source(scope);
  if (const Value* between = named.entry->find("between")) {
    const std::string of = fmt::format("'between' of {}", what);
    if (!between->is_list() || between->items.size() != 2) {
      at.fault(*between, "T162", fmt::format("{} needs two bounds", of),
               {"write between = [lowest, highest]"});
    } else {
      std::optional<double> bounds[2];
      for (int k = 0; k < 2; ++k)
        bounds[k] = read_quantity(at, between->items[k], fmt::format("a bound of {}", what), unit);
      if (bounds[0] && bounds[1] && !(*bounds[0] < *bounds[1]))
        at.fault(*between, "T162", fmt::format("{} leaves nothing between its bounds", of),
                 {fmt::format("the lower is {:g}, the upper {:g}", *bounds[0], *bounds[1])});
      named.lowest = bounds[0];
      named.highest = bounds[1];
    }
  }
  if (const Value* stuck = named.entry->find("stuck")) {
    named.stuck = read_quantity(at, *stuck, fmt::format("'stuck' of {}", what), "s");
    if (named.stuck && !(*named.stuck > 0.0))
      at.fault(*stuck, "T124", fmt::format("'stuck' of {} must be above 0", what));
  }
}

// Names with a dot (`r1.R`) are tables in tables.
void ModelReader::read_unknowns(const Value& table, const std::string& prefix) {
  const Source at = source(0);
  for (const Value& entry : table.items) {
    const std::string name = prefix + std::string(entry.key);
    if (!at.is(entry, Value::Type::table, fmt::format("unknown '{}'", name))) continue;
    const bool nested =
        !entry.items.empty() && std::all_of(entry.items.begin(), entry.items.end(), [&](const Value& v) {
          return v.is_table() &&
                 std::find(unknown_keys.begin(), unknown_keys.end(), v.key) == unknown_keys.end();
        });
    if (nested)
      read_unknowns(entry, name + ".");
    else
      read_unknown(entry, name);
  }
}

void ModelReader::read_unknown(const Value& entry, const std::string& name) {
  const Source at = source(0);
  const std::string what = fmt::format("unknown '{}'", name);
  if (ParameterTable* table = find_parameter_table(model_, name)) return read_unknown_table(entry, *table);
  if (is_table(model_, name))
    return at.fault(entry, "T164", fmt::format("{} is a table", what),
                    {"write parameters = true in it, and its values are unknown"});
  at.known_keys(entry, unknown_keys, what);
  std::optional<std::string_view> bare_unit;
  const int parameter = studied_parameter(entry, name, bare_unit);
  if (parameter >= 0) read_unknown_value(entry, what, parameter);
}

void ModelReader::read_unknown_value(const Value& entry, const std::string& what, int index) {
  const Source at = source(0);
  ModelUnknown unknown;
  unknown.place = at.document.at(entry);
  unknown.parameter = index;
  const ModelParameter& parameter = model_.parameters[index];
  if (!parameter.value.is_number()) {
    std::vector<std::string> of;
    for (Expr s : symbols_of(std::span(&parameter.value, 1))) of.push_back(s.name());
    at.fault(entry, "T160", fmt::format("{} follows from other parameters", what),
             {"find what it is made of: " + joined(of)});
    return;
  }
  const double none = -std::numeric_limits<double>::infinity();
  read_word(at, entry, "varies", what, varies_words, unknown.varies);
  read_word(at, entry, "coordinate", what, coordinate_words, unknown.coordinate);
  unknown.start = read_number(entry, "start", what, parameter.unit, false, none);
  unknown.deviation = read_number(entry, "deviation", what, parameter.unit, true, 0.0);
  // A walk is told by how far it goes over some time.
  const double over = read_number(entry, "over", what, "s", true, 1e-12).value_or(1.0);
  if (const auto walk = read_number(
          entry, "walk", what, unknown.varies == Varies::integrated_walk ? "" : parameter.unit, true, 0.0))
    unknown.walk = *walk / std::sqrt(over);
  unknown.frequency = read_number(entry, "frequency", what, "Hz", true, 0.0).value_or(0.0);
  unknown.keep = read_number(entry, "keep", what, "1", true, 0.0).value_or(0.0);
  if (unknown.keep > 1.0) at.fault(entry, "T124", fmt::format("'keep' of {} must be at most 1", what));
  if (unknown.varies != Varies::constant && unknown.walk == 0.0 && unknown.varies != Varies::oscillator)
    at.fault(
        entry, "T161", fmt::format("{} varies, and nothing says how far", what),
        {fmt::format("write walk = \"...\", over = \"1 ms\": the standard deviation of its change in that "
                     "time, in {}",
                     parameter.unit.empty() ? "its unit" : parameter.unit)});
  if (unknown.varies == Varies::oscillator && !(unknown.frequency > 0.0))
    at.fault(entry, "T161", fmt::format("{} is an oscillator without a frequency", what),
             {"write frequency = \"5 Hz\""});
  if (unknown.varies == Varies::constant && entry.find("walk")) unknown.varies = Varies::walk;
  if (const Value* between = entry.find("between")) {
    if (!between->is_list() || between->items.size() != 2) {
      at.fault(*between, "T162", fmt::format("'between' of {} needs two bounds", what),
               {"write between = [lowest, highest]"});
    } else {
      unknown.lower =
          read_quantity(at, between->items[0], fmt::format("a bound of {}", what), parameter.unit);
      unknown.upper =
          read_quantity(at, between->items[1], fmt::format("a bound of {}", what), parameter.unit);
      if (unknown.lower && unknown.upper && !(*unknown.lower < *unknown.upper))
        at.fault(*between, "T162", fmt::format("'between' of {} leaves nothing between its bounds", what),
                 {fmt::format("the lower is {:g}, the upper {:g}", *unknown.lower, *unknown.upper)});
    }
  }
  const double start = unknown.start.value_or(parameter.number);
  if ((unknown.lower && start < *unknown.lower) || (unknown.upper && start > *unknown.upper))
    at.fault(entry, "T162", fmt::format("the start of {} is not between its bounds", what),
             {fmt::format("it is {:g}", start)});
  if (unknown.coordinate != Coordinate::value && unknown.coordinate != Coordinate::automatic &&
      !(start > 0.0))
    at.fault(entry, "T161", fmt::format("the start of {} must be above 0 in this coordinate", what),
             {fmt::format("it is {:g}", start), "write coordinate = \"value\""});
  model_.unknowns.push_back(unknown);
}

// Every value of a table is an unknown of its own.
void ModelReader::read_unknown_table(const Value& entry, ParameterTable& table) {
  const std::string what = fmt::format("unknown '{}'", table.name);
  std::vector<std::string_view> keys = unknown_keys;
  std::replace(keys.begin(), keys.end(), std::string_view("start"), std::string_view("smoothness"));
  source(0).known_keys(entry, keys, what);
  const std::string unit = model_.parameters[table.parameters.front()].unit;
  table.smoothness = read_number(entry, "smoothness", what, unit, true, 0.0);
  if (table.smoothness == 0.0)
    source(0).fault(
        entry, "T124", fmt::format("'smoothness' of {} must be above 0", what),
        {"it is the standard deviation of a value from the straight line between its neighbours"});
  for (int parameter : table.parameters) {
    if (!faults_.empty()) return;
    read_unknown_value(entry, fmt::format("unknown '{}'", model_.parameters[parameter].name), parameter);
    // No size is known that a value could be compared with: those of a table pass through zero.
    if (ModelUnknown& unknown = model_.unknowns.back(); unknown.coordinate == Coordinate::automatic)
      unknown.coordinate = Coordinate::value;
  }
}

// A parameter that no [parameters] has takes the number of the command line all the same.
void ModelReader::replace_number(ModelParameter& parameter, const Value& at, bool difference) {
  made_.insert(parameter.name);
  const auto replaced = overrides_.find(parameter.name);
  if (replaced == overrides_.end()) return;
  const Source from = source(0);
  Value& text = *replaced->second;
  text.line = at.line;
  const std::string what = fmt::format("'{}', replaced by '{}',", parameter.name, text.text);
  const auto amount = read_scalar(from, text, what);
  if (!amount || !amount->number ||
      (!amount->unit.empty() && !check_unit(from, at, amount->unit, parameter.unit, what)))
    return;
  parameter.number = in_si(*amount, difference);
  parameter.value = model_.pool->number(parameter.number);
}

// The offset of a sensor or of an input that data give, as an unknown:
// T_w = { measures = "...", bias = { deviation = "2 K" } }.
void ModelReader::read_bias(const Value& bias, int parameter, std::optional<double> noise) {
  const std::string name = model_.parameters[parameter].name;
  replace_number(model_.parameters[parameter], bias, true);
  const std::size_t before = model_.unknowns.size();
  read_unknown(bias, name);
  if (model_.unknowns.size() == before) return;
  // Nothing of its size is known but that a sensor in use is not off by hundreds of its noise.
  ModelUnknown& unknown = model_.unknowns.back();
  if (unknown.coordinate == Coordinate::automatic) unknown.coordinate = Coordinate::value;
  if (!unknown.start) unknown.start = 0.0;
  if (!unknown.deviation && noise.value_or(0.0) > 0.0) unknown.deviation = 100.0 * *noise;
}

void ModelReader::read_biases() {
  const Source at = source(0);
  const auto each = [&](const char* section, auto& list, const auto& add) {
    const Value* table = at.document.root().find(section);
    if (!table || !table->is_table()) return;
    for (const Value& entry : table->items) {
      const Value* bias = entry.is_table() ? entry.find("bias") : nullptr;
      const auto found =
          std::find_if(list.begin(), list.end(), [&](const auto& l) { return l.name == entry.key; });
      if (!bias || found == list.end()) continue;
      if (at.is(*bias, Value::Type::table, fmt::format("'bias' of '{}'", entry.key)))
        read_bias(*bias, add(static_cast<int>(found - list.begin())), found->noise);
    }
  };
  each("sensors", model_.outputs,
       [&](int sensor) { return add_sensor_error(model_, sensor, SensorError::offset); });
  each("inputs", model_.inputs, [&](int input) { return add_input_bias(model_, input); });
}

std::vector<int> ModelReader::sensors_named(const Value& table, const std::string& what) {
  const Source at = source(0);
  std::vector<int> found;
  const Value* list = table.find("sensors");
  if (!list || !at.is(*list, Value::Type::list, fmt::format("'sensors' of {}", what))) return found;
  std::vector<std::string> known;
  for (const ModelOutput& output : model_.outputs)
    if (output.sensor) known.push_back(output.name);
  for (const Value& item : list->items) {
    if (!at.is(item, Value::Type::text, fmt::format("a sensor of {}", what))) continue;
    const auto sensor = std::find(known.begin(), known.end(), item.text);
    if (sensor == known.end())
      at.fault(item, "T163", fmt::format("there is no sensor '{}'", item.text),
               {did_you_mean(item.text, known),
                known.empty() ? "the model has no [sensors]" : "sensors: " + joined(known)});
    else
      found.push_back(static_cast<int>(sensor - known.begin()));  // sensors come first
  }
  return found;
}

std::vector<int> ModelReader::unknowns_named(const Value& table, std::string_view key,
                                             const std::string& what) {
  const Source at = source(0);
  std::vector<int> found;
  const Value* list = table.find(key);
  if (!list || !at.is(*list, Value::Type::list, fmt::format("'{}' of {}", key, what))) return found;
  for (const Value& item : list->items) {
    if (!at.is(item, Value::Type::text, fmt::format("a name in '{}' of {}", key, what))) continue;
    if (const ParameterTable* whole = find_parameter_table(model_, item.text)) {
      for (int parameter : whole->parameters) found.push_back(unknown_of(model_, parameter));
      continue;
    }
    std::optional<std::string_view> bare_unit;
    const int parameter = studied_parameter(item, std::string(item.text), bare_unit);
    if (parameter >= 0) found.push_back(unknown_of(model_, parameter));
  }
  return found;
}

void ModelReader::read_estimation() {
  const Source at = source(0);
  check_columns(at, model_);
  ModelEstimation& estimation = model_.estimation;
  for (std::size_t k = 0; k < model_.unknowns.size(); ++k) estimation.unknowns.push_back(static_cast<int>(k));
  for (std::size_t k = 0; k < model_.outputs.size(); ++k)
    if (model_.outputs[k].sensor) estimation.sensors.push_back(static_cast<int>(k));
  const Value* table = at.document.root().find("estimate");
  if (!table || !at.is(*table, Value::Type::table, "'estimate'")) return;
  const std::string what = "[estimate]";
  at.known_keys(
      *table,
      {"estimator", "step", "gate", "late", "resample", "sensors", "unknowns", "inputs", "states", "summary"},
      what);
  estimation.place = at.document.at(*table);
  if (table->find("estimator")) estimation.estimator = at.text(*table, "estimator", what);
  estimation.step = read_number(*table, "step", what, "s", true, 1e-12);
  estimation.late = read_number(*table, "late", what, "s", true, 0.0).value_or(0.0);
  estimation.gate = read_number(*table, "gate", what, "1", true, 0.0);
  if (estimation.gate && !(*estimation.gate > 0.0 && *estimation.gate < 1.0))
    at.fault(*table->find("gate"), "T124", "'gate' of [estimate] must lie between 0 and 1",
             {"it is the probability with which a good reading is taken: 0.9999"});
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> resample_words{
      {{"exact", "exact"}, {"nearest", "nearest"}, {"linear", "linear"}}};
  read_word(at, *table, "resample", what, resample_words, estimation.resample);
  if (table->find("sensors")) estimation.sensors = sensors_named(*table, what);
  if (table->find("unknowns")) estimation.unknowns = unknowns_named(*table, "unknowns", what);
  if (const Value* inputs = table->find("inputs");
      inputs && at.is(*inputs, Value::Type::list, "'inputs' of [estimate]"))
    for (const Value& item : inputs->items) {
      if (!at.is(item, Value::Type::text, "an input of [estimate]")) continue;
      std::vector<std::string> known;
      for (const ModelInput& input : model_.inputs) known.push_back(input.name);
      for (const ModelParameter& parameter : model_.parameters) known.push_back(parameter.name);
      if (std::find(known.begin(), known.end(), item.text) == known.end())
        at.fault(item, "T163", fmt::format("there is no input or parameter '{}'", item.text),
                 {did_you_mean(item.text, known)});
      else
        estimation.inputs.emplace_back(item.text);
    }
  if (const Value* states = table->find("states"))
    if (at.is(*states, Value::Type::table, "'states' of [estimate]")) read_states(*states, "");
}

// "n2.T" = { ... }, "*.T" = { ... }; n2.T = { ... } is a table in a table.
void ModelReader::read_states(const Value& table, const std::string& prefix) {
  const Source at = source(0);
  for (const Value& entry : table.items) {
    const std::string name = prefix + std::string(entry.key);
    const std::string what = fmt::format("state '{}' of [estimate]", name);
    if (!at.is(entry, Value::Type::table, what)) continue;
    const bool nested = !entry.items.empty() && std::all_of(entry.items.begin(), entry.items.end(),
                                                            [](const Value& v) { return v.is_table(); });
    if (nested) {
      read_states(entry, name + ".");
      continue;
    }
    at.known_keys(entry, {"start", "deviation", "noise", "rate_noise", "over", "keep"}, what);
    ModelEstimation::State state;
    state.pattern = name;
    state.place = at.document.at(entry);
    std::string unit;
    if (const auto variable = find_variable(model_, name)) unit = variable_unit(model_, *variable);
    const double none = -std::numeric_limits<double>::infinity();
    const double over = read_number(entry, "over", what, "s", true, 1e-12).value_or(1.0);
    state.start = read_number(entry, "start", what, unit, false, none);
    state.deviation = read_number(entry, "deviation", what, unit, true, 0.0);
    state.noise = read_number(entry, "noise", what, unit, true, 0.0).value_or(0.0) / std::sqrt(over);
    state.rate_noise = read_number(entry, "rate_noise", what, "", true, 0.0).value_or(0.0) / std::sqrt(over);
    state.keep = read_number(entry, "keep", what, "1", true, 0.0).value_or(0.0);
    if (state.keep > 1.0) at.fault(entry, "T124", fmt::format("'keep' of {} must be at most 1", what));
    model_.estimation.states.push_back(std::move(state));
  }
}

void ModelReader::read_calibration() {
  const Source at = source(0);
  const Value* table = at.document.root().find("calibrate");
  if (!table || !at.is(*table, Value::Type::table, "'calibrate'")) return;
  const Value* stages = table->find("stages");
  if (!stages) {
    read_stage(*table);
    return;
  }
  at.known_keys(*table, {"stages", "summary"}, "[calibrate]");
  if (!at.is(*stages, Value::Type::list, "'stages' of [calibrate]")) return;
  for (const Value& entry : stages->items)
    if (at.is(entry, Value::Type::table, "a stage of [calibrate]")) read_stage(entry);
}

void ModelReader::read_stage(const Value& entry) {
  const Source at = source(0);
  const std::string what = "[calibrate]";
  at.known_keys(entry, {"parameters", "sensors", "window", "summary"}, what);
  CalibrationStage stage;
  stage.place = at.document.at(entry);
  stage.parameters = unknowns_named(entry, "parameters", what);
  if (!entry.find("parameters"))
    at.fault(entry, "T161", "a stage of [calibrate] has no 'parameters'",
             {"write parameters = [\"R_1\", \"R_2\"]: what is to be found"});
  stage.sensors = sensors_named(entry, what);
  if (const Value* window = entry.find("window")) {
    if (!window->is_list() || window->items.size() != 2) {
      at.fault(*window, "T162", "'window' of [calibrate] needs two times",
               {"write window = [\"4 s\", \"5 s\"]"});
    } else {
      stage.from = read_quantity(at, window->items[0], "'window' of [calibrate]", "s");
      stage.to = read_quantity(at, window->items[1], "'window' of [calibrate]", "s");
      if (stage.from && stage.to && !(*stage.from < *stage.to))
        at.fault(*window, "T162", "the window of [calibrate] is empty",
                 {fmt::format("it goes from {:g} s to {:g} s", *stage.from, *stage.to)});
    }
  }
  model_.calibration.push_back(std::move(stage));
}

}  // namespace tellegen
