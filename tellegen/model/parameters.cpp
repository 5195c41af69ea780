#include "tellegen/model/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

Expr with_values(const Component& component, const Kind& kind, Expr formula) {
  ExprMap<Expr> values;
  for (Expr symbol : symbols_of(std::span(&formula, 1)))
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      if (kind.parameters[k].name == symbol.name() && component.values[k].value)
        values[symbol] = component.values[k].value;
  return substitute(formula, values);
}

// Makes the number of a component a model parameter. Defaults that were written in it follow it.
int promote(Model& model, int c, std::size_t k) {
  Component& component = model.components[c];
  const Kind& kind = model.kinds[component.kind];
  ModelParameter parameter;
  parameter.name = component.name + "." + kind.parameters[k].name;
  parameter.unit = kind.parameters[k].any_unit ? "" : kind.parameters[k].unit;
  parameter.summary = kind.parameters[k].summary;
  parameter.symbol = model.pool->symbol("parameter(" + parameter.name + ")");
  parameter.value = component.values[k].value;
  parameter.number = component.values[k].number;
  parameter.place = component.place;
  std::vector<char> is_default(kind.parameters.size(), 0);
  for (std::size_t j = 0; j < kind.parameters.size(); ++j) {
    const Expr fallback = kind.parameters[j].fallback;
    is_default[j] = fallback && !fallback.is_number() && component.values[j].constant &&
                    component.values[j].value == with_values(component, kind, fallback);
  }
  component.values[k].value = parameter.symbol;
  // As many rounds as a chain of defaults may be long.
  for (std::size_t round = 0; round < kind.parameters.size(); ++round)
    for (std::size_t j = 0; j < kind.parameters.size(); ++j)
      if (is_default[j] && j != k)
        component.values[j].value = with_values(component, kind, kind.parameters[j].fallback);
  model.parameters.push_back(std::move(parameter));
  return static_cast<int>(model.parameters.size()) - 1;
}

struct OwnNumber {
  int component;
  std::size_t parameter;
};
// `r1.R`, where that is a number of its own.
std::vector<OwnNumber> own_numbers(const Model& model, const std::string& wanted = "") {
  std::vector<OwnNumber> found;
  int first = 0, last = static_cast<int>(model.components.size());
  std::string_view parameter;
  if (!wanted.empty()) {
    const auto dot = wanted.rfind('.');
    if (dot == std::string::npos) return found;
    const auto component = model.component_by_name.find(wanted.substr(0, dot));
    if (component == model.component_by_name.end()) return found;
    first = component->second, last = first + 1;
    parameter = std::string_view(wanted).substr(dot + 1);
  }
  for (int c = first; c < last; ++c) {
    const Component& component = model.components[c];
    const Kind& kind = model.kinds[component.kind];
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      if ((wanted.empty() || kind.parameters[k].name == parameter) && component.values[k].value &&
          component.values[k].constant && !component.values[k].table)
        found.push_back({c, k});
  }
  return found;
}

}  // namespace

std::vector<std::string> parameter_names(const Model& model, bool all) {
  std::vector<std::string> names;
  for (const ModelParameter& p : model.parameters)
    if (all || p.value.is_number()) names.push_back(p.name);
  if (all)
    for (const OwnNumber& n : own_numbers(model)) {
      const Component& component = model.components[n.component];
      if (component.values[n.parameter].value.is_symbol() &&
          component.values[n.parameter].value.name().starts_with("parameter("))
        continue;  // it is one of them already
      names.push_back(component.name + "." + model.kinds[component.kind].parameters[n.parameter].name);
    }
  return names;
}

int study_parameter(Model& model, std::string_view name, const Place& place) {
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    if (model.parameters[k].name == name) return static_cast<int>(k);
  if (const auto own = own_numbers(model, std::string(name)); !own.empty())
    return promote(model, own.front().component, own.front().parameter);
  const std::vector<std::string> known = parameter_names(model, true);
  Place at = place;
  if (at.file.empty()) at.file = model.file.string();
  throw ModelError(
      {at,
       "T140",
       fmt::format("the model has no parameter '{}'", name),
       {did_you_mean(name, known),
        known.size() <= 30 ? "its parameters: " + joined(known)
                           : "a parameter is a name of [parameters], or a number that stands in a "
                             "component, as r1.R"}});
}

