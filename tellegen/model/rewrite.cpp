#include "tellegen/model/rewrite.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "tellegen/model/document.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

using KeyPath = std::vector<std::string>;

const Value* value_under(const Document& document, const KeyPath& keys) {
  const Value* value = &document.root();
  for (const std::string& key : keys)
    if (!(value = value->is_table() ? value->find(key) : nullptr)) return nullptr;
  return value;
}

// A number in a unit as decimal text: the shortest that reads back as exactly `si`, where there is one.
std::string decimal(double si, std::string_view unit) {
  if (unit.empty()) return fmt::format("{}", si);
  const double near = units().from_si(si, unit);
  double above = near, below = near;
  for (int k = 0; k < 8; ++k) {
    if (units().to_si(above, unit) == si) return fmt::format("{}", above);
    if (units().to_si(below, unit) == si) return fmt::format("{}", below);
    above = std::nextafter(above, INFINITY);
    below = std::nextafter(below, -INFINITY);
  }
  return fmt::format("{}", near);
}

// TOML's numbers have a digit behind the point; fmt leaves it out ("3", "1e-05").
std::string toml_number(const std::string& decimal) {
  return decimal.find_first_of(".en") == std::string::npos ? decimal + ".0" : decimal;
}

// The new text of a value that was written as `old`; `bare_unit` is that of a number without one.
std::string rewritten(std::string_view old, const Value& value, double si, std::string_view bare_unit,
                      const std::string& parameter_unit) {
  if (!value.is_text()) return toml_number(decimal(si, bare_unit));
  const char quote = old.front();
  const std::string text(value.text);
  const auto quantity = [&]() -> std::optional<Quantity> {
    try {
      return units().parse(text);
    } catch (const UnknownUnit&) {
      return std::nullopt;
    }
  }();
  if (!quantity)  // an expression gives way to a number
    return parameter_unit.empty()
               ? toml_number(decimal(si, ""))
               : fmt::format("{0}{1} {2}{0}", quote, decimal(si, parameter_unit), parameter_unit);
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  const std::string number =
      decimal(si, quantity->unit.empty() ? bare_unit : std::string_view(quantity->unit));
  return fmt::format("{0}{1}{2}{0}", quote, number, end);
}

struct Written {
  KeyPath keys;
  std::string bare_unit;
};
// Where a parameter's value stands in the file, or would stand.
Written place_of(const Document& document, const ModelParameter& parameter) {
  const std::string& name = parameter.name;
  if (const Value* entry = value_under(document, {"parameters", name})) {
    if (!entry->is_table()) return {{"parameters", name}, ""};
    const Value* unit = entry->find("unit");
    return {{"parameters", name, "value"}, unit ? std::string(unit->text) : ""};
  }
  const auto dot = name.find('.');
  if (dot != std::string::npos && name.find('.', dot + 1) == std::string::npos &&
      value_under(document, {"components", name.substr(0, dot)}))
    return {{"components", name.substr(0, dot), name.substr(dot + 1)}, ""};
  throw ModelError({parameter.place,
                    "T149",
                    fmt::format("the number of '{}' does not stand in '{}'", name, document.name()),
                    {"make it a parameter of this file: [parameters], or beside 'model' of its subsystem"}});
}

void replace(std::string& text, const KeyPath& keys, const std::string& by) {
  const auto span = find_value(text, keys);
  text.replace(span->first, span->last - span->first, by);
}

// Values on a grid: lists in lists, as deep as there are axes.
std::string values_text(const std::vector<std::vector<double>>& axes, std::span<const double> values,
                        const std::string& unit, std::size_t d = 0) {
  if (d == axes.size()) return toml_number(decimal(values.front(), unit));
  const std::size_t part = values.size() / axes[d].size();
  std::string text;
  for (std::size_t k = 0; k < axes[d].size(); ++k)
    text += (k ? ", " : "") + values_text(axes, values.subspan(k * part, part), unit, d + 1);
  return "[" + text + "]";
}

std::string points_text(const std::vector<double>& x, std::span<const double> values,
                        const std::string& unit) {
  std::string text;
  for (std::size_t k = 0; k < x.size(); ++k)
    text += fmt::format("{}[{}, {}]", k ? ", " : "", toml_number(decimal(x[k], "")),
                        toml_number(decimal(values[k], unit)));
  return "[" + text + "]";
}

