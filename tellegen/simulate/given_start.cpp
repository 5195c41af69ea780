#include "tellegen/simulate/given_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tellegen {
namespace {

std::unordered_map<std::string, std::int32_t> rates_by_name(const EquationSystem& system) {
  std::unordered_map<std::string, std::int32_t> found;
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.rates.size()); ++k)
    found[rate_name(system, k)] = k;
  return found;
}

// A condition in full names, made ready to be evaluated.
StartCondition make_condition(const EquationSystem& system,
                              const std::unordered_map<std::string, std::int32_t>& rates, Expr full,
                              std::string text, const Place& place) {
  const Model& model = *system.model;
  Pool& pool = *model.pool;
  StartCondition result{{}, {}, {}, std::move(text), place};
  full = expand_names(model, full);
  ExprMap<double> parameters;
  for (const ModelParameter& p : model.parameters) parameters[p.symbol] = p.number;
  ExprMap<Expr> columns, numbers;
  for (Expr s : symbols_of(std::span(&full, 1))) {
    const std::string& name = s.name();
    if (name == "t") continue;
    if (const auto p = parameters.find(s); p != parameters.end()) {
      numbers[s] = pool.number(p->second);
    } else if (name.starts_with("der(")) {
      const auto found = rates.find(name.substr(4, name.size() - 5));
      if (found == rates.end())
        throw ModelError(
            {place,
             "T320",
             fmt::format("the condition '{}' has the rate of '{}', which is not differentiated anywhere",
                         result.text, name.substr(4, name.size() - 5)),
             {}});
      columns[s] = rate_symbol(pool, found->second);
    } else {
      columns[s] = in_columns(system, s);
    }
  }
  result.with_parameters = substitute(full, columns);
  result.residual = substitute(result.with_parameters, numbers);
  const std::int32_t n = system.size();
  for (Expr s : symbols_of(std::span(&result.residual, 1))) {
    if (s.name() == "t") continue;
    const bool rate = s.name()[0] == '~';
    const int column = rate ? n + std::stoi(s.name().substr(5)) : std::stoi(s.name().substr(1));
    result.slopes.push_back({column, derivative(result.residual, s)});
  }
  return result;
}

}  // namespace

Expr rate_symbol(Pool& pool, std::int32_t rate) { return pool.symbol(fmt::format("~rate{}", rate)); }

std::vector<GivenStart> given_values(const EquationSystem& system) {
  const Model& model = *system.model;
  std::vector<GivenStart> given(system.rates.size());
  for (const Group& group : system.groups) {
    if (group.kind < 0) continue;
    const Kind& kind = model.kinds[group.kind];
    for (std::size_t k = 0; k < group.rated.size(); ++k)
      for (const KindInitial& initial : kind.initial) {
        if (!(initial.variable == group.symbols[group.rated[k]].symbol)) continue;
        const Expr said[] = {initial.value, initial.origin ? initial.origin : initial.value};
        const auto used = symbols_of(said);
        for (std::int32_t m = 0; m < group.size(); ++m) {
          const Component& component = model.components[group.components[m]];
          ExprMap<double> numbers;
          ExprMap<Expr> formulas;
          bool known = true, by_user = false;
          for (Expr s : used)
            for (std::size_t p = 0; p < kind.parameters.size(); ++p)
              if (kind.parameters[p].name == s.name()) {
                const ParameterValue& v = component.values[p];
                known = known && v.value;
                numbers[s] = v.number;
                formulas[s] = v.value;
                const Expr fallback = kind.parameters[p].fallback;
                by_user = by_user || !(fallback && fallback.is_number(v.number));
              }
          if (known)
            given[group.first_rate[m] + k] = {GivenStart::What::value, evaluate(initial.value, numbers),
                                              by_user, substitute(initial.value, formulas)};
        }
      }
  }
  if (model.initial.empty()) return given;
  const auto rate_by_name = rates_by_name(system);
  ExprMap<double> numbers;
  for (const ModelParameter& p : model.parameters) numbers[p.symbol] = p.number;
  for (const ModelInitial& initial : model.initial)
    if (const auto found = rate_by_name.find(initial.variable); found != rate_by_name.end()) {
      GivenStart& g = given[found->second];
      if (initial.condition)  // for now: the value is where to look for it
        g = {GivenStart::What::condition, evaluate(initial.value, numbers), true, {}};
      else if (initial.value)
        g = {GivenStart::What::value, evaluate(initial.value, numbers), true, initial.value};
      else
        g = {GivenStart::What::steady, 0.0, true, {}};
    }
  return given;
}