ParameterTable* find_parameter_table(Model& model, std::string_view name) {
  for (ParameterTable& table : model.parameter_tables)
    if (table.name == name) return &table;
  return nullptr;
}

int unknown_of(Model& model, int parameter) {
  for (std::size_t u = 0; u < model.unknowns.size(); ++u)
    if (model.unknowns[u].parameter == parameter) return static_cast<int>(u);
  ModelUnknown unknown;
  unknown.parameter = parameter;
  unknown.place = model.parameters[parameter].place;
  for (const ParameterTable& table : model.parameter_tables)
    if (std::find(table.parameters.begin(), table.parameters.end(), parameter) != table.parameters.end())
      unknown.coordinate = ModelUnknown::Coordinate::value;
  model.unknowns.push_back(unknown);
  return static_cast<int>(model.unknowns.size()) - 1;
}

void set_parameters(Model& model, std::span<const int> parameters, std::span<const double> values) {
  const auto old_parameters = model.parameters;
  const auto old_components = model.components;
  FaultList faults;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    ModelParameter& p = model.parameters[parameters[k]];
    p.value = model.pool->number(values[k]);
    p.number = values[k];
    if (!std::isfinite(values[k]))
      faults.add(p.place, "T125", fmt::format("parameter '{}' is not a finite number", p.name));
  }
  ExprMap<double> numbers;
  ExprMap<int> index;
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    index[model.parameters[k].symbol] = static_cast<int>(k);
  // A parameter may come before those it is written in.
  std::function<double(int)> number = [&](int k) -> double {
    ModelParameter& p = model.parameters[k];
    if (const auto known = numbers.find(p.symbol); known != numbers.end()) return known->second;
    for (Expr s : symbols_of(std::span(&p.value, 1)))
      if (const auto other = index.find(s); other != index.end()) number(other->second);
    p.number = evaluate(p.value, numbers);
    return numbers[p.symbol] = p.number;
  };
  for (std::size_t k = 0; k < model.parameters.size(); ++k) number(static_cast<int>(k));
  for (Component& component : model.components) {
    const Kind& kind = model.kinds[component.kind];
    for (std::size_t k = 0; k < component.values.size(); ++k) {
      ParameterValue& v = component.values[k];
      if (!v.value || !v.constant || v.table || v.value.is_number()) continue;
      v.number = evaluate(v.value, numbers);
      const std::string broken =
          std::isfinite(v.number) ? broken_bound(kind.parameters[k], v.number) : "is not a finite number";
      if (!broken.empty())
        faults.add(component.place, std::isfinite(v.number) ? "T124" : "T125",
                   fmt::format("parameter '{}' of '{}' {}", kind.parameters[k].name, component.name, broken));
    }
  }
  if (faults.empty())
    for (std::size_t c = 0; c < model.components.size(); ++c)
      check_requirements(model, static_cast<int>(c), faults);
  SimulationDefaults& simulation = model.simulation;
  if (simulation.stop_formula) {
    const double stop = evaluate(simulation.stop_formula, numbers);
    if (!(stop > 0.0) || !std::isfinite(stop))
      faults.add(simulation.place, "T124",
                 fmt::format("'stop' of [simulation] must be above 0, and is {:g}", stop));
    else
      simulation.stop = stop;
  }
  if (faults.empty()) return;
  model.parameters = old_parameters;
  model.components = old_components;
  faults.throw_if_any();
}