// A table whose values are parameters, with other values: in its list, or in place of the name of its file.
void rewrite_table(std::string& text, const Model& model, const ParameterTable& table,
                   std::span<const double> values) {
  const Document document(text, model.file.string());
  KeyPath keys{"tables", table.name};
  if (const auto dot = table.name.find('.'); dot != std::string::npos)
    keys = {"components", table.name.substr(0, dot), table.name.substr(dot + 1)};
  const auto under = [&](const char* key) {
    KeyPath all = keys;
    all.emplace_back(key);
    return all;
  };
  const Value* entry = value_under(document, keys);
  const Value* own_unit = entry ? entry->find("unit") : nullptr;
  const std::string unit = own_unit ? std::string(own_unit->text) : "";
  const bool line = table.axes.size() == 1;
  if (entry && entry->find("points")) {
    replace(text, under("points"), points_text(table.axes[0], values, unit));
  } else if (entry && entry->find("values")) {
    replace(text, under("values"), values_text(table.axes, values, unit));
  } else if (const auto span = find_value(text, keys); entry && span) {
    std::string by;
    if (line) {
      by = "points = " + points_text(table.axes[0], values, unit);
    } else {
      for (const std::vector<double>& axis : table.axes)
        by += (by.empty() ? "" : ", ") + values_text({axis}, axis, "");
      by = fmt::format("axes = [{}], values = {}", by, values_text(table.axes, values, unit));
    }
    for (const char* kept : {"unit", "interpolation", "summary"})
      if (const Value* value = entry->find(kept)) by += fmt::format(", {} = \"{}\"", kept, value->text);
    text.replace(span->first, span->last - span->first, fmt::format("{{ {}, parameters = true }}", by));
  } else {
    throw ModelError({table.place,
                      "T149",
                      fmt::format("the values of '{}' do not stand in '{}'", table.name, document.name()),
                      {"write the table in braces, in the entry of its own component: { table = "
                       "\"file.csv\", parameters = true }",
                       "elements of an array have one entry, and cannot be written apart"}});
  }
}

// A standard deviation is a difference: no offset, and not more digits than it is known with.
std::string deviation_text(double si, const std::string& unit) {
  if (unit.empty() || unit == "1") return toml_number(fmt::format("{:.4g}", si));
  const bool offset = units().to_si(0.0, unit) != 0.0;
  return fmt::format("\"{:.4g} {}\"", offset ? si : units().from_si(si, unit), offset ? "K" : unit);
}

// What [unknowns] says of a parameter's start.
void replace_start(std::string& text, const Model& model, const ModelParameter& parameter, double number,
                   double deviation) {
  const std::string& name = parameter.name;
  std::vector<KeyPath> places{{"unknowns", name}};
  if (const auto dot = name.find('.'); dot != std::string::npos)
    places.push_back({"unknowns", name.substr(0, dot), name.substr(dot + 1)});
  for (const KeyPath& entry : places) {
    const auto under = [&](const char* key) {
      KeyPath keys = entry;
      keys.emplace_back(key);
      return keys;
    };
    const Document document(text, model.file.string());
    if (!value_under(document, entry)) continue;
    if (const Value* value = value_under(document, under("start"))) {
      const auto span = find_value(text, under("start"));
      const std::string old = text.substr(span->first, span->last - span->first);
      replace(text, under("start"), rewritten(old, *value, number, "", parameter.unit));
    }
    if (std::isnan(deviation)) return;
    const std::string by = deviation_text(deviation, parameter.unit);
    if (value_under(document, under("deviation"))) {
      replace(text, under("deviation"), by);
    } else if (const auto room = find_room(text, entry)) {
      const bool first = value_under(document, entry)->items.empty();
      text.insert(room->at, fmt::format("{}deviation = {}", !room->in_braces ? "\n" : first ? "" : ", ", by));
    }
    return;
  }
}

}  // namespace

std::string with_numbers(std::string_view given, const Model& model, std::span<const int> parameters,
                         std::span<const double> numbers, std::span<const double> deviations) {
  std::string text(given);
  // Of a table all values at once; [unknowns] has one deviation for them, and the largest is honest for all.
  std::vector<char> done(parameters.size(), 0);
  for (const ParameterTable& table : model.parameter_tables) {
    std::vector<double> values;
    double widest = std::numeric_limits<double>::quiet_NaN();
    bool any = false;
    for (int parameter : table.parameters) {
      values.push_back(model.parameters[parameter].number);
      for (std::size_t k = 0; k < parameters.size(); ++k) {
        if (parameters[k] != parameter) continue;
        values.back() = numbers[k];
        done[k] = any = true;
        if (k < deviations.size()) widest = std::fmax(widest, deviations[k]);
      }
    }
    if (!any) continue;
    ModelParameter whole = model.parameters[table.parameters.front()];
    whole.name = table.name;
    replace_start(text, model, whole, values.front(), widest);
    rewrite_table(text, model, table, values);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (done[k]) continue;
    const ModelParameter& parameter = model.parameters[parameters[k]];
    replace_start(text, model, parameter, numbers[k],
                  k < deviations.size() ? deviations[k] : std::numeric_limits<double>::quiet_NaN());
    const Document document(text, model.file.string());
    const Written written = place_of(document, parameter);
    if (const Value* value = value_under(document, written.keys)) {
      const auto span = find_value(text, written.keys);
      const std::string old = text.substr(span->first, span->last - span->first);
      text.replace(span->first, old.size(),
                   rewritten(old, *value, numbers[k], written.bare_unit, parameter.unit));
      continue;
    }
    // A default, or a value that a subsystem's file has: now it is given.
    const KeyPath table(written.keys.begin(), written.keys.end() - 1);
    const auto room = find_room(text, table);
    const std::string number =
        parameter.unit.empty() || parameter.unit == "1"
            ? toml_number(decimal(numbers[k], ""))
            : fmt::format("\"{} {}\"", decimal(numbers[k], parameter.unit), parameter.unit);
    text.insert(room->at,
                fmt::format("{}{} = {}", room->in_braces ? ", " : "\n", written.keys.back(), number));
  }
  return text;
}

}  // namespace tellegen
