#include "tellegen/equations/slopes.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tellegen {

std::vector<std::vector<GroupSlope>> group_slopes(const EquationSystem& system, std::span<const int> wrt) {
  const Model& model = *system.model;
  const ParameterSlopes slopes(model, wrt);
  std::unordered_map<std::string, int> parameter_by_name;
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    parameter_by_name[model.parameters[k].name] = static_cast<int>(k);
  std::vector<std::vector<GroupSlope>> result(wrt.size());
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    if (group.kind < 0) continue;
    const Kind& kind = model.kinds[group.kind];
    for (std::size_t slot = 0; slot + group.held.size() < group.parameters.size(); ++slot) {
      const std::string& name = group.parameters[slot].name();
      // "$R1": a model parameter inside a formula; otherwise one of the kind's own.
      const bool of_model = name[0] == '$';
      std::size_t own = 0;
      while (!of_model && own < kind.parameters.size() && kind.parameters[own].name != name) ++own;
      const auto add = [&](std::int32_t m, const Slopes& of) {
        for (const auto& [k, slope] : of)
          if (slope != 0.0)
            result[k].push_back({static_cast<std::int32_t>(g), m, static_cast<int>(slot), slope});
      };
      for (std::int32_t m = 0; m < group.size(); ++m)
        if (of_model)
          add(m, slopes.of_parameter(parameter_by_name.at(name.substr(1))));
        else if (own < kind.parameters.size())
          add(m, slopes.of(model.components[group.components[m]].values[own].value));
    }
  }
  return result;
}

ColumnValue column_value(const EquationSystem& system, Expr value, std::span<const int> wrt) {
  ColumnValue result{in_columns(system, value), {}};
  const Model& model = *system.model;
  const ParameterSlopes slopes(model, wrt);
  Pool& pool = *model.pool;
  std::map<int, std::vector<Expr>> terms;
  const Expr expanded = expand_names(model, value);
  for (std::size_t q = 0; q < model.parameters.size(); ++q) {
    const Slopes& of = slopes.of_parameter(static_cast<int>(q));
    if (of.empty() || !depends_on(expanded, model.parameters[q].symbol)) continue;
    const Expr slope = in_columns(system, derivative(expanded, model.parameters[q].symbol));
    for (const auto& [k, inner] : of) terms[k].push_back(inner * slope);
  }
  for (auto& [k, list] : terms)
    if (const Expr total = pool.add(list); !total.is_number(0)) result.by_parameter[k] = total;
  return result;
}

namespace {

// What couplings prescribe for one redundant rate: sum of factor * rate + drive.
double coupled_rate(const RedundantRate& r, Pool& pool, double t, std::span<const double> rates) {
  double total = r.drive ? evaluate(r.drive, ExprMap<double>{{pool.symbol("t"), t}}) : 0.0;
  for (const auto& term : r.terms)
    if (term.rate >= 0) total += term.sign * rates[term.rate];
  return total;
}

bool is_coupling(const RedundantRate& r) {
  return r.drive ||
         std::any_of(r.terms.begin(), r.terms.end(), [](const auto& term) { return term.source.value < 0; });
}

}  // namespace

RedundantSlopes::RedundantSlopes(const EquationSystem& system, const Storage& storage,
                                 std::span<const int> wrt)
    : system_(system), storage_(storage), wrt_(wrt.begin(), wrt.end()), moved_(wrt.size()) {
  if (storage.redundant.empty() || wrt.empty()) return;
  by_parameter_ = group_slopes(system, wrt);
  const Model& model = *system.model;
  if (std::none_of(storage.redundant.begin(), storage.redundant.end(), is_coupling)) return;
  for (std::size_t p = 0; p < wrt.size(); ++p) {
    if (by_parameter_[p].empty()) continue;
    const double value = model.parameters[wrt[p]].number;
    moved_[p].step = 1e-5 * (value != 0.0 ? std::abs(value) : 1.0);
    for (const int side : {0, 1}) {
      Model moved = model;
      set_parameters(moved, wrt.subspan(p, 1),
                     std::vector{side == 0 ? value - moved_[p].step : value + moved_[p].step});
      const EquationSystem moved_system = build_system(moved);
      for (const RedundantRate& r : analyse_storage(moved_system).redundant)
        if (is_coupling(r)) moved_[p].couplings[side].push_back(r);
    }
  }
}

std::vector<Slopes> RedundantSlopes::at(double t, std::span<const double> rates) const {
  std::vector<Slopes> result(storage_.redundant.size());
  if (storage_.redundant.empty() || wrt_.empty()) return result;
  Pool& pool = *system_.model->pool;
  for (std::size_t k = 0; k < storage_.redundant.size(); ++k)
    for (const auto& term : storage_.redundant[k].terms) {
      if (term.rate >= 0 || term.source.value < 0) continue;
      const Expr formula = source_rate_formula(system_, term.source);
      if (!formula) continue;
      const int c = system_.graph.edges[term.source.value].component;
      const Group& group = system_.groups[system_.group_of[c]];
      ExprMap<double> numbers{{group.time, t}};
      for (std::size_t p = 0; p < group.parameters.size(); ++p)
        numbers[group.parameters[p]] = group.values[p][system_.member_of[c]];
      for (std::size_t p = 0; p < wrt_.size(); ++p)
        for (const GroupSlope& s : by_parameter_[p])
          if (s.group == system_.group_of[c] && s.member == system_.member_of[c])
            if (const Expr d = derivative(formula, group.parameters[s.slot]); !d.is_number(0))
              result[k][static_cast<int>(p)] += term.sign * s.slope * evaluate(d, numbers);
    }
  for (std::size_t p = 0; p < wrt_.size(); ++p) {
    const auto& [low, high] = moved_[p].couplings;
    std::size_t next = 0;
    for (std::size_t k = 0; k < storage_.redundant.size() && low.size() == high.size(); ++k)
      if (is_coupling(storage_.redundant[k]) && next < low.size()) {
        const double change =
            coupled_rate(high[next], pool, t, rates) - coupled_rate(low[next], pool, t, rates);
        if (change != 0.0) result[k][static_cast<int>(p)] += change / (2 * moved_[p].step);
        ++next;
      }
  }
  return result;
}

std::vector<Slopes> redundant_slopes(const EquationSystem& system, const Storage& storage,
                                     std::span<const int> wrt, double t, std::span<const double> rates) {
  return RedundantSlopes(system, storage, wrt).at(t, rates);
}

}  // namespace tellegen
