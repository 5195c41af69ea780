// [tables], and tables whose values are parameters.
#include <fmt/format.h>

#include "tellegen/model/model_reader.h"
#include "tellegen/model/parameters.h"

namespace tellegen {
namespace {

constexpr std::size_t most_named_values = 400;

// Of the k-th value, as people count: "[3]", "[2,1]".
std::string index_of(std::size_t k, const std::vector<std::vector<double>>& axes) {
  std::string index;
  for (std::size_t d = axes.size(); d-- > 0; k /= axes[d].size())
    index = fmt::format("{}{}{}", k % axes[d].size() + 1, index.empty() ? "" : ",", index);
  return "[" + index + "]";
}

std::vector<std::vector<double>> axes_of(const Table& table) {
  return table.dimensions > 1 ? table.axes : std::vector<std::vector<double>>{table.x};
}

}  // namespace

// Functions of one to three arguments that expressions of this file call.
void ModelReader::read_tables(int scope) {
  const Source at = source(scope);
  const Value* table = at.document.root().find("tables");
  if (!table || !at.is(*table, Value::Type::table, "'tables'")) return;
  for (const Value& entry : table->items) {
    if (!check_name(at, entry, entry.key, "a table")) continue;
    const std::string name(entry.key), what = fmt::format("table '{}'", name);
    const std::string unit = entry.is_table() ? at.text(entry, "unit", what) : "";
    auto read =
        tables_.read(at, entry, scopes_[scope]->folder, what, {.dimensions = 0, .also = {"parameters"}});
    if (read && names_values(scope, entry, name, *read)) read = with_named_values(entry, unit, *read);
    if (read)
      scopes_[scope]->tables[name] = std::move(read);
    else
      scopes_[scope]->wrong_tables.insert(name);
  }
  if (scope == 0) model_.tables = scopes_[scope]->tables;
}

// `parameters = true`: the values of a table are parameters of the model, R0[2] or R0[2,1].
bool ModelReader::names_values(int scope, const Value& value, const std::string& name, const Table& table) {
  const Value* asked = value.is_table() ? value.find("parameters") : nullptr;
  const Source at = source(scope);
  if (!asked || !at.is(*asked, Value::Type::boolean, fmt::format("'parameters' of table '{}'", name)) ||
      asked->number == 0.0)
    return false;
  const std::size_t count = values_of(table).size();
  if (scope == 0 && count <= most_named_values) return true;
  at.fault(*asked, "T164", fmt::format("the values of '{}' cannot be parameters", name),
           {scope != 0 ? "it is a table of a subsystem: give the table to the model itself"
                       : fmt::format("there are {} of them, and at most {} can be: take a coarser grid",
                                     count, most_named_values)});
  return false;
}

// The values as parameters, with the numbers of the command line where it has some.
std::vector<ModelParameter> ModelReader::named_values(const Value& value, const std::string& name,
                                                      const std::string& unit, const Table& table) {
  std::vector<ModelParameter> found;
  for (const double number : values_of(table)) {
    ModelParameter parameter;
    parameter.name = name + index_of(found.size(), axes_of(table));
    parameter.unit = unit;
    parameter.number = number;
    parameter.value = model_.pool->number(number);
    parameter.place = source(0).document.at(value);
    replace_number(parameter, value, false);
    found.push_back(std::move(parameter));
  }
  return found;
}

std::shared_ptr<const Table> ModelReader::with_named_values(const Value& value, const std::string& unit,
                                                            const Table& table) {
  ParameterTable named{std::string(value.key), {}, axes_of(table), {}, source(0).document.at(value)};
  std::vector<std::string> symbols;
  for (ModelParameter& parameter : named_values(value, named.name, unit, table)) {
    parameter.symbol = model_.pool->symbol(parameter.name);
    numbers_[parameter.symbol] = parameter.number;
    symbol_units_[parameter.symbol] = unit;
    symbols.push_back(parameter.name);
    named.parameters.push_back(static_cast<int>(model_.parameters.size()));
    model_.parameters.push_back(std::move(parameter));
  }
  model_.parameter_tables.push_back(std::move(named));
  return with_parameters(table, symbols);
}

void ModelReader::name_table_values() {
  for (const Pending& of : named_tables_) name_table_values(of);
}

// Of a component's table: it gets a kind of its own, with a parameter for each value in place of the table.
void ModelReader::name_table_values(const Pending& of) {
  Component& component = model_.components[of.component];
  const auto index = static_cast<std::size_t>(of.parameter);
  const std::shared_ptr<const Table> table = component.values[index].table;
  Kind kind = model_.kinds[component.kind];
  const KindParameter parameter = kind.parameters[index];
  const std::string name = component.name + "." + parameter.name;
  if (!table || !names_values(of.scope, *of.value, name, *table)) return;
  ParameterTable named{name, {}, axes_of(*table), {}, source(0).document.at(*of.value)};
  std::vector<std::string> symbols, full;
  for (const ModelParameter& given : named_values(*of.value, name, parameter.unit, *table)) {
    KindParameter own;
    own.name = given.name.substr(component.name.size() + 1);
    own.unit = parameter.unit;
    own.any_unit = parameter.any_unit;
    own.summary = parameter.summary;
    symbols.push_back(own.name);
    full.push_back(given.name);
    kind.parameters.push_back(std::move(own));
    component.values.emplace_back();
    component.values.back().value = given.value;
    component.values.back().constant = true;
    component.values.back().number = given.number;
  }
  const TableMap sum{{parameter.name, with_parameters(*table, symbols)}};
  const auto spread = [&](Expr& formula) {
    if (formula) formula = substitute(formula, {}, sum);
  };
  for (auto* list : {&kind.equations, &kind.steady})
    for (KindEquation& equation : *list) spread(equation.residual);
  for (KindDiscrete& discrete : kind.discrete) spread(discrete.update);
  for (KindOutput& output : kind.outputs) spread(output.value);
  for (KindInitial& initial : kind.initial) spread(initial.value);
  for (KindRequirement& requirement : kind.requirements) spread(requirement.condition);
  spread(kind.energy);
  spread(kind.loss);
  component.kind = static_cast<int>(model_.kinds.size());
  model_.kinds.push_back(std::move(kind));
  for (const std::string& value : full) named.parameters.push_back(study_parameter(model_, value));
  model_.parameter_tables.push_back(std::move(named));
}

}  // namespace tellegen