ParameterSetter::ParameterSetter(Model& model, std::vector<int> parameters)
    : model_(model), parameters_(std::move(parameters)) {
  const std::vector<ModelParameter>& all = model_.parameters;
  std::vector<Expr> symbols;
  ExprMap<int> index;
  for (const ModelParameter& p : all) {
    index[p.symbol] = static_cast<int>(symbols.size());
    symbols.push_back(p.symbol);
    numbers_.push_back(p.number);
  }
  // Whether a formula has a parameter that changes; followers come in the order of their dependence.
  std::vector<char> seen(all.size(), 0), changes(all.size(), 0);
  for (const int p : parameters_) seen[p] = changes[p] = 1;
  std::function<bool(Expr)> follows = [&](Expr formula) {
    bool any = false;
    for (const Expr s : symbols_of(std::span(&formula, 1))) {
      const auto found = index.find(s);
      if (found == index.end()) continue;
      const int k = found->second;
      if (!std::exchange(seen[k], 1) && follows(all[k].value)) {
        changes[k] = 1;
        followers_.push_back({-1, k, Evaluator(std::span(&all[k].value, 1), symbols), all[k].value});
      }
      any = any || changes[k];
    }
    return any;
  };
  for (const ModelParameter& p : all) follows(p.symbol);
  for (std::size_t c = 0; c < model_.components.size(); ++c) {
    const Component& component = model_.components[c];
    const std::size_t before = followers_.size();
    for (std::size_t k = 0; k < component.values.size(); ++k) {
      const ParameterValue& v = component.values[k];
      if (v.value && v.constant && !v.table && !v.value.is_number() && follows(v.value))
        followers_.push_back(
            {static_cast<int>(c), static_cast<int>(k), Evaluator(std::span(&v.value, 1), symbols), v.value});
    }
    if (followers_.size() == before) continue;
    const Kind& kind = model_.kinds[component.kind];
    std::vector<Expr> own;
    for (const KindParameter& p : kind.parameters) own.push_back(model_.pool->symbol(p.name));
    own_.resize(std::max(own_.size(), own.size()));
    for (const KindRequirement& r : kind.requirements) {
      if (!r.condition) continue;
      bool known = true;
      for (std::size_t k = 0; k < own.size(); ++k)
        known = known && (!depends_on(r.condition, own[k]) ||
                          (component.values[k].value && component.values[k].constant));
      if (known)
        requirements_.push_back(
            {static_cast<int>(c), Evaluator(std::span(&r.condition, 1), own), r.condition});
    }
  }
  old_.resize(followers_.size());
  if (model_.simulation.stop_formula)
    stop_ = Evaluator(std::span(&model_.simulation.stop_formula, 1), symbols);
}

bool ParameterSetter::fits(const Follower& follower, double value) const {
  if (follower.component < 0) return true;
  const Component& component = model_.components[follower.component];
  const KindParameter& p = model_.kinds[component.kind].parameters[follower.index];
  return std::isfinite(value) && broken_bound(p, value).empty();
}

void ParameterSetter::set(std::span<const double> values) {
  bool good = true;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    numbers_[parameters_[k]] = values[k];
    good = good && std::isfinite(values[k]);
  }
  const auto number_of = [&](const Follower& f) -> double& {
    return f.component < 0 ? numbers_[f.index] : model_.components[f.component].values[f.index].number;
  };
  for (std::size_t k = 0; k < followers_.size(); ++k) {
    double& number = number_of(followers_[k]);
    old_[k] = number;
    followers_[k].formula.run(numbers_, std::span(&number, 1));
    good = good && fits(followers_[k], number);
  }
  for (Requirement& r : requirements_) {
    const Component& component = model_.components[r.component];
    double holds = 0.0;
    for (std::size_t k = 0; k < component.values.size(); ++k) own_[k] = component.values[k].number;
    r.condition.run(std::span(own_).first(component.values.size()), std::span(&holds, 1));
    good = good && holds != 0.0;
  }
  double stop = 1.0;
  if (model_.simulation.stop_formula) stop_.run(numbers_, std::span(&stop, 1));
  if (!good || !(stop > 0.0) || !std::isfinite(stop)) {
    for (std::size_t k = 0; k < followers_.size(); ++k)
      if (followers_[k].component >= 0) number_of(followers_[k]) = old_[k];
    set_parameters(model_, parameters_, values);  // it says why not
    return;
  }
  if (model_.simulation.stop_formula) model_.simulation.stop = stop;
  for (const int p : parameters_) model_.parameters[p].number = numbers_[p];
  for (const Follower& f : followers_)
    if (f.component < 0) model_.parameters[f.index].number = numbers_[f.index];
}