std::vector<ForcedNode> forced_nodes(const EquationSystem& system) {
  const Model& model = *system.model;
  ExprMap<double> numbers;
  for (const ModelParameter& p : model.parameters) numbers[p.symbol] = p.number;
  std::vector<ForcedNode> forced;
  for (const ModelInitial& initial : model.initial) {
    const auto ref = find_variable(model, initial.variable);
    if (!initial.value || !ref || ref->what != VariableRef::What::node) continue;
    const auto c = system.node_column(system.graph.graph_node[ref->node]);
    if (c >= 0)
      forced.push_back({c, evaluate(initial.value, numbers), initial.value, initial.variable, initial.place});
  }
  return forced;
}

std::vector<StartCondition> given_conditions(const EquationSystem& system, const Storage& storage,
                                             std::vector<GivenStart>& given) {
  const Model& model = *system.model;
  std::vector<StartCondition> conditions;
  if (model.initial.empty() && model.steady.empty()) return conditions;
  const auto rates = rates_by_name(system);
  for (const ModelSteady& steady : model.steady) {
    const Kind& kind = model.kinds[model.components[steady.component].kind];
    struct Equation {
      Expr full;
      std::vector<std::int32_t> rates;
      const KindEquation* said;
    };
    std::vector<Equation> equations;
    std::vector<std::int32_t> freed;
    for (const KindEquation& e : kind.steady) {
      Equation equation{in_full_names(model, steady.component, e.residual), {}, &e};
      for (Expr s : symbols_of(std::span(&equation.full, 1)))
        if (s.name().starts_with("der("))
          if (const auto found = rates.find(s.name().substr(4, s.name().size() - 5)); found != rates.end()) {
            equation.rates.push_back(found->second);
            if (std::find(freed.begin(), freed.end(), found->second) == freed.end())
              freed.push_back(found->second);
          }
      equations.push_back(std::move(equation));
    }
    // Where a variable has no state of its own (the third current of three wires), the last equation with its
    // rate says nothing new.
    for (std::int32_t k : freed) {
      if (given[k].what == GivenStart::What::value && given[k].by_user && !storage.is_state[k])
        given[k].by_user = false;
      if (storage.is_state[k]) continue;
      given[k] = {};
      for (auto e = equations.rbegin(); e != equations.rend(); ++e)
        if (std::find(e->rates.begin(), e->rates.end(), k) != e->rates.end()) {
          equations.erase(std::next(e).base());
          break;
        }
    }
    std::erase_if(freed, [&](std::int32_t k) { return !storage.is_state[k]; });
    for (std::size_t k = 0; k < freed.size() && k < equations.size(); ++k) {
      GivenStart& g = given[freed[k]];
      g = {GivenStart::What::condition, g.value, true, {}, static_cast<int>(conditions.size())};
      conditions.push_back(
          make_condition(system, rates, equations[k].full, equations[k].said->text, steady.place));
    }
  }
  for (const ModelInitial& initial : model.initial) {
    if (!initial.condition) continue;
    const auto found = rates.find(initial.variable);
    if (found == rates.end() || !storage.is_state[found->second])
      throw ModelError(
          {initial.place,
           "T320",
           fmt::format("'{}' is not a state, so no condition can take the place of its initial value",
                       initial.variable),
           {}});
    given[found->second].condition = static_cast<int>(conditions.size());
    conditions.push_back(make_condition(system, rates, initial.condition, initial.text, initial.place));
    conditions.back().such_that = true;
  }
  return conditions;
}

std::vector<Slopes> given_slopes(const EquationSystem& system, std::span<const int> wrt) {
  const ParameterSlopes slopes(*system.model, wrt);
  std::vector<Slopes> result;
  for (const GivenStart& g : given_values(system)) result.push_back(slopes.of(g.formula));
  return result;
}

}  // namespace tellegen