NumberRows ParameterSetter::write(RowList& list, std::span<const RowValue> values) const {
  NumberRows rows;
  ExprMap<RowValue> known;
  for (const ModelParameter& p : model_.parameters) rows.parameters.push_back(p.number);
  for (const Component& c : model_.components) {
    auto& numbers = rows.components.emplace_back();
    for (const ParameterValue& v : c.values) numbers.push_back(v.number);
  }
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    rows.parameters[parameters_[k]] = values[k];
    list.require(RowCheck::finite, values[k]);
  }
  for (std::size_t k = 0; k < rows.parameters.size(); ++k)
    known[model_.parameters[k].symbol] = rows.parameters[k];
  for (const Follower& f : followers_) {
    const RowValue value = list.evaluate(std::span(&f.written, 1), known).front();
    if (f.component < 0) {
      rows.parameters[f.index] = known[model_.parameters[f.index].symbol] = value;
      continue;
    }
    rows.components[f.component][f.index] = value;
    list.require(RowCheck::finite, value);
    const KindParameter& p = model_.kinds[model_.components[f.component].kind].parameters[f.index];
    if (p.above) list.require(RowCheck::above, value, *p.above);
    if (p.at_least) list.require(RowCheck::at_least, value, *p.at_least);
    if (p.below) list.require(RowCheck::above, *p.below, value);
    if (p.at_most) list.require(RowCheck::at_least, *p.at_most, value);
  }
  for (const Requirement& r : requirements_) {
    const Kind& kind = model_.kinds[model_.components[r.component].kind];
    ExprMap<RowValue> own;
    for (std::size_t k = 0; k < kind.parameters.size(); ++k)
      own[model_.pool->symbol(kind.parameters[k].name)] = rows.components[r.component][k];
    list.require(RowCheck::nonzero, list.evaluate(std::span(&r.written, 1), own).front());
  }
  return rows;
}

ParameterSlopes::ParameterSlopes(const Model& model, std::span<const int> wrt) {
  const auto count = model.parameters.size();
  slopes_.resize(count);
  std::vector<char> done(count, 0);
  for (std::size_t k = 0; k < count; ++k) {
    index_[model.parameters[k].symbol] = static_cast<int>(k);
    numbers_[model.parameters[k].symbol] = model.parameters[k].number;
  }
  std::function<void(int)> find = [&](int k) {
    if (std::exchange(done[k], 1)) return;
    const Expr value = model.parameters[k].value;
    for (Expr s : symbols_of(std::span(&value, 1)))
      if (const auto other = index_.find(s); other != index_.end()) find(other->second);
    slopes_[k] = of(value);
    // One that is asked for moves by itself, and still follows those it is written in.
    for (std::size_t i = 0; i < wrt.size(); ++i)
      if (wrt[i] == k) slopes_[k][static_cast<int>(i)] += 1.0;
  };
  for (std::size_t k = 0; k < count; ++k) find(static_cast<int>(k));
}

Slopes ParameterSlopes::of(Expr value) const {
  Slopes total;
  if (!value || value.is_number()) return total;
  for (Expr s : symbols_of(std::span(&value, 1))) {
    const auto parameter = index_.find(s);
    if (parameter == index_.end() || slopes_[parameter->second].empty()) continue;
    const double slope = evaluate(derivative(value, s), numbers_);
    for (const auto& [k, inner] : slopes_[parameter->second]) total[k] += slope * inner;
  }
  return total;
}

}  // namespace tellegen
